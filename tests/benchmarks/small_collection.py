"""A small synthetic collection for the scripts about crashes and damage: its documents, and its answers.

Import this before numpy: see `child_process`.
"""

from tests.benchmarks.child_process import run_in_child  # isort: split

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from moverank import Collection, Document, SearchOptions
from moverank.indexer.snapshot import compaction
from moverank.rerank.runtime.thread_pool import single_threaded
from tests.indexer.world import WORDS, CollectionFactory, document
from tests.postgres_store import copied, new_place, removed

QUERIES = ("ant bee cat", "dog elk fox gnu", "hen ibis", "jay kiwi lark ant")

Answers = list[list[tuple[str, float]]]
"""The rounded results of several searches; equal for collections of the same documents."""


def prepare() -> None:
    """Make almost every change write a new snapshot, suppress logging, and load libraries and compiled kernels.

    Child processes inherit what is loaded. One thread loads it: a process that has threads must not be forked.
    """
    compaction.SMALL_TAIL = 3
    logging.getLogger("moverank").addHandler(logging.NullHandler())
    with TemporaryDirectory() as name, single_threaded():
        settings = CollectionFactory(Path(name)).settings()
        with Collection.create(Path(name) / "collection", settings) as collection:
            collection.index(documents(range(40), 0))
            answers(collection)


def text(i: int, revision: int) -> str:
    """Return the text of document `i`, with other words in another revision."""
    n = len(WORDS)
    return " ".join(WORDS[(i * step + revision * (1 + i % 5)) % n] for step in (1, 3, 5, 7))


def documents(numbers: Sequence[int], revision: int) -> list[Document]:
    """Return the documents `numbers` in a revision, which is their title."""
    return [document(f"d{i}", text(i, revision), text(i + 1, revision), title=str(revision)) for i in numbers]


def answers(collection: Collection) -> Answers:
    """Return the hits of exact searches with their distances, and whether searches by candidates are sorted."""
    results = []
    for query in QUERIES:
        for options in (SearchOptions(k=200), SearchOptions(k=5, depth=9)):
            hits = collection.search(query, options).hits
            results.append(sorted((hit.key, round(hit.distance, 9)) for hit in hits) if options.depth is None else [])
            nearest = [round(hit.distance, 9) for hit in hits]
            results[-1].append(("sorted", float(nearest == sorted(nearest))))
    return results


def answers_from_scratch(empty: Path, state: Sequence[Document]) -> Answers:
    """Return the answers of a new collection of the documents `state`: a copy of the `empty` collection."""
    path = empty.with_name(f"scratch-{os.getpid()}")
    copied(empty, path)
    try:
        with Collection.open(path) as collection:
            collection.index(state)
            return answers(collection)
    finally:
        removed(path)


def reversed_vectors(directory: Path) -> Path:
    """Write the word vectors of `create` in reverse order, so that each word gets another row, and return the file."""
    path = directory / "reversed.txt"
    header, *lines = CollectionFactory(directory).vectors.read_text().splitlines()
    path.write_text("\n".join([header, *reversed(lines)]) + "\n")
    return path


def create(directory: Path, name: str, state: Sequence[Document]) -> Path:
    """Create a collection of the documents `state` below a directory, in a child process, and return its path."""

    def work() -> str:
        settings = CollectionFactory(directory).settings()
        with Collection.create(new_place(directory / name), settings) as collection:
            collection.index(state)
        return ""

    if failure := run_in_child(work):
        raise RuntimeError(failure)
    return directory / name


def temporary_files(path: Path) -> list[str]:
    """Return the names of temporary files that a collection's directory contains."""
    return [file.name for file in path.iterdir() if file.name.startswith((".", "new-", "lock.owner"))]
