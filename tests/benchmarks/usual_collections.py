"""Collections of the real data as `moverank index` and `moverank threads` make them, with the real word vectors."""

from pathlib import Path
from typing import Any

from moverank import Collection, Settings
from moverank.indexer.reading import read_documents, read_threads
from moverank.indexer.values.ranking_spec import PAPER_GAMMA
from tests.benchmarks.common import real, vectors


def documents_of(name: str) -> Path:
    """Return the file of the threads of a data set, or of its documents."""
    threads = real("data", name) / "threads.jsonl.gz"
    return threads if threads.exists() else real("data", name, "docs.jsonl.gz")


def usual_collection(path: Path, source: Path, **choices: Any) -> Path:
    """Return `path`, a collection of a file of documents or threads, made unless it is there.

    `choices` are further settings, in the place of the real word vectors, too.
    """
    if Collection.exists(path):
        return path
    is_forum = source.name.startswith("threads")
    settings: dict[str, Any] = {"embedding": str(vectors()), "gamma": PAPER_GAMMA if is_forum else 0.0}
    with Collection.create(path, Settings(**settings | choices)) as collection:
        collection.index((read_threads if is_forum else read_documents)([str(source)]))
    return path
