"""Writes and removes snapshots atomically."""

import shutil
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import array_file, map_array, write_array, write_checksums
from moverank.indexer.files.atomic_write import atomic_directory
from moverank.indexer.snapshot import faiss_index
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.document_vectors import DocumentVectors
from moverank.indexer.snapshot.segment import Portion, keep_words
from moverank.indexer.snapshot.snapshot_layout import (
    ARRAYS,
    DOCUMENT_VECTORS,
    FIRST_STAGE,
    FORMAT,
    GONE,
    META,
    OMITTED_IF_UNRANKED,
    PREFIX,
    REMOVED,
    SAMPLE,
    VECTOR_FILES,
    VECTOR_IDS,
    VOCABULARY,
    path_of_new,
)
from moverank.indexer.values.settings import AUTO_INDEX
from moverank.rerank.bags.weights import PartCounts, weigh


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotContent:
    """The data that a snapshot is written from; `revision` and `token` identify the state."""

    revision: int
    token: str
    made_for: dict[str, Any]
    """See `snapshot_files.made_for`."""
    portions: Iterable[Portion]
    """The counts of all words, which are positions in `all_word_ids`."""
    all_word_ids: NDArray[np.int64]
    """The ids (t,) of all words."""
    word_ids: NDArray[np.int64]
    """The ids (v,) of the words with a vector."""
    vectors: NDArray[np.float32]
    """The vectors (v, d) of these words."""
    document_vectors: DocumentVectors
    """The first stage's vectors of documents."""
    sample: ContentSample


def write_snapshot(directory: Path, content: SnapshotContent) -> Path:
    """Write a snapshot into a collection's directory, portion by portion, and return its path.

    Bags are weighted by the collection's own gamma and title weight, and for the encoder also by the factors of words.
    """
    target = path_of_new(directory, content.revision)
    with atomic_directory(target) as path:
        sizes = _write_arrays(path, content)
        for name, kind in VOCABULARY.items():
            write_array(path / name, kind, getattr(content, name))
        write_array(path / SAMPLE, "<f8", content.sample.array())
        content.document_vectors.save(path)
        sizes |= {"all_word_ids": len(content.all_word_ids), "word_ids": len(content.word_ids)}
        factory = _write_first_stage(path, content.made_for["faiss"], sizes[VECTOR_IDS], content.document_vectors)
        sizes |= {"first_stage": (path / FIRST_STAGE).stat().st_size, "encoded": content.document_vectors.dim}
        meta = {"format": FORMAT, "revision": content.revision, "token": content.token, "made_for": content.made_for}
        meta |= {"sizes": sizes | {"dim": content.vectors.shape[1]}, "factory": factory}
        write_checksums(path / META, meta)
    return target


def remove_snapshot(path: Path) -> None:
    """Remove a snapshot atomically; open readers keep its files."""
    aside = path.with_name(f"{REMOVED}{path.name}")
    with suppress(OSError):
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
    with suppress(OSError):  # still there where files of it are open, and can neither be renamed nor removed
        (path / GONE).touch()


def remove_other_snapshots(directory: Path, current: Path | None) -> None:
    """Remove every snapshot but the current one; with None, all of them."""
    for path in directory.glob(f"{PREFIX}*"):
        if path != current:
            remove_snapshot(path)


def _write_arrays(path: Path, content: SnapshotContent) -> dict[str, int]:
    """Append the arrays and the first stage's vectors of each portion to their files; return the length of each."""
    flat = True
    with ExitStack() as stack:
        kinds = (ARRAYS | VECTOR_FILES).items()
        files = {name: stack.enter_context(array_file(path / name, kind)) for name, kind in kinds}

        def append_counts(prefix: str, ids: NDArray[np.int64], counts: PartCounts) -> None:
            files[f"{prefix}starts"].write(counts.starts[1:] + files[f"{prefix}words"].count)
            files[f"{prefix}ids"].write(ids)
            for name in ("words", "ranks", "counts"):
                files[f"{prefix}{name}"].write(getattr(counts, name))

        for name in ("starts", "term_starts", "bag_starts"):
            files[name].write(np.zeros(1))
        gamma, title_weight = content.made_for["gamma"], content.made_for["title_weight"]
        for all_ids, terms in content.portions:
            append_counts("term_", all_ids, terms)
            ids, counts = keep_words(all_ids, terms, content.all_word_ids, content.word_ids)
            append_counts("", ids, counts)
            bags = weigh(counts, gamma, title_weight=title_weight)
            files["bag_starts"].write(bags.starts[1:] + files["bag_words"].count)
            files["bag_words"].write(bags.words)
            files["weights"].write(bags.weights)
            if len(bags):
                ids_with_one, vectors = content.document_vectors.of(ids, bags, counts.lengths(title_weight))
                files[VECTOR_IDS].write(ids_with_one)
                files[DOCUMENT_VECTORS].write(vectors)
            flat = flat and not terms.ranks.any()
    sizes = {name: file.count for name, file in files.items()}
    for name in OMITTED_IF_UNRANKED if flat else ():
        (path / name).unlink()
        del sizes[name]
    return sizes


def _write_first_stage(path: Path, named: str, n: int, made: DocumentVectors) -> str:
    """Index the documents' vectors, and remove their files if they can be computed again; return the factory string."""
    dim = made.dim
    vectors = map_array(path / DOCUMENT_VECTORS, "<f4", (n, dim))
    factory = faiss_index.choose_factory(n, dim) if named == AUTO_INDEX else named
    ids = map_array(path / VECTOR_IDS, "<i8", (n,))
    used = faiss_index.build(factory, ids, vectors, path / FIRST_STAGE, products=made.products)
    del ids, vectors  # mapped files cannot be removed everywhere
    for name in () if made.kept else VECTOR_FILES:
        (path / name).unlink()
    return used
