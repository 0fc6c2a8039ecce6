"""Sets of documents and queries with relevance judgments, and the mean average precision of rankings of them.

A document is its text, preceded by its title unless the text begins with it. No word is stemmed.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank import Embedding
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.rerank.evaluation.measures import Judgments, average_precision, join_run
from moverank.rerank.testing.sample_counts import Counted, Counts
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.benchmarks.common import gzip_records

SETS = ("cranfield", "cisi", "med", "scifact")
Rankings = Mapping[str, Sequence[str]]
"""The keys of ranked documents by query, best first."""


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalSet:
    """Keys and word counts of documents, word counts of queries by id, and the judgments."""

    keys: Sequence[str]
    documents: Sequence[Counts]
    queries: Mapping[str, Counts]
    judgments: Judgments

    @classmethod
    def read(cls, folder: Path, tokenizer: Tokenizer) -> "RetrievalSet":
        """Read a folder of `docs.jsonl.gz`, `queries.jsonl` and `qrels.tsv`."""
        keys, documents = count_documents(folder / "docs.jsonl.gz", tokenizer)
        lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        queries = {record["id"]: tokenizer.count(record["text"]) for record in map(json.loads, lines)}
        return cls(keys, documents, queries, Judgments(read_qrels(str(folder / "qrels.tsv"))))

    @property
    def judged_queries(self) -> dict[str, Counts]:
        """Return the queries that have a relevant document."""
        return {query: self.queries[query] for query in self.judgments.queries}

    def counted(self, embedding: Embedding | None) -> Counted:
        """Return the documents with the word vectors of their terms and of those of the queries."""
        return Counted(self.documents, word_vectors([*self.documents, *self.queries.values()], embedding))

    def mean_average_precision(self, rankings: Rankings) -> float:
        """Return the mean over the judged queries; a query without a ranking counts 0."""
        return statistics.fmean(map(average_precision, join_run(self.judgments, rankings).values()))


def count_documents(path: Path, tokenizer: Tokenizer) -> tuple[list[str], list[Counts]]:
    """Return the keys and the word counts of the documents of a gzipped file of JSON lines."""
    keys: list[str] = []
    documents: list[Counts] = []
    for record in gzip_records(path):
        title, text = record.get("title", ""), record["text"]
        keys.append(record["id"])
        documents.append(tokenizer.count(text if text.startswith(title) else f"{title}\n{text}"))
    return keys, documents


def word_vectors(texts: Sequence[Counts], embedding: Embedding | None) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of the terms of texts, as far as the embedding has them."""
    if embedding is None:
        return {}
    terms = sorted({term for text in texts for term in text})
    rows = embedding.find(terms)
    return {term: embedding.vectors[row] for term, row in zip(terms, rows.tolist(), strict=True) if row != UNKNOWN}


def order(scores: NDArray[np.float64], *, ascending: bool) -> list[int]:
    """Return the indices of documents, best first; ties keep their order. `ascending`: smaller scores are better."""
    indices: list[int] = np.argsort(scores if ascending else -scores, kind="stable").tolist()
    return indices


def write_trec(folder: Path, name: str, judgments: Judgments, runs: Iterable[tuple[str, Rankings]]) -> None:
    """Write judgments and runs to `folder`/`name` in the format of trec_eval.

    `runs` are labels and rankings. The score of a document is the reciprocal of its rank, so there are no ties.
    """
    directory = folder / name
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "qrels").open("w", encoding="utf-8") as file:
        for query in judgments.queries:
            relevant = sorted(key for key, grade in judgments.grades[query].items() if grade > 0)
            file.writelines(f"{query} 0 {key} 1\n" for key in relevant)
    for label, rankings in runs:
        with (directory / label.replace(" ", "_")).open("w", encoding="utf-8") as file:
            for query in judgments.queries:
                for rank, key in enumerate(rankings.get(query, ()), 1):
                    file.write(f"{query} Q0 {key} {rank} {1 / rank!r} {name}\n")
