"""Writes and removes snapshots atomically."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_directory, durable_file
from moverank.indexer.files.checksums import checksummed_json, file_checksums
from moverank.indexer.snapshot import first_stage, index_choice
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.segment import Portion, keep_words
from moverank.indexer.snapshot.snapshot_layout import (
    ARRAYS,
    FIRST_STAGE,
    FORMAT,
    META,
    OMITTED_IF_UNRANKED,
    PREFIX,
    REMOVED,
    SAMPLE,
    STAGE,
    STAGE_IDS,
    STAGE_VECTORS,
)
from moverank.indexer.snapshot.snapshot_reader import map_array
from moverank.indexer.snapshot.stage_vectors import StageVectors
from moverank.rerank.bags.weights import PartCounts, weigh


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotContent:
    """The data that a snapshot is written from.

    `revision` and `token` identify the state; `made_for`: see `snapshot_reader.made_for`. `portions` are counts of all
    words, which are positions in `all_word_ids` (t,). `word_ids` (v,) and `vectors` (v, d) are those of the words with
    a vector; `stage` are the first stage's vectors of documents, `sample` is one of the documents.
    """

    revision: int
    token: str
    made_for: dict[str, Any]
    portions: Iterable[Portion]
    all_word_ids: NDArray[np.int64]
    word_ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    stage: StageVectors
    sample: ContentSample


def write_snapshot(directory: Path, content: SnapshotContent) -> Path:
    """Write a snapshot into a collection's directory, portion by portion, and return its path.

    Bags are weighted by the collection's own gamma and title weight, and for the encoder also by idf.
    """
    target = directory / f"{PREFIX}{content.revision}"
    with atomic_directory(target) as path:
        sizes = _write_arrays(path, content)
        _write_file(path / "all_word_ids", _bytes(content.all_word_ids, "<i8"))
        _write_file(path / "word_ids", _bytes(content.word_ids, "<i8"))
        _write_file(path / "vectors", _bytes(content.vectors, "<f4"))
        _write_file(path / SAMPLE, content.sample.array().astype("<f8").tobytes())
        content.stage.save(path)
        sizes |= {"all_word_ids": len(content.all_word_ids), "word_ids": len(content.word_ids)}
        factory = _write_first_stage(path, content.made_for["faiss"], sizes[STAGE_IDS], content.stage)
        sizes |= {"first_stage": (path / FIRST_STAGE).stat().st_size, "encoded": content.stage.dim}
        meta = {"format": FORMAT, "revision": content.revision, "token": content.token, "made_for": content.made_for}
        meta |= {"sizes": sizes | {"dim": content.vectors.shape[1]}, "factory": factory}
        _write_file(path / META, checksummed_json(meta | {"files": file_checksums(path)}))
    return target


def remove_snapshot(path: Path) -> None:
    """Remove a snapshot atomically; open readers keep its files."""
    aside = path.with_name(f"{REMOVED}{path.name}")
    with suppress(OSError):
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def remove_other_snapshots(directory: Path, current: Path | None) -> None:
    """Remove every snapshot but the current one; with None, all of them."""
    for path in directory.glob(f"{PREFIX}*"):
        if path != current:
            remove_snapshot(path)


def _write_arrays(path: Path, content: SnapshotContent) -> dict[str, int]:
    """Append the arrays and the first stage's vectors of each portion to their files; return the length of each."""
    kinds = ARRAYS | STAGE
    sizes = dict.fromkeys(kinds, 0)
    flat = True
    with _files(path, tuple(sizes)) as files:

        def append(name: str, array: NDArray[Any]) -> None:
            files[name].write(_bytes(array, kinds[name]))
            sizes[name] += len(array)

        def append_counts(prefix: str, ids: NDArray[np.int64], counts: PartCounts) -> None:
            append(f"{prefix}starts", counts.starts[1:] + sizes[f"{prefix}words"])
            append(f"{prefix}ids", ids)
            for name in ("words", "ranks", "counts"):
                append(f"{prefix}{name}", getattr(counts, name))

        for name in ("starts", "term_starts", "bag_starts"):
            append(name, np.zeros(1))
        gamma, title_weight = content.made_for["gamma"], content.made_for["title_weight"]
        for all_ids, terms in content.portions:
            append_counts("term_", all_ids, terms)
            ids, counts = keep_words(all_ids, terms, content.all_word_ids, content.word_ids)
            append_counts("", ids, counts)
            bags = weigh(counts, gamma, title_weight=title_weight)
            append("bag_starts", bags.starts[1:] + sizes["bag_words"])
            append("bag_words", bags.words)
            append("weights", bags.weights)
            if len(bags):
                stage_ids, vectors = content.stage.of(ids, bags, counts.lengths(title_weight))
                append(STAGE_IDS, stage_ids)
                append(STAGE_VECTORS, vectors)
            flat = flat and not terms.ranks.any()
    for name in OMITTED_IF_UNRANKED if flat else ():
        (path / name).unlink()
        del sizes[name]
    return sizes


def _write_first_stage(path: Path, named: str, n: int, stage: StageVectors) -> str:
    """Index the documents' vectors, and remove their files if they can be computed again; return the factory string."""
    dim = stage.dim
    vectors = map_array(path / STAGE_VECTORS, "<f4", n * dim).reshape(-1, dim)
    factory = index_choice.choose(n, dim) if named == index_choice.AUTO else named
    ids = map_array(path / STAGE_IDS, "<i8", n)
    used = first_stage.build(factory, ids, vectors, path / FIRST_STAGE, products=stage.products)
    for name in () if stage.kept else STAGE:
        (path / name).unlink()
    return used


@contextmanager
def _files(path: Path, names: tuple[str, ...]) -> Iterator[dict[str, BinaryIO]]:
    """Open files in a directory for writing, and sync all of them to disk when the block ends."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(durable_file(path / name)) for name in names}


def _bytes(array: NDArray[Any], kind: str) -> memoryview:
    """Return the bytes of an array of the dtype `kind`, copied only if it is not one already."""
    return np.ascontiguousarray(array, kind).data


def _write_file(path: Path, content: bytes | memoryview) -> None:
    with durable_file(path) as file:
        file.write(content)
