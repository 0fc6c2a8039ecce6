"""Shows mean average precision of every scorer on four judged sets, and how long a query takes on a larger one.

A document is its text, with its title before it where the text does not begin with it already. No word is stemmed;
stop words are left out. The whole collection is ranked; equal scores keep the order of the file. The mean is over the
queries that have a relevant document.
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from numpy.typing import NDArray

from indexer.vectors import import_vectors
from rerank import Embedding
from rerank.lexicon import UNKNOWN
from rerank.scorers import SCORERS
from rerank.text import Tokenizer, default_stop_words
from tests.benchmarks.common import real, show, show_table, vectors, verdict
from tests.rerank.scorers.counted import Counted, Counts

SETS = ("cranfield", "cisi", "med", "scifact")
BM25 = {"cranfield": 0.401, "cisi": 0.171, "med": 0.515, "scifact": 0.633}
"""What plain BM25 has to reach, within `ALLOWED`."""
ALLOWED = 0.02
VARIANTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("bow", {}),
    ("bow", {"norm": "l2"}),
    ("tfidf", {}),
    ("tfidf", {"norm": "l2"}),
    ("bm25", {}),
    ("bm25", {"k3": "0"}),
    ("pl2", {}),
    ("translation", {}),
    ("translation", {"self": "0.5"}),
    ("translation", {"smoothing": "jelinek-mercer"}),
    ("translation", {"smoothing": "jelinek-mercer", "self": "0.5"}),
    ("interpolation", {}),
)
SPEED_SET = "20news"
SPEED_QUERIES = 40


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


def measured(judged: JudgedSet, collection: Counted, name: str, options: Mapping[str, str]) -> float:
    """Return the mean average precision of a scorer."""
    segment = collection.segment()
    scorer = segment.fit(name, options)
    found = []
    for query, relevant in judged.relevant.items():
        ranked = order(scorer.score(segment.query(judged.queries[query])), SCORERS[name].ascending)
        found.append(average_precision([judged.keys[row] in relevant for row in ranked.tolist()], len(relevant)))
    return statistics.fmean(found)


def label(name: str, options: Mapping[str, str]) -> str:
    """Name a scorer and its options."""
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def show_precision(embedding: Embedding, tokenizer: Tokenizer) -> None:
    """Print a row for each scorer, and whether BM25 is where it has to be."""
    sets = {name: JudgedSet.read(real("data", name), tokenizer) for name in SETS}
    collections = {name: judged.collection(embedding) for name, judged in sets.items()}
    rows: list[list[object]] = []
    for name, options in VARIANTS:
        figures = [measured(sets[each], collections[each], name, options) for each in SETS]
        aim = ""
        if name == "bm25":
            aim = " ".join(verdict(abs(f - BM25[each]) <= ALLOWED) for f, each in zip(figures, SETS, strict=True))
        rows.append([label(name, options), *(f"{figure:.4f}" for figure in figures), aim])
    rows.append(["target of bm25", *(f"{BM25[each]:.3f}" for each in SETS), f"within {ALLOWED}"])
    show("Mean average precision, no stemming.")
    for name, judged in sets.items():
        show(f"{name}: {len(judged.documents)} documents, {len(judged.relevant)} queries with a relevant one")
    show_table(("scorer", *SETS, ""), rows)


def show_speed(embedding: Embedding, tokenizer: Tokenizer) -> None:
    """Print how long fitting and a query take, with whole documents as queries."""
    _, documents = read_documents(real("data", SPEED_SET, "docs.jsonl.gz"), tokenizer)
    places = np.random.default_rng(0).permutation(len(documents)).tolist()
    queries = [documents[place] for place in places if 80 <= len(documents[place]) <= 100][:SPEED_QUERIES]
    segment = Counted(documents, word_vectors(documents, embedding)).segment()
    asked, (counts, given) = [segment.query(query) for query in queries], (segment.counts, segment.statistics)
    rows: list[list[object]] = []
    for name, options in VARIANTS:
        began = time.process_time()
        scorer = SCORERS[name].fit(counts, given, options)
        fitted = time.process_time() - began
        # The first query may pay for what is done once.
        began = time.process_time()
        scorer.score(asked[0])
        first, seconds = time.process_time() - began, []
        for query in asked[1:]:
            began = time.process_time()
            scorer.score(query)
            seconds.append(time.process_time() - began)
        times = [f"{1000 * value:.1f}" for value in (fitted, first, statistics.median(seconds), max(seconds))]
        rows.append([label(name, options), *times])
    show()
    show(
        f"{SPEED_SET}: {len(documents)} documents, {len(counts.terms)} postings, {len(segment.terms)} terms; "
        f"{len(queries)} queries of 80 to 100 terms. Milliseconds of computing, by all threads together."
    )
    show_table(("scorer", "fit", "first query", "median query", "slowest query"), rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=("both", "precision", "speed"), default="both", help="what to measure")
    table = parser.parse_args().table
    tokenizer = Tokenizer(default_stop_words())
    with TemporaryDirectory() as place:
        embedding = import_vectors(str(vectors()), Path(place, "vectors"))
        if table != "speed":
            show_precision(embedding, tokenizer)
        if table != "precision":
            show_speed(embedding, tokenizer)


if __name__ == "__main__":
    main()
