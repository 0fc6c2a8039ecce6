"""Derived files: the collection at one revision, ready to be searched. All of it can be rebuilt from the store.

A snapshot is a directory `snapshot-REVISION`, written beside its place and renamed when it is whole. What the store
has seen since its revision is not in it: that is the tail, read from the store at each opening, until it has grown
enough to be folded into a new snapshot.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from indexer import encoding, factory, first_stage
from indexer.encoding import FittedEncoder
from indexer.factory import InUse
from indexer.first_stage import FirstStage
from indexer.segment import Segment
from rerank.bag import Bags
from rerank.encoders.encoder import Documents, Encoder
from rerank.weights import PartCounts, weigh, with_idf

_FORMAT = 2
_PREFIX, _NEW, _META, _STAGE = "snapshot-", "new-snapshot-", "meta.json", "first_stage.faiss"
_ENCODER, _ENCODED = "encoder.npz", "encoded"
_COUNTS = {"ids": "<i8", "starts": "<i8", "words": "<i4", "counts": "<i4", "ranks": "<i4"}
_BAGS = {"bag_starts": "<i8", "bag_words": "<i4", "weights": "<f8"}
_FLAT = ("ranks", "bag_starts", "bag_words")
"""What a collection does without where every part has rank 0: bags have the rows and words of the counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A segment mapped from files, its bags at the collection's own gamma, and the first stage over their vectors.

    The bags are without idf, which changes with every document that comes.
    """

    revision: int
    segment: Segment
    bags: Bags
    stage: FirstStage
    encoder: FittedEncoder
    index: InUse
    path: Path


def newest(directory: Path, made_for: dict[str, Any], valid: Callable[[int, str], bool]) -> Snapshot | None:
    """Open the newest whole snapshot made for these choices, None where there is none.

    `valid` is asked whether a revision with its token belongs to the state that is being opened.
    """
    for path in sorted(directory.glob(f"{_PREFIX}*"), key=_revision_of, reverse=True):
        try:
            meta = json.loads((path / _META).read_text())
            usable = meta["format"] == _FORMAT and meta["made_for"] == made_for
            if usable and valid(meta["revision"], meta["token"]):
                return _opened(path, meta)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # damaged, or removed by a writer just now: the store has it all
    return None


def remove_others(directory: Path, kept: Path) -> None:
    """Remove every other snapshot, and what a killed writer left; who has one open keeps its files till it closes."""
    for path in [*directory.glob(f"{_PREFIX}*"), *directory.glob(f"{_NEW}*")]:
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)


def write(
    directory: Path,
    revision: int,
    token: str,
    made_for: dict[str, Any],
    portions: Iterable[tuple[NDArray[np.int64], PartCounts]],
    word_ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    idf: NDArray[np.float64] | None,
    encoder: Encoder,
) -> Path:
    """Write the snapshot of a revision, portion by portion, and return its place.

    Bags are weighed by the collection's own gamma, those that are encoded by the `idf` (v,) of this revision, too.
    """
    place = directory / f"{_PREFIX}{revision}"
    with TemporaryDirectory(prefix=_NEW, dir=directory) as temporary:
        path = Path(temporary) / "whole"
        path.mkdir()
        encode = _encoding(encoder, word_ids, vectors, idf)
        sizes = _write_arrays(path, portions, made_for["gamma"], encode)
        _write_file(path / "word_ids", word_ids.astype("<i8"))
        _write_file(path / "vectors", vectors.astype("<f4"))
        encoding.save(encoder, path / _ENCODER)
        sizes |= {"word_ids": len(word_ids), "dim": vectors.shape[1], "encoder": (path / _ENCODER).stat().st_size}
        used = _write_first_stage(path, made_for["faiss"], sizes["ids"], encoder.dim)
        sizes |= {"first_stage": (path / _STAGE).stat().st_size, "encoded": encoder.dim}
        meta = {"format": _FORMAT, "revision": revision, "token": token, "made_for": made_for, "sizes": sizes}
        _write_file(path / _META, json.dumps(meta | {"factory": used}).encode())
        if place.exists():
            shutil.rmtree(place)
        path.rename(place)
    return place


def _encoding(
    encoder: Encoder, word_ids: NDArray[np.int64], vectors: NDArray[np.float32], idf: NDArray[np.float64] | None
) -> Callable[[Bags, NDArray[np.float64]], NDArray[np.float32]]:
    """Return what encodes bags of so many tokens (n,) each."""

    def encode(bags: Bags, lengths: NDArray[np.float64]) -> NDArray[np.float32]:
        weighed = bags if idf is None else with_idf(bags, idf)
        return encoder.encode(Documents(weighed, lengths, word_ids, vectors))

    return encode


def _write_arrays(
    path: Path,
    portions: Iterable[tuple[NDArray[np.int64], PartCounts]],
    gamma: float,
    encode: Callable[[Bags, NDArray[np.float64]], NDArray[np.float32]],
) -> dict[str, int]:
    """Write the portions' arrays and vectors one behind the other; return how long each has become."""
    sizes = dict.fromkeys([*_COUNTS, *_BAGS], 0)
    flat = True
    with _files(path, (*sizes, _ENCODED)) as files:

        def append(name: str, array: NDArray[Any]) -> None:
            files[name].write(array.astype((_COUNTS | _BAGS)[name]).tobytes())
            sizes[name] += len(array)

        append("starts", np.zeros(1))
        append("bag_starts", np.zeros(1))
        for ids, counts in portions:
            bags = weigh(counts, gamma)
            append("starts", counts.starts[1:] + sizes["words"])
            append("bag_starts", bags.starts[1:] + sizes["bag_words"])
            append("ids", ids)
            append("words", counts.words)
            append("ranks", counts.ranks)
            append("counts", counts.counts)
            append("bag_words", bags.words)
            append("weights", bags.weights)
            files[_ENCODED].write(encode(bags, counts.lengths()).tobytes())
            flat = flat and not counts.ranks.any()
    if flat:
        for name in _FLAT:
            (path / name).unlink()
            del sizes[name]
    return sizes


def _write_first_stage(path: Path, named: str, n: int, dim: int) -> str:
    """Index the documents' vectors, which are not needed afterwards."""
    vectors = _map(path / _ENCODED, "<f4", n * dim).reshape(-1, dim)
    chosen = factory.choose(n, dim) if named == factory.AUTO else named
    made = first_stage.build(chosen, _map(path / "ids", "<i8", n), vectors, path / _STAGE)
    (path / _ENCODED).unlink()
    return made


@contextmanager
def _files(path: Path, names: tuple[str, ...]) -> Iterator[dict[str, BinaryIO]]:
    """Open files of a directory for writing; each is on disk when the block ends."""
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {name: stack.enter_context((path / name).open("wb")) for name in names}
        yield files
        for file in files.values():
            _sync(file)


def _write_file(path: Path, content: NDArray[Any] | bytes) -> None:
    with path.open("wb") as file:
        file.write(content if isinstance(content, bytes) else content.tobytes())
        _sync(file)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _revision_of(path: Path) -> int:
    """Return the number in a snapshot's name, -1 where there is none."""
    number = path.name.removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else -1


def _opened(path: Path, meta: dict[str, Any]) -> Snapshot:
    """Map a snapshot's arrays."""
    sizes = meta["sizes"]
    _check_size(path / _STAGE, sizes["first_stage"])
    _check_size(path / _ENCODER, sizes["encoder"])
    arrays = {name: _map(path / name, kind, sizes[name]) for name, kind in (_COUNTS | _BAGS).items() if name in sizes}
    vectors = _map(path / "vectors", "<f4", sizes["word_ids"] * sizes["dim"]).reshape(-1, sizes["dim"])
    ranks = arrays.get("ranks", np.broadcast_to(np.int32(0), sizes["words"]))
    counts = PartCounts(arrays["starts"], arrays["words"], ranks, arrays["counts"])
    bags = Bags(arrays.get("bag_starts", counts.starts), arrays.get("bag_words", counts.words), arrays["weights"])
    segment = Segment(arrays["ids"], counts, _map(path / "word_ids", "<i8", sizes["word_ids"]), vectors)
    encoder = FittedEncoder(path / _ENCODER, meta["made_for"]["first_stage"])
    stage = FirstStage(path / _STAGE, meta["factory"])
    index = InUse(stage.factory, sizes["ids"], sizes.get("encoded", 0), sizes["first_stage"])
    return Snapshot(meta["revision"], segment, bags, stage, encoder, index, path)


def _map(path: Path, kind: str, size: int) -> NDArray[Any]:
    """Map an array of a file of exactly that size."""
    _check_size(path, size * np.dtype(kind).itemsize)
    # Copy-on-write, though nobody writes: numba would compile everything once more for arrays that are read-only.
    return np.asarray(np.memmap(path, kind, "c", shape=(size,))) if size else np.empty(0, kind)


def _check_size(path: Path, size: int) -> None:
    """Raise ValueError for a file of another size."""
    actual = path.stat().st_size
    if actual != size:
        raise ValueError(f"{path} has {actual} bytes where {size} were written")
