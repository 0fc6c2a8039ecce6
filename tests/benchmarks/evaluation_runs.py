"""Runs of the evaluation on the real data: indexing a data set, and measuring methods on it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from moverank import Collection, Document, Rejection, Settings
from moverank.indexer.formatters.progress import Bars
from moverank.indexer.plugins.laboratory.evaluating import BoundsExperiment, KnnExperiment, RetrievalExperiment
from moverank.indexer.plugins.laboratory.method import Table
from moverank.indexer.reading import read_documents, read_threads
from tests.benchmarks.common import real, vectors

Run = Callable[[Path, Bars], Table]
"""Measures something, with its collection in a work directory, and returns the table."""


def collection(work: Path, name: str, *, questions: bool = False, title_weight: int = 1) -> Path:
    """Index the data set `name` below `work` unless this was done before, and return the path of the collection.

    `questions`: index only title and body of threads. `title_weight`: number of times that the words of titles count.
    """
    path, folder = work / (f"{name}-questions" if questions else name), real("data", name)
    if Collection.exists(path):
        return path
    settings = Settings(embedding=str(vectors()), title_weight=title_weight, rank="")
    threads, documents = folder / "threads.jsonl.gz", folder / "docs.jsonl.gz"
    with Bars() as bars, Collection.create(path, settings) as created:
        records = read_threads([str(threads)]) if threads.exists() else read_documents([str(documents)])
        created.index(map(_question, records) if questions else records, progress=bars)
    return path


def _question(thread: Document | Rejection) -> Document | Rejection:
    """Remove all posts but the opening one; the title remains."""
    if isinstance(thread, Rejection):
        return thread
    return replace(thread, parts=tuple(part for part in thread.parts[:1] if part.rank == 0))


def retrieval(
    name: str,
    methods: tuple[str, ...],
    qrels: str = "qrels.tsv",
    *,
    questions: bool = False,
    title_weight: int = 1,
    **options: Any,
) -> Run:
    """Return a function which measures methods by the judged queries of the data set `name`.

    `qrels`: its file of judgments. `questions` and `title_weight` as of `collection`. `options`: those of
    `RetrievalExperiment`, files by name.
    """

    def run(work: Path, bars: Bars) -> Table:
        for key in ("queries", "candidates", "train"):
            if key in options:
                options[key] = str(real("data", name, Path(options[key]).name))
        path = collection(work, name, questions=questions, title_weight=title_weight)
        options.setdefault("cutoff", "all")  # the papers' figures are of whole rankings
        return RetrievalExperiment(qrels=str(real("data", name, qrels)), methods=methods, **options).run(path, bars)

    return run


def knn(name: str, methods: tuple[str, ...]) -> Run:
    """Return a function which classifies the documents of the data set `name` by each method."""
    return lambda work, bars: KnnExperiment(methods=methods).run(collection(work, name), bars)


def bounds(name: str, table: int) -> Run:
    """Return a function which compares the bounds on a data set; `table` 0 is their tightness, 1 prefetch and prune."""
    return lambda work, bars: BoundsExperiment(sample=50, depths=bool(table)).run(collection(work, name), bars)
