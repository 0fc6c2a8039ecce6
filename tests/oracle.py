"""Comparison of exact search with brute force by POT, on real texts.

The oracle reads the raw records itself, takes the vectors from gensim's reader, and solves every transport problem
without pruning. It shares only the tokenizer with `rerank`, because the splitting of words is a convention.
"""

import gzip
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ot
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Collection, Settings
from moverank.indexer.reading import read_documents, read_threads
from moverank.rerank.ranking import Ranking
from moverank.rerank.words.tokenizer import Tokenizer, stop_words

SHARED = Path(__file__).parents[2] / "shared"
VECTORS = SHARED / "vectors" / "minilm-words-200d.bin"
FILES = {"r8": "docs.jsonl.gz", "bbcsport": "docs.jsonl.gz", "twinfilms": "threads.jsonl.gz"}
GAMMAS = (0.0, 0.75)
RELATIVE = 1e-6
"""Largest allowed relative difference of a distance from brute force."""
TIE = 1e-9
"""Distances whose relative difference is at most this are ties: their order is not checked."""

Distances = dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Known words of a document: vectors (n, d) float64, and for each rank the counts of the words (n,)."""

    vectors: NDArray[np.float64]
    counts: dict[int, NDArray[np.float64]]

    @property
    def has_one_rank(self) -> bool:
        """Whether all words have the same rank: their weights do not depend on gamma."""
        return len(self.counts) == 1

    def weights(self, gamma: float) -> NDArray[np.float64]:
        """Return w_i ~ sum_p (1 / (1 + r_p))^gamma c_pi, summing to 1."""
        raw = np.zeros(len(self.vectors))
        for rank, counts in self.counts.items():
            raw += (1 / (1 + rank)) ** gamma * counts
        return raw / math.fsum(raw)


class Oracle:
    """Counts the words of texts over a table of word vectors, and computes distances by brute force."""

    def __init__(self, vectors: Path = VECTORS) -> None:
        self.keyed: Any = KeyedVectors.load_word2vec_format(str(vectors), binary=True)
        self.tokenizer = Tokenizer(stop_words())

    def words(self, text: str) -> list[str]:
        """Return the words of a text that have a vector, in order."""
        return [word for word in self.tokenizer.words(text) if word in self.keyed.key_to_index]

    def count(self, parts: Sequence[tuple[str, int]]) -> Counted | None:
        """Count the words of texts with their ranks; None if no word is known."""
        split = [(self.words(text), rank) for text, rank in parts]
        ids = {word: i for i, word in enumerate(sorted({word for words, _ in split for word in words}))}
        counts = {rank: np.zeros(len(ids)) for _, rank in split}
        for words, rank in split:
            for word in words:
                counts[rank][ids[word]] += 1
        vectors = [self.keyed[word].astype(np.float64) for word in ids]
        return Counted(np.array(vectors), counts) if ids else None

    def distances(self, query: Counted, documents: Mapping[str, Counted]) -> dict[float, Distances]:
        """Return the distance of the query to each document, for each of `GAMMAS`."""
        found: dict[float, Distances] = {gamma: {} for gamma in GAMMAS}
        for key, document in documents.items():
            cost = cdist(query.vectors, document.vectors)
            for gamma in GAMMAS:
                if gamma != GAMMAS[0] and query.has_one_rank and document.has_one_rank:
                    found[gamma][key] = found[GAMMAS[0]][key]  # the same problem
                    continue
                weights = query.weights(gamma), document.weights(gamma)
                found[gamma][key] = float(ot.emd2(*weights, cost, numItermax=10**7))
        return found


@dataclass(frozen=True, slots=True)
class Sample:
    """Raw lines of a data set with their records, in random order."""

    name: str
    lines: tuple[bytes, ...]

    @classmethod
    def of(cls, name: str, seed: int) -> "Sample":
        """Shuffle a data set."""
        with gzip.open(SHARED / "data" / name / FILES[name]) as file:
            lines = file.readlines()
        return cls(name, tuple(lines[i] for i in np.random.default_rng(seed).permutation(len(lines)).tolist()))

    def split(self, size: int) -> tuple["Sample", "Sample"]:
        """Return the first lines and the others."""
        return Sample(self.name, self.lines[:size]), Sample(self.name, self.lines[size:])

    def parts(self) -> dict[str, list[tuple[str, int]]]:
        """Return texts and ranks by key, without titles: in these data sets every text begins with its title."""
        records = [json.loads(line) for line in self.lines]
        if self.name == "twinfilms":
            return {record["id"]: [(c["text"], c["rank"]) for c in record["comments"]] for record in records}
        return {record["id"]: [(record["text"], 0)] for record in records}

    def texts(self) -> dict[str, str]:
        """Return the whole text of each record by key."""
        return {key: "\n".join(text for text, _ in parts) for key, parts in self.parts().items()}

    def indexed(self, directory: Path) -> Collection:
        """Index the lines as a user would, a part of them later, so that a large collection has a tail."""
        directory.mkdir()
        read = read_threads if self.name == "twinfilms" else read_documents
        settings = Settings(embedding=str(VECTORS), title_weight=1, rank="")
        collection = Collection.create(directory / "collection", settings)
        most = 4 * len(self.lines) // 5
        for name, lines in (("most", self.lines[:most]), ("rest", self.lines[most:])):
            file = directory / f"{name}.jsonl"
            file.write_bytes(b"".join(lines))
            collection.index(read([str(file)]))
        return collection


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an exact ranking differs from brute force.

    `difference` is the largest relative difference of a distance; `misplaced` counts the ranks whose document is not as
    near as the one of brute force, and the empty ranks. `seconds` is the time of the library, `brute_seconds` that of
    the oracle for all of `GAMMAS`.
    """

    gamma: float
    documents: int
    difference: float
    misplaced: int
    certified: bool
    seconds: float
    brute_seconds: float

    @property
    def holds(self) -> bool:
        """Whether the ranking is correct."""
        return self.difference <= RELATIVE and not self.misplaced and self.certified


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A collection, its documents as counted by the oracle and as texts, and `texts` that it does not contain."""

    oracle: Oracle
    collection: Collection
    documents: dict[str, Counted]
    stored: dict[str, str]
    texts: list[str]

    @classmethod
    @contextmanager
    def opened(cls, oracle: Oracle, sample: Sample, size: int, directory: Path) -> Iterator["Problem"]:
        """Index the first `size` documents of `sample` below `directory`; the others are the texts."""
        stored, others = sample.split(size)
        counted = {key: oracle.count(parts) for key, parts in stored.parts().items()}
        known = {key: found for key, found in counted.items() if found}
        own, texts = stored.texts(), others.texts().values()
        with stored.indexed(directory) as collection:
            yield cls(oracle, collection, known, own, [text for text in texts if oracle.words(text)])

    def similar(self, key: str, k: int) -> Iterator[Verdict]:
        """Search for the documents nearest to a stored one, at each gamma."""
        others = {other: counted for other, counted in self.documents.items() if other != key}
        yield from self._compare(
            lambda gamma: self.collection.similar(key, k=k, exact=True, gamma=gamma), self.documents[key], others, k
        )

    def search(self, text: str, k: int) -> Iterator[Verdict]:
        """Search for the documents nearest to a text, at each gamma."""
        query = self.oracle.count([(text, 0)])
        if query is None:
            raise ValueError("the text has no known word")
        yield from self._compare(
            lambda gamma: self.collection.search(text, k=k, exact=True, gamma=gamma), query, self.documents, k
        )

    def _compare(
        self, search: Callable[[float], Ranking], query: Counted, documents: Mapping[str, Counted], k: int
    ) -> Iterator[Verdict]:
        began = time.perf_counter()
        distances = self.oracle.distances(query, documents)
        brute_seconds = time.perf_counter() - began
        for gamma in GAMMAS:
            began = time.perf_counter()
            ranking = search(gamma)
            seconds = time.perf_counter() - began
            difference, misplaced = compare(ranking, distances[gamma], k)
            certified = ranking.certified and ranking.scope == "collection"
            yield Verdict(gamma, len(documents), difference, misplaced, certified, seconds, brute_seconds)


def compare(ranking: Ranking, distances: Distances, k: int) -> tuple[float, int]:
    """Return `Verdict.difference` and `Verdict.misplaced` of a ranking, given the distances of all documents."""
    best = sorted(distances.values())[:k]
    found = [(hit.distance, distances.get(hit.key, math.inf)) for hit in ranking.hits]
    wrong = sum(_relative(exact, expected) > TIE for (_, exact), expected in zip(found, best, strict=False))
    repeated = len(found) - len({hit.key for hit in ranking.hits})
    difference = max((_relative(reported, exact) for reported, exact in found), default=0.0)
    return difference, wrong + repeated + abs(len(best) - len(found))


def _relative(distance: float, exact: float) -> float:
    """Return the relative difference; if the exact distance is 0 up to rounding, 0 for agreement and 1 otherwise."""
    if math.isinf(exact) or math.isinf(distance):
        return math.inf
    return abs(distance - exact) / exact if exact > 1e-12 else float(abs(distance) > 1e-12)
