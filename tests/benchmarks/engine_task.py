"""What vector engines and moverank are compared on: documents, queries and judgments, with vectors of both."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank import Collection, Document, Part
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.indexer.reading.inputs.queries import read_queries
from tests.benchmarks.common import gzip_records, real
from tests.benchmarks.usual_collections import documents_of, usual_collection
from tests.oracle import Oracle

NEWS, NEWS_DOCUMENTS, NEWS_QUERIES = "20news", 2000, 100

Qrels = dict[str, dict[str, int]]
"""The grades of relevant documents by query and key."""


@dataclass(frozen=True, slots=True)
class Query:
    """A judged query and its vector (d,). `own` is the key of the document that it is, which it must not find."""

    document: Document
    vector: NDArray[np.float32]
    own: str | None


@dataclass(frozen=True, slots=True)
class EngineTask:
    """A collection, the `keys` (n,) of the documents with a vector, their `vectors` (n, d), and judged queries.

    The vectors are centroids of the known words, scaled to unit length: they stand for those of any encoder.
    """

    collection: Collection
    keys: list[str]
    vectors: NDArray[np.float32]
    queries: list[Query]
    qrels: Qrels


@contextmanager
def engine_task(work: Path, name: str, limit: int | None, seed: int = 1) -> Iterator[EngineTask]:
    """Open the task of a data set, with at most `limit` queries; its collection is kept in `work`.

    20 Newsgroups has no judgments: of 2,000 of its training texts, those of a query's class are relevant.
    """
    oracle = Oracle()
    source = _some_news(work, seed) if name == NEWS else documents_of(name)
    with Collection.open(usual_collection(work / name, source)) as collection:
        documents = list(collection.documents())
        stored = {document.key: _vector(oracle, document) for document in documents}
        keys = [key for key, vector in stored.items() if vector is not None]
        judged, qrels = _judged_news(documents, seed) if name == NEWS else _judged(name)
        queries = [
            Query(document, vector, document.key if name.startswith("stackexchange") else None)
            for document in judged
            if document.key in qrels and (vector := _vector(oracle, document)) is not None
        ][:limit]
        kept = {query.document.key: qrels[query.document.key] for query in queries}
        yield EngineTask(collection, keys, np.array([stored[key] for key in keys]), queries, kept)


def _vector(oracle: Oracle, document: Document) -> NDArray[np.float32] | None:
    """Return the centroid (d,) of the known words of a document, of unit length; None without one."""
    words = oracle.words(" ".join([document.title, *(part.text for part in document.parts)]))
    centroid = np.mean([oracle.keyed[word] for word in words], axis=0) if words else np.zeros(1)
    length = float(np.linalg.norm(centroid))
    return (centroid / length).astype(np.float32) if length else None


def _judged(name: str) -> tuple[list[Document], Qrels]:
    folder = real("data", name)
    queries = [replace(document, key=id_) for id_, document in read_queries(str(folder / "queries.jsonl"))]
    return queries, read_qrels(str(folder / "qrels.tsv"))


def _judged_news(documents: list[Document], seed: int) -> tuple[list[Document], Qrels]:
    """Return texts of the test part, and those of the same class as relevant."""
    queries = [
        Document(record["id"], record["title"], (Part(record["text"]),), record["label"])
        for record in _news("test", NEWS_QUERIES, seed)
    ]
    return queries, {one.key: {other.key: 1 for other in documents if other.label == one.label} for one in queries}


def _some_news(work: Path, seed: int) -> Path:
    """Write texts of the training part."""
    path = work / f"{NEWS}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in _news("train", NEWS_DOCUMENTS, seed)))
    return path


def _news(split: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Return a sample of the records of one part of 20 Newsgroups."""
    records = [record for record in gzip_records(documents_of(NEWS)) if record["split"] == split]
    return [records[row] for row in np.random.default_rng(seed).permutation(len(records))[:count].tolist()]
