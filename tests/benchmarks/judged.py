"""Sets of documents and queries with judgments, and the precision of rankings of them.

A document is its text, with its title before it where the text does not begin with it already. No word is stemmed.
"""

import gzip
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.rerank.scorers.counted import Counted, Counts

SETS = ("cranfield", "cisi", "med", "scifact")
Rankings = Mapping[str, Sequence[str]]
"""The keys of documents by query, nearest first."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSet:
    """Counted documents with their keys, counted queries by id, and the keys of the relevant documents of each."""

    keys: Sequence[str]
    documents: Sequence[Counts]
    queries: Mapping[str, Counts]
    relevant: Mapping[str, AbstractSet[str]]

    @classmethod
    def read(cls, folder: Path, tokenizer: Tokenizer) -> "JudgedSet":
        """Read a folder of `docs.jsonl.gz`, `queries.jsonl` and `qrels.tsv`."""
        keys, documents = read_documents(folder / "docs.jsonl.gz", tokenizer)
        lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        queries = {record["id"]: tokenizer.count(record["text"]) for record in map(json.loads, lines)}
        relevant: dict[str, set[str]] = defaultdict(set)
        for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
            query, _, key, grade = line.split("\t")
            if int(grade) > 0:
                relevant[query].add(key)
        return cls(keys, documents, queries, relevant)

    def collection(self, embedding: Embedding | None) -> Counted:
        """Return the documents with the word vectors of all terms, of the queries' too."""
        return Counted(self.documents, word_vectors([*self.documents, *self.queries.values()], embedding))

    def precision(self, rankings: Rankings) -> float:
        """Return the mean average precision over the queries with a relevant document, 0 for one without a ranking."""
        found = []
        for query, relevant in self.relevant.items():
            flags = [key in relevant for key in rankings.get(query, ())]
            found.append(average_precision(flags, len(relevant)))
        return statistics.fmean(found)


def read_documents(path: Path, tokenizer: Tokenizer) -> tuple[list[str], list[Counts]]:
    """Return the keys and the counts of documents."""
    keys: list[str] = []
    documents: list[Counts] = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for record in map(json.loads, file):
            title, text = record.get("title", ""), record["text"]
            keys.append(record["id"])
            documents.append(tokenizer.count(text if text.startswith(title) else f"{title}\n{text}"))
    return keys, documents


def word_vectors(texts: Sequence[Counts], embedding: Embedding | None) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of the terms of texts, those that the embedding has."""
    if embedding is None:
        return {}
    terms = sorted({term for text in texts for term in text})
    rows = embedding.find(terms)
    return {term: embedding.vectors[row] for term, row in zip(terms, rows.tolist(), strict=True) if row != UNKNOWN}


def average_precision(relevant: Sequence[bool] | NDArray[np.bool_], wanted: int) -> float:
    """Return the mean over `wanted` relevant documents of the precision at the rank of each, 0 for those not ranked.

    `relevant` says in the order of the ranking which documents are.
    """
    ranks = np.flatnonzero(relevant) + 1
    return float(np.sum(np.arange(1, len(ranks) + 1) / ranks)) / wanted


def order(scores: NDArray[np.float64], ascending: bool) -> NDArray[np.intp]:
    """Return the places of documents, nearest first; equal scores keep their order."""
    return np.argsort(scores if ascending else -scores, kind="stable")


def write_trec(folder: Path, name: str, judged: JudgedSet, runs: Iterable[tuple[str, Rankings]]) -> None:
    """Write judgments and runs of a set as trec_eval reads them; a score is the rank's, so that none are equal."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    with (place / "qrels").open("w", encoding="utf-8") as file:
        file.writelines(f"{query} 0 {key} 1\n" for query, keys in judged.relevant.items() for key in sorted(keys))
    for label, rankings in runs:
        with (place / label.replace(" ", "_")).open("w", encoding="utf-8") as file:
            for query in judged.relevant:
                for rank, key in enumerate(rankings.get(query, ()), 1):
                    file.write(f"{query} Q0 {key} {rank} {1 / rank!r} {place.name}\n")
