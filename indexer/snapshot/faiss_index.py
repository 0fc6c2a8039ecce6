"""The first stage: a FAISS index of one vector per document, chosen by size if the settings name none.

This is the only module that imports FAISS.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, UsageError
from moverank.indexer.files.atomic_write import OpenFile, durable_file
from moverank.indexer.files.checksums import FileChecksum
from moverank.indexer.values.search_options import EXACT_UP_TO
from moverank.indexer.values.settings import FLAT_INDEX
from moverank.rerank.runtime.thread_pool import core_count, is_single_threaded, thread_pool

_EXACT = frozenset({"Flat", "IDMap,Flat", FLAT_INDEX})
_IN_PARTS = _EXACT | {"SQ8", "HR,RaBitQ"}  # scanned in parts; other indexes may not support a selection of ids
_NO_PRODUCTS = ("PCA", "LSH")  # PCA subtracts the mean of the vectors, LSH compares angles only
_TRAINING_SAMPLE = 100_000
_TRAINING_BYTES, _BLOCK_BYTES = 512 * 2**20, 64 * 2**20  # of vectors per call: FAISS copies them
_LONG = 1024  # dimensions
_SIZES = ("d", "metric_type", "code_size", "nbits", "nb_bits", "qb", "rotate_data", "train_thresholds", "d_in", "d_out")
_LARGE = 40_000_000  # bytes; a larger index is searched by several threads


@dataclass(frozen=True, slots=True, eq=False)
class NearestVectors:
    """Nearest vectors of a search: document `ids` (m,) int64, nearest first, and their `costs` (m,) float32.

    FAISS returns squared L2 distances: WCD is their root. For an index of inner products, costs are negated products.
    """

    ids: NDArray[np.int64]
    costs: NDArray[np.float32]


def check_factory(factory: str, dim: int | None = None, *, products: bool = False) -> None:
    """Raise UsageError for a factory string that FAISS cannot build.

    If `dim`, the number of dimensions, is not known yet, a multiple of most product quantisers' parts is assumed. For
    `products` see `build`.
    """
    if products and any(name in factory for name in _NO_PRODUCTS):
        raise UsageError(f"{factory!r} does not keep the order of inner products: choose another index")
    _empty(factory, dim or 960, products=products)


def build(
    factory: str,
    ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    path: Path,
    seed: int = 0,
    *,
    products: bool = False,
) -> str:
    """Write an index of `vectors` (n, d) with `ids` (n,) to `path`, and return the factory string that was used.

    It is built by `factory`, and if need be trained on a random sample, drawn by `seed`. With too few documents for
    training, the exact flat index is built instead. `products`: the vectors with the largest inner products are
    the nearest, not the vectors with the smallest L2 distances.
    """
    try:
        index = _filled(factory, ids, vectors, seed, products=products)
    except RuntimeError:  # FAISS: "number of training points should be at least as large as number of clusters"
        factory = FLAT_INDEX
        index = _filled(factory, ids, vectors, seed, products=products)
    _write(index, path)
    return factory


def _write(index: Any, path: Path) -> None:
    """Write an index durably; raise the OSError of a failure, which FAISS hides."""
    from faiss import PyCallbackIOWriter, write_index  # type: ignore[attr-defined]  # FAISS's own types do not know it

    failures: list[OSError] = []
    with durable_file(path) as file:

        def put(data: bytes) -> None:
            try:
                file.write(data)
            except OSError as error:
                failures.append(error)
                raise

        try:
            write_index(index, PyCallbackIOWriter(put, 2**20))
        except RuntimeError as error:
            if failures:
                raise failures[0] from error
            raise


def _filled(factory: str, ids: NDArray[np.int64], vectors: NDArray[np.float32], seed: int, *, products: bool) -> Any:
    """Return an index of vectors, trained on a sample of them if necessary."""
    n, dim = vectors.shape
    index = _empty(factory, dim, products=products)
    if not index.is_trained:
        most, rows = min(_TRAINING_SAMPLE, max(1, _TRAINING_BYTES // (4 * dim))), np.arange(n)
        if n > most:
            rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
        index.train(np.ascontiguousarray(vectors[rows]))
    size = max(1, _BLOCK_BYTES // (4 * dim))
    for start in range(0, n, size):
        block = slice(start, start + size)
        index.add_with_ids(np.ascontiguousarray(vectors[block]), ids[block])
    return index


def _empty(factory: str, dim: int, *, products: bool) -> Any:
    """Return an empty index that stores ids, wrapped in an IDMap2 if necessary."""
    import faiss

    try:
        metric = faiss.METRIC_INNER_PRODUCT if products else faiss.METRIC_L2
        index = faiss.index_factory(dim, factory, metric)
    except RuntimeError as error:
        reason = str(error).rsplit(": ", 1)[-1].strip()
        raise UsageError(f"FAISS cannot make an index of {factory!r}: {reason}") from error
    own_ids = isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2) or _inverted_lists(index) is not None
    return index if own_ids else faiss.IndexIDMap2(index)


def _inverted_lists(index: Any) -> Any:
    """Return the inverted file of an index; None if it has none."""
    import faiss

    try:
        return faiss.extract_index_ivf(index)
    except RuntimeError:
        return None


class FirstStage:
    """The index file at `path`, built by `factory`; compared with its `checksum` and read when first searched.

    `expected` are the dimension and the ids (n,) of the indexed vectors; None: they are not compared.
    """

    def __init__(
        self,
        path: Path,
        factory: str,
        checksum: FileChecksum | None = None,
        expected: tuple[int, Callable[[], NDArray[np.int64]]] | None = None,
    ) -> None:
        self._file, self.factory, self._expected = OpenFile(path, checksum), factory, expected
        self._index: Any = None
        self._ids: NDArray[np.int64] | None = None

    @property
    def exact(self) -> bool:
        """Return whether the search is exact: no other vector is nearer than the last candidate."""
        return self.factory in _EXACT

    def check(self) -> None:
        """Read the file; DamagedFile if it differs from its checksum, or is no index of the expected vectors."""
        self._opened()

    def _opened(self) -> Any:
        import faiss

        if self._index is None:
            self._file.check()
            try:
                large = os.fstat(self._file.descriptor).st_size > _LARGE
                index: Any = faiss.read_index(_reader(self._file.descriptor))
                self._require_expected(index)
                if large and self.factory in _IN_PARTS:
                    self._ids = np.sort(faiss.vector_to_array(index.id_map))
            except (RuntimeError, MemoryError) as error:
                raise DamagedFile(self._file.path, f"cannot be read by FAISS: {error}") from error
            self._file.close()
            self._index = index
        return self._index

    def _require_expected(self, index: Any) -> None:
        """Raise DamagedFile for an index of other vectors, or of another structure than `factory` makes.

        FAISS checks most data that it reads, except the codes of RaBitQ and LSH.
        """
        if self._expected is None:
            return
        dim, ids = self._expected[0], self._expected[1]()
        same = index.d == dim and index.ntotal == len(ids)
        if same and (self.factory in _IN_PARTS or self.factory.startswith("LSH")):
            import faiss

            empty = _empty(self.factory, dim, products=index.metric_type == faiss.METRIC_INNER_PRODUCT)
            same = _has_structure(index, faiss.deserialize_index(faiss.serialize_index(empty)))
        if not (same and np.array_equal(np.sort(_ids_in(index)), ids)):
            raise DamagedFile(self._file.path, "matches its checksum, but is no index of the documents")

    def stored(self) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Return the ids (n,) in the index, and their vectors (n, d) if it stores them unchanged, else None."""
        import faiss

        index = self._opened()
        vectors = faiss.downcast_index(index.index).reconstruct_n(0, index.ntotal) if self.exact else None
        return _ids_in(index), vectors

    def nearest(
        self, vector: NDArray[np.float32], m: int, accept: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
    ) -> NearestVectors:
        """Return the `m` documents nearest to `vector` (d,) among the ids (i,) for which `accept` returns True (i,).

        Not every index can filter ids, so more are requested until enough are accepted or none is left.
        """
        index = self._opened()
        wanted = m + m // 4 + 16
        while True:
            wanted = min(wanted, index.ntotal)
            self._widen(index, wanted)
            found, costs = self._search(index, vector, wanted)
            accepted = accept(found)
            if accepted.sum() >= m or wanted == index.ntotal:
                return NearestVectors(found[accepted][:m], costs[accepted][:m])
            wanted *= 4

    def _search(
        self, index: Any, vector: NDArray[np.float32], wanted: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids and costs of up to `wanted` vectors, nearest first.

        FAISS uses one thread per query: a large index that is scanned is split into parts, one for each core.
        """
        import faiss

        if not wanted:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        parts = 1 if self._ids is None or is_single_threaded() else core_count()
        if self._ids is None or parts == 1:
            values, ids = _searched(index, vector, wanted)
        else:
            ends = [0, *(int(self._ids[len(self._ids) * i // parts]) for i in range(1, parts)), 2**62]

            def part(i: int) -> Any:
                selection = faiss.SearchParameters(sel=faiss.IDSelectorRange(ends[i], ends[i + 1]))  # type: ignore[call-arg]
                return _searched(index, vector, wanted, selection)

            values, ids = (
                np.concatenate(found, axis=1) for found in zip(*thread_pool().map(part, range(parts)), strict=True)
            )
        valid = ids[0] >= 0  # an approximate index pads with -1
        found, costs = ids[0][valid].astype(np.int64), values[0][valid].astype(np.float32)
        if index.metric_type == faiss.METRIC_INNER_PRODUCT:
            costs = -costs
        order = np.argsort(costs, kind="stable")[:wanted]
        return found[order], costs[order]

    def _widen(self, index: Any, wanted: int) -> None:
        """Set how many vectors an approximate index visits, so that it can find `wanted` ones."""
        import faiss

        parameters = faiss.ParameterSpace()
        inverted = _inverted_lists(index)
        if inverted is not None:
            # Long vectors hardly form clusters: a sixteenth of the lists holds three quarters of the nearest.
            least = np.sqrt(1 / inverted.nlist) if index.d < _LONG else max(0.25, np.sqrt(1 / inverted.nlist))
            share = max(least, min(1.0, 4 * wanted / max(1, index.ntotal)))
            inverted.nprobe = int(np.ceil(share * inverted.nlist))
        if "HNSW" in self.factory:
            parameters.set_index_parameter(index, "efSearch", max(64, 2 * wanted))


def _ids_in(index: Any) -> NDArray[np.int64]:
    """Return the ids (n,) of the vectors in an index."""
    import faiss

    if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
        ids: NDArray[np.int64] = faiss.vector_to_array(index.id_map)
        return ids
    inverted = _inverted_lists(index)
    if inverted is None:
        return np.empty(0, np.int64)
    lists = inverted.invlists
    sizes = [lists.list_size(i) for i in range(lists.nlist)]
    found = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
    return np.concatenate([np.empty(0, np.int64), *found])


def _has_structure(index: Any, empty: Any) -> bool:
    """Return whether an index has the parts, the sizes and the options of the `empty` one, and a code per vector."""
    import faiss

    own: Any = faiss.downcast_index(index)
    made: Any = faiss.downcast_index(empty)
    parts = [(own, made), *((getattr(own, name, None), getattr(made, name, None)) for name in ("rabitq", "rrot"))]
    if hasattr(made, "chain") and hasattr(own, "chain"):
        chains = ([faiss.downcast_VectorTransform(i.chain.at(n)) for n in range(i.chain.size())] for i in (own, made))
        first, second = chains
        if len(first) != len(second):
            return False
        parts += zip(first, second, strict=True)
    if any(type(one) is not type(other) or _numbers(one) != _numbers(other) for one, other in parts):
        return False
    if hasattr(made, "codes") and own.codes.size() != own.ntotal * made.code_size:
        return False
    if hasattr(made, "center") and own.center.size() != made.d:
        return False
    return not hasattr(made, "index") or (own.index.ntotal == own.ntotal and _has_structure(own.index, made.index))


def _numbers(part: Any) -> list[Any]:
    """Return the sizes and options of a part of an index."""
    return [getattr(part, name, None) for name in _SIZES]


def _searched(index: Any, vector: NDArray[np.float32], wanted: int, selection: Any = None) -> Any:
    """Search an index for the `wanted` vectors nearest to one, in one thread.

    FAISS would wake idle threads and wait for each of them, on a busy machine thirty times as long as the search takes.
    The number of threads is set for the calling thread only.
    """
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        return index.search(vector[None, :], wanted, params=selection)
    finally:
        faiss.omp_set_num_threads(threads)


def _reader(file: int) -> Any:
    """Return a FAISS reader for an open file descriptor."""
    from faiss import PyCallbackIOReader  # type: ignore[attr-defined]  # FAISS's own types do not know it

    return PyCallbackIOReader(lambda size: os.read(file, size), 2**20)


SMALL_BYTES = 64 * 2**20
"""Total bytes of the vectors up to which compression is of no use: they are scanned in a few milliseconds."""
SHORT_BYTES = 1024
"""Bytes of a vector up to which it takes no more memory than the bag of a text of 80 words."""
LONG_DIM = 1024
"""Number of dimensions from which one bit for each is enough: the error falls with its square root."""


def choose_factory(n: int, dim: int) -> str:
    """Return the factory string for `n` vectors of `dim` numbers.

    `IDMap2,Flat` if all vectors together are small, or if vectors are short and searches compare all documents: nothing
    is lost, and with centroids the distance beyond the last candidate has a known bound, which may prove the result.
    Other vectors that are not long become `SQ8`, a quarter of the memory.

    `HR,RaBitQ` for long ones: a bit for each number after a rotation (Gao & Long 2024), 1/31 of the memory. With Fisher
    vectors of 100,000 documents it finds .71 and .89 of the exact ten among 100 and 500 candidates, in 12 ms; the flat
    index .72 and .89, in 119 ms; SQ4 as many, in 1/8 of the memory and 130 ms. Product quantisers and PCA lose far more
    (tests/benchmarks/faiss_indexes.py). An inverted file of 256 lists, a quarter of them probed, finds .73 and .87 in
    5 ms, but on one core: codes without lists are scanned on all cores.
    """
    size = 4 * dim
    if n * size <= SMALL_BYTES or (size <= SHORT_BYTES and n <= EXACT_UP_TO):
        return FLAT_INDEX
    return "HR,RaBitQ" if dim >= LONG_DIM else "SQ8"


@dataclass(frozen=True, slots=True)
class IndexInUse:
    """The index of a snapshot: its `factory` string, number of `documents`, their dimension, and size in `bytes`."""

    factory: str
    documents: int
    dim: int
    bytes: int

    def sentence(self) -> str:
        """Return a description, with its memory as a share of the memory of uncompressed vectors."""
        plain = 4 * self.dim * self.documents
        share = f"1/{round(plain / self.bytes)}" if plain > 1.5 * self.bytes else "all"
        vectors = f"{self.documents:,} documents of {4 * self.dim:,} bytes each"
        return (
            f"first stage: {self.factory} for {vectors}, in {share} of the memory (faiss=FACTORY names another index)"
        )
