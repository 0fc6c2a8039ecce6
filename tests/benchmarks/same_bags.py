"""Documents and queries as the same bags, weights and vectors for every program that is compared."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Bag, Bags
from moverank.rerank.distance.query_bag import QueryBag
from tests.benchmarks.real_texts import Text
from tests.oracle import Oracle

TIE = 1e-9
"""Distances no farther apart than this share of them are equal: their order is nobody's fault."""


@dataclass(frozen=True, slots=True, eq=False)
class SameBags:
    """Bags of the documents that have a known word, and of the queries.

    Word i is `words[i]` with row i of `vectors` (v + e, d) float32: the first `known` = v occur in documents, the
    others only in queries. `tokens` are the same documents as lists of words, each as often as it occurs.
    """

    keys: list[str]
    bags: Bags
    tokens: list[list[str]]
    queries: list[Bag]
    query_tokens: list[list[str]]
    words: list[str]
    vectors: NDArray[np.float32]
    known: int

    @classmethod
    def of(cls, oracle: Oracle, documents: Iterable[Text], queries: Sequence[Text]) -> "SameBags":
        """Count the words of texts."""
        counted = {text.id: Counter(oracle.words(text.text)) for text in documents}
        kept = {key: counts for key, counts in counted.items() if counts}
        asked = [Counter(oracle.words(text.text)) for text in queries]
        ours = sorted({word for counts in kept.values() for word in counts})
        words = ours + sorted({word for counts in asked for word in counts}.difference(ours))
        ids = {word: i for i, word in enumerate(words)}
        return cls(
            list(kept),
            Bags.of([_bag(counts, ids) for counts in kept.values()]),
            [list(counts.elements()) for counts in kept.values()],
            [_bag(counts, ids) for counts in asked],
            [list(counts.elements()) for counts in asked],
            words,
            np.array([oracle.keyed[word] for word in words], np.float32),
            len(ours),
        )

    @property
    def document_vectors(self) -> NDArray[np.float32]:
        """Return the vectors (v, d) of the documents' words."""
        return self.vectors[: self.known]

    def query(self, number: int) -> QueryBag:
        """Return a query as the cascade takes it."""
        bag = self.queries[number]
        return QueryBag(bag, self.vectors[bag.words])

    def brute_force(self, number: int) -> NDArray[np.float64]:
        """Return the distance (n,) of a query to every document: each transport problem solved whole by POT.

        POT only warns where it did not reach the optimum: let warnings be errors.
        """
        query = self.queries[number]
        own = self.vectors[query.words].astype(np.float64)
        found = np.empty(len(self.bags))
        for row, bag in enumerate(self.bags):
            cost = cdist(own, self.vectors[bag.words].astype(np.float64))
            found[row] = ot.emd2(query.weights, bag.weights, cost, numItermax=10**7)
        return found


def same_ten(rows: Sequence[int], distances: NDArray[np.float64]) -> bool:
    """Say whether distinct `rows` are as many nearest documents, given the distances (n,) of all; ties are equal."""
    found, best = np.sort(distances[list(rows)]), np.sort(distances)[: len(rows)]
    return len(set(rows)) == len(rows) and bool(np.all(found <= best * (1 + TIE) + 1e-12))


def _bag(counts: Counter[str], ids: dict[str, int]) -> Bag:
    words: Any = [ids[word] for word in counts]
    return Bag.of(words, list(counts.values()))
