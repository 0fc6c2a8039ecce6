"""A synthetic vocabulary with documents over it, and the naive twin of a collection: brute force through POT."""

import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, count
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import ot
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Collection, Document, Part, Settings
from moverank.indexer.indexing.word_counts import EncodedCounts, WordCounter
from moverank.indexer.search.counted_query import RankedCounts, TextCounter
from moverank.indexer.store import Writer
from moverank.indexer.values.documents import Metadata
from moverank.indexer.values.queries import QueryText
from moverank.indexer.values.search_options import Progress
from moverank.rerank.ranking import Ranking

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lark"]
VECTORS = np.random.default_rng(11).standard_normal((len(WORDS), 4)).astype(np.float32)
TABLE = dict(zip(WORDS, VECTORS.astype(np.float64), strict=True))
NO_VECTOR = ("zorp", "quux")
STOP_WORDS = ("of", "the")
PAPER_GAMMA = 0.75

MakeCollection = Callable[..., Collection]
"""Type of the fixture `make_collection`: documents, if any, settings by name -> a collection."""


def document(
    key: str,
    *texts: str,
    ranks: Sequence[int] | None = None,
    title: str = "",
    label: str | None = None,
    metadata: Metadata | None = None,
) -> Document:
    """Return a document of those texts, ranked in the order given; its title is shown, but not counted."""
    pairs = zip(texts, range(len(texts)) if ranks is None else ranks, strict=True)
    parts = tuple(Part(text, rank) for text, rank in pairs)
    return Document(key, title, parts, label, metadata or {}, title_counts=False)


def random_documents(n: int, *posts: str, seed: int = 0, words: int = 5) -> list[Document]:
    """Return documents d0, d1, ... of so many random words with a vector; all of them have the same further posts."""
    rng = np.random.default_rng(seed)
    return [document(f"d{i}", " ".join(rng.choice(WORDS, words)), *posts) for i in range(n)]


def known_words(parts: Sequence[Part]) -> set[str]:
    """Return the words of some parts that have a vector."""
    return {word for part in parts for word in part.text.split() if word in TABLE}


@dataclass(frozen=True)
class Bag:
    """The words of a text that have a vector, and their weights."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def vectors(self) -> NDArray[np.float64]:
        """Return the vectors (n, d) of the words."""
        return np.array([TABLE[word] for word in self.words])

    @property
    def centroid(self) -> NDArray[np.float64]:
        """Return the centroid (d,) of the words."""
        centroid: NDArray[np.float64] = np.array(self.weights) @ self.vectors
        return centroid


@cache
def bag_distance(one: Bag, other: Bag, distance: str) -> float:
    """Return the distance of two bags by its definition (Kusner et al. 2015)."""
    cost = cdist(one.vectors, other.vectors)
    if distance == "wcd":
        return float(np.linalg.norm(one.centroid - other.centroid))
    sides = np.array(one.weights) @ cost.min(axis=1), np.array(other.weights) @ cost.min(axis=0)
    relaxed = {"rwmd": max(sides), "chamfer": sum(sides), "cover": sides[0]}
    if distance in relaxed:
        return float(relaxed[distance])
    return float(ot.emd2(np.array(one.weights), np.array(other.weights), cost))


@dataclass
class Twin:
    """The expected content of a collection, and the expected distance of each of its documents from a query."""

    documents: dict[str, Document] = field(default_factory=dict)
    weights: str = "tf"

    @classmethod
    def of(cls, documents: Iterable[Document], weights: str = "tf") -> Self:
        """Return the twin of a collection of those documents."""
        return cls({document.key: document for document in documents}, weights)

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents, or replace those of the same keys."""
        self.documents |= {document.key: document for document in documents}

    def frequencies(self) -> dict[str, int]:
        """Return the document frequency of each word with a vector."""
        return dict(Counter(word for document in self.documents.values() for word in known_words(document.parts)))

    def idf(self) -> dict[str, float]:
        """Return the idf of every word, 1 for plain counts."""
        if self.weights == "tf":
            return dict.fromkeys(WORDS, 1.0)
        frequencies, n = self.frequencies(), len(self.documents)
        return {word: math.log((1 + n) / (1 + frequencies.get(word, 0))) + 1 for word in WORDS}

    def bag(self, parts: Sequence[Part], gamma: float, idf: Mapping[str, float] | None = None) -> Bag | None:
        """Return the bag of those parts, None if no word has a vector; `idf` None: that of the documents."""
        idf = idf or self.idf()
        amounts: dict[str, float] = dict.fromkeys(sorted(known_words(parts)), 0.0)
        for part in parts:
            for word in part.text.split():
                if word in amounts:
                    amounts[word] += (1 / (1 + part.rank)) ** gamma * idf[word]
        if not amounts:
            return None
        weights = np.array(list(amounts.values()))
        return Bag(tuple(amounts), tuple((weights / weights.sum()).tolist()))

    def distances(self, query: str | Document, distance: str = "wmd", gamma: float = 0.0) -> dict[str, float]:
        """Return the distance of every document that has a bag, by key; ValueError for a query without one."""
        parts = (Part(query),) if isinstance(query, str) else query.parts
        idf = self.idf()
        query_bag = self.bag(parts, gamma, idf)
        if query_bag is None:
            raise ValueError("no word of the query has a vector")
        bags = {document.key: self.bag(document.parts, gamma, idf) for document in self.documents.values()}
        return {key: bag_distance(query_bag, bag, distance) for key, bag in bags.items() if bag}


def pair_distances(twin: Twin) -> dict[frozenset[str], float]:
    """Return the distance of every two documents that have a bag."""
    idf = twin.idf()
    bags = {key: bag for key, one in twin.documents.items() if (bag := twin.bag(one.parts, 0.0, idf))}
    return {frozenset(pair): bag_distance(bags[pair[0]], bags[pair[1]], "wmd") for pair in combinations(bags, 2)}


def typical(values: Iterable[float]) -> float:
    """Return the unit of a distance: the median of the values without those near 0, as of copies of a query."""
    every = list(values)
    return float(f"{np.median([value for value in every if value >= 0.35 * max(every)]):.3g}")


def nearly_equal(one: float, other: float) -> bool:
    """Return whether two distances agree up to rounding."""
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def check_exact(ranking: Ranking, expected: Mapping[str, float], k: int) -> None:
    """Check that the hits are the k nearest documents with their distances, nearest first; ties in any order."""
    check_sound(ranking, expected, k)
    nearest = sorted(expected.values())[:k]
    assert len(ranking.hits) == len(nearest)
    assert all(nearly_equal(hit.distance, best) for hit, best in zip(ranking.hits, nearest, strict=True))


def check_sound(ranking: Ranking, expected: Mapping[str, float], k: int) -> None:
    """Check that every hit is an expected document at its distance, and that certificate and error bound hold."""
    keys = [hit.key for hit in ranking.hits]
    assert len(set(keys)) == len(keys) <= k
    distances = [hit.distance for hit in ranking.hits]
    assert distances == sorted(distances)
    for hit in ranking.hits:
        assert nearly_equal(hit.distance, expected[hit.key]), f"{hit}, expected {expected[hit.key]}"
    assert ranking.scope == "collection" or not ranking.certified
    assert ranking.largest_error >= 0
    if len(keys) == k:
        error = distances[-1] - sorted(expected.values())[k - 1]
        assert error <= ranking.largest_error or nearly_equal(error, ranking.largest_error)
    if ranking.certified:
        assert ranking.largest_error == 0
        last = distances[-1] if len(keys) == k else math.inf
        others = [distance for key, distance in expected.items() if key not in keys]
        assert all(other >= last or nearly_equal(other, last) for other in others)


class CollectionFactory:
    """Makes empty collections over the synthetic vocabulary: one of each kind is created, the others are copies of it.

    Attributes: `directory` that holds them, and `vectors`, the file of the word vectors.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.vectors = directory / "vectors.txt"
        lines = [f"{word} {' '.join(map(repr, map(float, row)))}" for word, row in zip(WORDS, VECTORS, strict=True)]
        self.vectors.write_text("\n".join([f"{len(WORDS)} {VECTORS.shape[1]}", *lines]) + "\n")
        self._numbers = count()
        self._created: dict[str, Path] = {}

    def settings(self, **choices: Any) -> Settings:
        """Return settings with the synthetic word vectors, changed by name."""
        return Settings(**({"embedding": str(self.vectors), "stop_words": STOP_WORDS, "rank": ""} | choices))

    def path(self) -> Path:
        """Return an unused path."""
        return self.directory / f"collection-{next(self._numbers)}"

    def empty(self, **choices: Any) -> Collection:
        """Open a new empty collection with settings changed by name; the caller closes it."""
        settings = self.settings(**choices)
        if "MOVERANK_TEST_STORE" in os.environ:  # a copy of the directory would be in the same database
            return Collection.create(self.path(), settings)
        name = repr(settings)
        if name not in self._created:
            self._created[name] = self.path()
            Collection.create(self._created[name], settings).close()
        return Collection.open(shutil.copytree(self._created[name], self.path()))

    @contextmanager
    def filled(self, documents: Iterable[Document], **choices: Any) -> Iterator[Collection]:
        """Open a new collection of documents."""
        with self.empty(**choices) as collection:
            collection.index(documents)
            yield collection

    @contextmanager
    def partly_stored(
        self, first: Iterable[Document], then: Iterable[Document], **choices: Any
    ) -> Iterator[Collection]:
        """Open a collection whose snapshot holds the `first` documents and a removed one; its tail is `then`."""
        with self.empty(**choices) as collection, pytest.MonkeyPatch.context() as patch:
            snapshot_above(patch, 0)
            collection.index([*first, document("gone", "kiwi zorp zorp only ant bee")])
            snapshot_above(patch, 99)
            collection.index(then)
            collection.remove(["gone"])
            yield collection

    def closed(self, documents: Iterable[Document], **choices: Any) -> Path:
        """Return the directory of a closed collection of documents, all of them in a snapshot."""
        with self.empty(**choices) as collection, pytest.MonkeyPatch.context() as patch:
            snapshot_above(patch, 0)
            collection.index(documents)
        return collection.path


def snapshot_above(patch: pytest.MonkeyPatch, changes: int) -> None:
    """Write a snapshot only after more changes than this; 0: after every change."""
    patch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", changes)


def interrupt_at(step: int, *expected: object) -> Progress:
    """Return a progress function that interrupts work at a step; `expected` are task, total and unit, if any."""

    def progress(task: str, done: int, total: int | None, unit: str) -> None:
        assert expected in ((), (task, total, unit))
        if done == step:
            raise KeyboardInterrupt

    return progress


def interrupted(*_: object, **__: object) -> NoReturn:
    """Stand for a function that is interrupted."""
    raise KeyboardInterrupt


def record_counted_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which every text is appended, of a document or a query, whose words are counted from now on."""
    texts: list[str] = []
    count_documents, count_query = WordCounter.count, TextCounter.count

    def documents(counter: WordCounter, writer: Writer, counted: Sequence[str]) -> list[EncodedCounts]:
        texts.extend(counted)
        return count_documents(counter, writer, counted)

    def queries(counter: TextCounter, asked: Iterable[QueryText]) -> list[RankedCounts]:
        every = list(asked)
        texts.extend(map(str, every))
        return count_query(counter, every)

    monkeypatch.setattr(WordCounter, "count", documents)
    monkeypatch.setattr(TextCounter, "count", queries)
    return texts


def files_in(directory: Path) -> list[str]:
    """Return the relative paths of all files and directories in a directory, sorted."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def vectors_in(directory: Path) -> Path:
    """Return the folder of the word vectors of a collection; that of one in PostgreSQL has a longer name."""
    return next(directory.glob("vectors*"))
