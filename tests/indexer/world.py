"""A small made world of words, and a collection's slow twin: a dictionary searched by brute force through POT."""

import math
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Collection, Document, Part, Settings
from moverank.indexer.documents import Metadata
from moverank.indexer.store import Store, sqlite_url
from moverank.rerank.ranking import Ranking
from moverank.rerank.words.tokenizer import Tokenizer

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lark"]
VECTORS = np.random.default_rng(11).standard_normal((len(WORDS), 4)).astype(np.float32)
TABLE = dict(zip(WORDS, VECTORS.astype(np.float64), strict=True))
NO_VECTOR = ("zorp", "quux")
STOP_WORDS = ("of", "the")
PAPER_GAMMA = 0.75


def document(
    key: str,
    *texts: str,
    ranks: Sequence[int] | None = None,
    title: str = "",
    label: str | None = None,
    metadata: Metadata | None = None,
) -> Document:
    """A document of those texts, ranked in the order given."""
    parts = zip(texts, range(len(texts)) if ranks is None else ranks, strict=True)
    return Document(key, title, tuple(Part(text, rank) for text, rank in parts), label, metadata or {})


def random_documents(n: int, seed: int = 0, words: int = 5) -> list[Document]:
    """Documents d0, d1, ... of random known words."""
    rng = np.random.default_rng(seed)
    return [document(f"d{i}", " ".join(rng.choice(WORDS, words))) for i in range(n)]


def known_words(parts: Sequence[Part]) -> set[str]:
    return {word for part in parts for word in part.text.split() if word in TABLE}


@dataclass(frozen=True)
class Bag:
    """Vectors (n, d) of a text's known words, and their weights (n,)."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def centroid(self) -> NDArray[np.float64]:
        centroid: NDArray[np.float64] = self.weights @ self.vectors
        return centroid


def far_apart(one: Bag, other: Bag, distance: str) -> float:
    """The distance of two bags by its definition."""
    cost = cdist(one.vectors, other.vectors)
    if distance == "wcd":
        return float(np.linalg.norm(one.centroid - other.centroid))
    if distance == "rwmd":
        return float(max(one.weights @ cost.min(axis=1), other.weights @ cost.min(axis=0)))
    return float(ot.emd2(one.weights, other.weights, cost))


@dataclass
class Twin:
    """What a collection should hold, and how far everything in it should be from a query."""

    documents: dict[str, Document] = field(default_factory=dict)
    weights: str = "tf"

    def add(self, documents: Sequence[Document]) -> None:
        self.documents |= {document.key: document for document in documents}

    def frequencies(self) -> dict[str, int]:
        """In how many documents each known word occurs."""
        return dict(Counter(word for document in self.documents.values() for word in known_words(document.parts)))

    def idf(self) -> dict[str, float]:
        """The idf of every word, 1 where plain counts are the weights."""
        if self.weights == "tf":
            return dict.fromkeys(WORDS, 1.0)
        found, n = self.frequencies(), len(self.documents)
        return {word: math.log((1 + n) / (1 + found.get(word, 0))) + 1 for word in WORDS}

    def bag(self, parts: Sequence[Part], gamma: float, idf: Mapping[str, float] | None = None) -> Bag | None:
        """The bag of those parts, None where they have no known word; `idf` where it is known already."""
        idf = idf or self.idf()
        amounts: dict[str, float] = dict.fromkeys(sorted(known_words(parts)), 0.0)
        for part in parts:
            for word in part.text.split():
                if word in amounts:
                    amounts[word] += (1 / (1 + part.rank)) ** gamma * idf[word]
        if not amounts:
            return None
        weights = np.array(list(amounts.values()))
        return Bag(np.array([TABLE[word] for word in amounts]), weights / weights.sum())

    def distances(self, query: str | Document, distance: str = "wmd", gamma: float = 0.0) -> dict[str, float]:
        """Return the distance of every document that can be ranked, by key."""
        parts = (Part(query),) if isinstance(query, str) else query.parts
        idf = self.idf()
        wanted = self.bag(parts, gamma, idf)
        if wanted is None:
            raise ValueError("the query has no known word")
        bags = {document.key: self.bag(document.parts, gamma, idf) for document in self.documents.values()}
        return {key: far_apart(wanted, bag, distance) for key, bag in bags.items() if bag}


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def check_exact(ranking: Ranking, expected: Mapping[str, float], k: int) -> None:
    """The hits are the nearest k, with their distances, in order; equally near ones may stand in any."""
    check_honest(ranking, expected, k)
    nearest = sorted(expected.values())[:k]
    assert len(ranking.hits) == len(nearest)
    assert all(close(hit.distance, best) for hit, best in zip(ranking.hits, nearest, strict=True))


def check_honest(ranking: Ranking, expected: Mapping[str, float], k: int) -> None:
    """Every hit is a document that may be found, at its true distance, and what is certified is true."""
    keys = [hit.key for hit in ranking.hits]
    assert len(set(keys)) == len(keys) <= k
    distances = [hit.distance for hit in ranking.hits]
    assert distances == sorted(distances)
    for hit in ranking.hits:
        assert close(hit.distance, expected[hit.key]), f"{hit} is {expected[hit.key]} away"
    assert ranking.scope == "collection" or not ranking.certified
    assert ranking.largest_error >= 0
    if len(keys) == k:
        too_far = distances[-1] - sorted(expected.values())[k - 1]
        assert too_far <= ranking.largest_error or close(too_far, ranking.largest_error)
    if ranking.certified:
        assert ranking.largest_error == 0
        last = distances[-1] if len(keys) == k else math.inf
        others = [distance for key, distance in expected.items() if key not in keys]
        assert all(other >= last or close(other, last) for other in others)


class Workshop:
    """Makes collections over the made world: one of each kind, the others are copies of it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.vectors = place / "vectors.txt"
        lines = [f"{word} {' '.join(map(repr, map(float, row)))}" for word, row in zip(WORDS, VECTORS, strict=True)]
        self.vectors.write_text("\n".join([f"{len(WORDS)} {VECTORS.shape[1]}", *lines]) + "\n")
        self._numbers = count()
        self._made: dict[str, Path] = {}

    def settings(self, **choices: Any) -> Settings:
        return Settings(**({"embedding": str(self.vectors), "stop_words": STOP_WORDS} | choices))

    def path(self) -> Path:
        """A place where nothing is yet."""
        return self.place / f"collection-{next(self._numbers)}"

    def empty(self, **choices: Any) -> Collection:
        """Open a new collection; whoever asked closes it."""
        settings = self.settings(**choices)
        name = repr(settings)
        if name not in self._made:
            self._made[name] = self.path()
            Collection.create(self._made[name], settings).close()
        path = self.path()
        shutil.copytree(self._made[name], path)
        return Collection.open(path)


def store_of(collection: Collection) -> Store:
    """A second connection to a collection's database."""
    return Store(sqlite_url(collection.path / "collection.db"))


def stored_frequencies(collection: Collection) -> dict[str, int]:
    """The document frequencies of known words as they are stored, those of no document left out."""
    store = store_of(collection)
    with store.reading() as reader:
        words = {row.id: row.word for row in reader.vocabulary()}
        found = {words[id_]: frequency for id_, frequency in reader.frequencies() if frequency}
    store.close()
    return found


def stored_parts(collection: Collection, key: str) -> list[tuple[Any, ...]]:
    """The rows of a document's parts."""
    store = store_of(collection)
    with store.reading() as reader:
        id_ = reader.known([key])[key].id
        rows = [tuple(row) for row in reader.parts([id_]).get(id_, [])]
    store.close()
    return rows


def snapshots(collection: Collection) -> list[str]:
    return sorted(path.name for path in collection.path.glob("snapshot-*"))


def record_counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is read for words from now on, as it comes."""
    read: list[str] = []
    count_words = Tokenizer.count

    def recorded(tokenizer: Tokenizer, text: str) -> Counter[str]:
        read.append(text)
        return count_words(tokenizer, text)

    monkeypatch.setattr(Tokenizer, "count", recorded)
    return read
