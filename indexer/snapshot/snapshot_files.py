"""Derived files: the collection at one revision, ready to be searched. All of it can be rebuilt from the store.

A snapshot is a directory `snapshot-REVISION`, written beside its place and renamed when it is whole. What the store
has seen since its revision is not in it: that is the tail, read from the store at each opening, until it has grown
enough to be folded into a new snapshot.

Every file is sealed in `meta.json`, which is sealed itself. What is missing, foreign or of another size is noticed on
opening; a file's content is compared with its seal before it is used: on opening where every search needs it, else
when it is first asked for, so that opening takes no longer the larger the collection.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import (
    FileChecksum,
    check_data,
    check_names,
    checksummed_json,
    file_checksums,
    read_checksummed_json,
)
from moverank.indexer.snapshot import first_stage, fitted_encoder, index_choice
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.index_choice import InUse
from moverank.indexer.snapshot.segment import Segment, Terms, among
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import PartCounts, weigh, with_idf
from moverank.rerank.encoders.encoder import Documents, Encoder

_FORMAT = 3
_PREFIX, _NEW, _META, _STAGE = "snapshot-", "new-snapshot-", "meta.json", "first_stage.faiss"
_ENCODER, _ENCODED = "encoder.npz", "encoded"
_COUNTS = {"ids": "<i8", "starts": "<i8", "words": "<i4", "counts": "<i4", "ranks": "<i4"}
_TERMS = {f"term_{name}": kind for name, kind in _COUNTS.items()}
_BAGS = {"bag_starts": "<i8", "bag_words": "<i4", "weights": "<f8"}
_ARRAYS = _COUNTS | _TERMS | _BAGS
_FLAT = ("ranks", "term_ranks", "bag_starts", "bag_words")
"""What a collection does without where every part has rank 0: bags have the rows and words of the counts."""
_COUNTED = {"bag_starts": "starts", "bag_words": "words"}


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A segment mapped from files, its bags at the collection's own gamma, and the first stage over their vectors.

    The bags are without idf, which changes with every document that comes. Whatever is first asked for may raise
    DamagedFile.
    """

    revision: int
    segment: Segment
    terms: Terms
    bags: Callable[[], Bags]
    stage: FirstStage
    encoder: FittedEncoder
    index: InUse
    path: Path

    def check(self) -> None:
        """Look through all files; DamagedFile names the first that is not what was written."""
        self.bags()
        _ = self.segment.counts, self.terms.counts
        self.stage.check()
        self.encoder.check()


def newest(
    directory: Path,
    made_for: dict[str, Any],
    valid: Callable[[int, str], bool],
    damaged: Callable[[DamagedFile], None] = lambda _: None,
    distrusted: AbstractSet[Path] = frozenset(),
) -> Snapshot | None:
    """Open the newest whole snapshot made for these choices, None where there is none.

    `valid` is asked whether a revision with its token belongs to the state that is being opened; `damaged` is told of
    a snapshot that is not what was written. `distrusted` ones are passed over.
    """
    for path in sorted(directory.glob(f"{_PREFIX}*"), key=_revision_of, reverse=True):
        if path in distrusted:
            continue
        try:
            meta = read_checksummed_json(path / _META)
            usable = meta["format"] == _FORMAT and meta["made_for"] == made_for
            if usable and valid(meta["revision"], meta["token"]):
                return _opened(path, meta)
        except DamagedFile as damage:
            damaged(damage)
        except (KeyError, TypeError, ValueError):
            damaged(DamagedFile(path / _META, "is not what this version writes"))
        except OSError as error:
            if path.is_dir():  # else a writer has removed it just now
                damaged(DamagedFile(path / _META, f"cannot be read: {error.strerror}"))
    return None


def remove(path: Path) -> None:
    """Remove a snapshot, all at once for who looks; who has it open keeps its files till it closes."""
    aside = path.with_name(f"{_NEW}{path.name}")
    with suppress(OSError):
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def remove_others(directory: Path, kept: Path) -> None:
    """Remove every other snapshot."""
    for path in directory.glob(f"{_PREFIX}*"):
        if path != kept:
            remove(path)


def write(
    directory: Path,
    revision: int,
    token: str,
    made_for: dict[str, Any],
    portions: Iterable[tuple[NDArray[np.int64], PartCounts]],
    all_word_ids: NDArray[np.int64],
    word_ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    idf: NDArray[np.float64] | None,
    encoder: Encoder,
) -> Path:
    """Write the snapshot of a revision, portion by portion, and return its place.

    Portions count all words; those with a vector are `word_ids` (v,). Bags are weighed by the collection's own gamma,
    those that are encoded by the `idf` (v,) of this revision, too.
    """
    place = directory / f"{_PREFIX}{revision}"
    with TemporaryDirectory(prefix=_NEW, dir=directory) as temporary:
        path = Path(temporary) / "whole"
        path.mkdir()
        encode = _encoding(encoder, word_ids, vectors, idf)
        sizes = _write_arrays(path, portions, (all_word_ids, word_ids), made_for["gamma"], encode)
        _write_file(path / "all_word_ids", all_word_ids.astype("<i8"))
        _write_file(path / "word_ids", word_ids.astype("<i8"))
        _write_file(path / "vectors", vectors.astype("<f4"))
        fitted_encoder.save(encoder, path / _ENCODER)
        sizes |= {"all_word_ids": len(all_word_ids), "word_ids": len(word_ids), "dim": vectors.shape[1]}
        used = _write_first_stage(path, made_for["faiss"], sizes["ids"], encoder.dim)
        sizes |= {"first_stage": (path / _STAGE).stat().st_size, "encoded": encoder.dim}
        meta = {"format": _FORMAT, "revision": revision, "token": token, "made_for": made_for, "sizes": sizes}
        _write_file(path / _META, checksummed_json(meta | {"factory": used, "files": file_checksums(path)}))
        remove(place)
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
    vocabularies: tuple[NDArray[np.int64], NDArray[np.int64]],
    gamma: float,
    encode: Callable[[Bags, NDArray[np.float64]], NDArray[np.float32]],
) -> dict[str, int]:
    """Write the portions' arrays and vectors one behind the other; return how long each has become.

    The `vocabularies` are the ids of all words, which portions count, and of those with a vector.
    """
    sizes = dict.fromkeys(_ARRAYS, 0)
    flat = True
    with _files(path, (*sizes, _ENCODED)) as files:

        def append(name: str, array: NDArray[Any]) -> None:
            files[name].write(array.astype(_ARRAYS[name]).tobytes())
            sizes[name] += len(array)

        def append_counts(prefix: str, ids: NDArray[np.int64], counts: PartCounts) -> None:
            append(f"{prefix}starts", counts.starts[1:] + sizes[f"{prefix}words"])
            append(f"{prefix}ids", ids)
            for name in ("words", "ranks", "counts"):
                append(f"{prefix}{name}", getattr(counts, name))

        for name in ("starts", "term_starts", "bag_starts"):
            append(name, np.zeros(1))
        for every, terms in portions:
            append_counts("term_", every, terms)
            ids, counts = among(every, terms, *vocabularies)
            append_counts("", ids, counts)
            bags = weigh(counts, gamma)
            append("bag_starts", bags.starts[1:] + sizes["bag_words"])
            append("bag_words", bags.words)
            append("weights", bags.weights)
            if len(bags):
                files[_ENCODED].write(encode(bags, counts.lengths()).tobytes())
            flat = flat and not terms.ranks.any()
    if flat:
        for name in _FLAT:
            (path / name).unlink()
            del sizes[name]
    return sizes


def _write_first_stage(path: Path, named: str, n: int, dim: int) -> str:
    """Index the documents' vectors, which are not needed afterwards."""
    vectors = _map(path / _ENCODED, "<f4", n * dim).reshape(-1, dim)
    chosen = index_choice.choose(n, dim) if named == index_choice.AUTO else named
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
    """Map a snapshot's arrays: at once those that are needed by every search, the others when they are asked for."""
    sizes, seals = meta["sizes"], meta["files"]
    check_names(path, seals, _META)
    kinds = {name: kind for name, kind in _ARRAYS.items() if name in sizes}
    kinds |= {"word_ids": "<i8", "all_word_ids": "<i8", "vectors": "<f4"}
    maps = {name: _map(path / name, kind) for name, kind in kinds.items()}

    @cache
    def sealed(name: str) -> NDArray[Any]:
        return _checked(path / name, maps[name], seals[name])

    @cache
    def counts(prefix: str) -> PartCounts:
        starts, words, ranks, amounts = (f"{prefix}{name}" for name in ("starts", "words", "ranks", "counts"))
        ranked = sealed(ranks) if ranks in maps else np.broadcast_to(np.int32(0), sizes[words])
        return PartCounts(sealed(starts), sealed(words), ranked, sealed(amounts))

    @cache
    def bags() -> Bags:
        starts, words = (name if name in maps else _COUNTED[name] for name in ("bag_starts", "bag_words"))
        return Bags(sealed(starts), sealed(words), sealed("weights"))

    vectors = sealed("vectors").reshape(-1, sizes["dim"])
    segment = Segment(sealed("ids"), partial(counts, ""), sealed("word_ids"), vectors)
    terms = Terms(sealed("term_ids"), partial(counts, "term_"), sealed("all_word_ids"))
    encoder = FittedEncoder(path / _ENCODER, meta["made_for"]["first_stage"], seals[_ENCODER])
    stage = FirstStage(path / _STAGE, meta["factory"], seals[_STAGE])
    index = InUse(stage.factory, sizes["ids"], sizes["encoded"], sizes["first_stage"])
    return Snapshot(meta["revision"], segment, terms, bags, stage, encoder, index, path)


def _map(path: Path, kind: str, size: int | None = None) -> NDArray[Any]:
    """Map an array of a file, all of it or so many items."""
    size = path.stat().st_size // np.dtype(kind).itemsize if size is None else size
    # Copy-on-write, though nobody writes: numba would compile everything once more for arrays that are read-only.
    return np.asarray(np.memmap(path, kind, "c", shape=(size,))) if size else np.empty(0, kind)


def _checked(path: Path, array: NDArray[Any], seal: FileChecksum) -> NDArray[Any]:
    check_data(path, array, seal)
    return array
