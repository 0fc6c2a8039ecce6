"""The first stage: FAISS over one vector for each document. The only module that imports FAISS."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, UsageError
from moverank.indexer.files.checksums import FileChecksum
from moverank.indexer.files.open_file import OpenFile
from moverank.rerank.runtime.threads import core_count, is_single_threaded, thread_pool

FLAT = "IDMap2,Flat"
_EXACT = frozenset({"Flat", "IDMap,Flat", FLAT})
_IN_PARTS = _EXACT | {"SQ8", "HR,RaBitQ"}  # others may not know how to look at some ids only
_TRAINING_SAMPLE = 100_000
_TRAINING_BYTES, _BLOCK_BYTES = 512 * 2**20, 64 * 2**20  # of vectors at a time: FAISS makes copies of them
_LONG = 1024  # numbers in a vector
_LARGE = 40_000_000  # bytes of an index that is worth two threads


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Candidates: document `ids` (m,) int64, nearest first, and their `squares` (m,) float32.

    FAISS returns squared L2 distances: WCD is their root.
    """

    ids: NDArray[np.int64]
    squares: NDArray[np.float32]


def check_factory(factory: str, dim: int | None = None) -> None:
    """Refuse a factory string that FAISS cannot make, with UsageError.

    Where the dimensions are not known yet, one that suits most divisions of a vector stands in.
    """
    _empty(factory, dim or 960)


def build(factory: str, ids: NDArray[np.int64], vectors: NDArray[np.float32], path: Path, seed: int = 0) -> str:
    """Write an index of `vectors` (n, d) under `ids` (n,) to `path`, and return the factory string that made it.

    An index that has to be trained is trained on a random sample. Where there are too few documents to train it on,
    the exact flat index takes its place until there are enough.
    """
    try:
        index = _filled(factory, ids, vectors, seed)
    except RuntimeError:  # FAISS: "number of training points should be at least as large as number of clusters"
        factory = FLAT
        index = _filled(factory, ids, vectors, seed)
    _write(index, path)
    return factory


def _write(index: Any, path: Path) -> None:
    """Write an index, to the disk itself; OSError where that cannot be, which FAISS itself would not tell."""
    from faiss import PyCallbackIOWriter, write_index  # type: ignore[attr-defined]  # FAISS's own types do not know it

    failures: list[OSError] = []
    with path.open("wb") as file:

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
        file.flush()
        os.fsync(file.fileno())


def _filled(factory: str, ids: NDArray[np.int64], vectors: NDArray[np.float32], seed: int) -> Any:
    """Make an index of vectors, trained on a sample of them if it has to be."""
    n, dim = vectors.shape
    index = _empty(factory, dim)
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


def _empty(factory: str, dim: int) -> Any:
    """Make an index that takes ids of its own: one that does not is wrapped."""
    import faiss

    try:
        index = faiss.index_factory(dim, factory)
    except RuntimeError as error:
        reason = str(error).rsplit(": ", 1)[-1].strip()
        raise UsageError(f"FAISS cannot make an index of {factory!r}: {reason}") from error
    own_ids = isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2) or _inverted_lists(index) is not None
    return index if own_ids else faiss.IndexIDMap2(index)


def _inverted_lists(index: Any) -> Any:
    """Return the inverted file within an index, None where it has none."""
    import faiss

    try:
        return faiss.extract_index_ivf(index)
    except RuntimeError:
        return None


class FirstStage:
    """An index on disk, read when the first candidates are asked for, once it is known to be what was written."""

    def __init__(self, path: Path, factory: str, seal: FileChecksum | None = None) -> None:
        self._file, self.factory = OpenFile(path, seal), factory
        self._index: Any = None
        self._ids: NDArray[np.int64] | None = None

    @property
    def exact(self) -> bool:
        """Say whether no vector is ever overlooked, so that what comes after the candidates is known to be farther."""
        return self.factory in _EXACT

    def check(self) -> None:
        """Look through the file; DamagedFile where it is not what was written."""
        if self._index is None:
            self._file.check()

    def _opened(self) -> Any:
        import faiss

        if self._index is None:
            self.check()
            try:
                large = os.fstat(self._file.descriptor).st_size > _LARGE
                self._index = faiss.read_index(_reader(self._file.descriptor))
                self._file.close()
                if large and self.factory in _IN_PARTS:
                    self._ids = np.sort(faiss.vector_to_array(self._index.id_map))
            except RuntimeError as error:
                raise DamagedFile(self._file.path, f"cannot be read by FAISS: {error}") from error
        return self._index

    def held(self) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Return the ids (n,) in the index, and the vectors (n, d) under them where it keeps them as they were."""
        import faiss

        index = self._opened()
        if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
            ids = faiss.vector_to_array(index.id_map)
            return ids, faiss.downcast_index(index.index).reconstruct_n(0, index.ntotal) if self.exact else None
        lists = _inverted_lists(index).invlists
        sizes = [lists.list_size(i) for i in range(lists.nlist)]
        found = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
        return np.concatenate([np.empty(0, np.int64), *found]), None

    def nearest(
        self, vector: NDArray[np.float32], m: int, accept: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
    ) -> Found:
        """Return the `m` nearest documents to a vector (d,) among those that `accept` says yes to.

        Not every index can leave out vectors, so more are asked for until enough are accepted or none is left.
        """
        index = self._opened()
        wanted = m + m // 4 + 16
        while True:
            wanted = min(wanted, index.ntotal)
            self._widen(index, wanted)
            found, squared = self._search(index, vector, wanted)
            accepted = accept(found)
            if accepted.sum() >= m or wanted == index.ntotal:
                return Found(found[accepted][:m], squared[accepted][:m])
            wanted *= 4

    def _search(
        self, index: Any, vector: NDArray[np.float32], wanted: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids and squares of up to `wanted` vectors, nearest first.

        FAISS gives a query one thread: a large index without a structure is looked through in parts, one on each core.
        """
        import faiss

        if not wanted:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        parts = 1 if self._ids is None or is_single_threaded() else core_count()
        if self._ids is None or parts == 1:
            squares, ids = _asked(index, vector, wanted)
        else:
            ends = [0, *(int(self._ids[len(self._ids) * i // parts]) for i in range(1, parts)), 2**62]

            def some(i: int) -> Any:
                among = faiss.SearchParameters(sel=faiss.IDSelectorRange(ends[i], ends[i + 1]))  # type: ignore[call-arg]
                return _asked(index, vector, wanted, among)

            squares, ids = (
                np.concatenate(found, axis=1) for found in zip(*thread_pool().map(some, range(parts)), strict=True)
            )
        there = ids[0] >= 0  # an index that looks at a part only pads with -1
        found, squared = ids[0][there].astype(np.int64), squares[0][there].astype(np.float32)
        order = np.argsort(squared, kind="stable")[:wanted]
        return found[order], squared[order]

    def _widen(self, index: Any, wanted: int) -> None:
        """Let approximate indexes look at enough to find that many."""
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


def _asked(index: Any, vector: NDArray[np.float32], wanted: int, among: Any = None) -> Any:
    """Ask an index for the nearest to one vector.

    In one thread: FAISS would wake others that have nothing to do, and on a busy machine wait for each of them, thirty
    times as long as the search takes. The number of threads is the caller's own: other threads keep theirs.
    """
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        return index.search(vector[None, :], wanted, params=among)
    finally:
        faiss.omp_set_num_threads(threads)


def _reader(file: int) -> Any:
    """Let FAISS read from an open file descriptor."""
    from faiss import PyCallbackIOReader  # type: ignore[attr-defined]  # FAISS's own types do not know it

    return PyCallbackIOReader(lambda size: os.read(file, size), 2**20)
