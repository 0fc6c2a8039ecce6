"""The input of the compared programs: the same documents, queries, weights and word vectors for each of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Bag, Bags
from moverank.rerank.distance.query_bag import QueryBag
from tests.benchmarks.data_sets import Text
from tests.oracle import TIE, Oracle


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonInput:
    """The documents that have a known word, and the queries.

    Word i is `words[i]` with row i of `vectors` (v + e, d) float32: the first v = `vocabulary_size` words occur in
    documents, the others only in queries. `bags` and `queries` are the bags; `tokens` and `query_tokens` are the same
    texts as lists of words, each as often as it occurs.
    """

    keys: list[str]
    bags: Bags
    tokens: list[list[str]]
    queries: list[Bag]
    query_tokens: list[list[str]]
    words: list[str]
    vectors: NDArray[np.float32]
    vocabulary_size: int

    @classmethod
    def of(cls, oracle: Oracle, documents: Iterable[Text], queries: Sequence[Text]) -> "ComparisonInput":
        """Count the words of texts that the vectors of `oracle` have."""
        counted = {text.id: Counter(oracle.words(text.text)) for text in documents}
        document_counts = {key: counts for key, counts in counted.items() if counts}
        query_counts = [Counter(oracle.words(text.text)) for text in queries]
        vocabulary = sorted({word for counts in document_counts.values() for word in counts})
        others = sorted({word for counts in query_counts for word in counts}.difference(vocabulary))
        words = vocabulary + others
        ids = {word: i for i, word in enumerate(words)}
        return cls(
            list(document_counts),
            Bags.of([_bag(counts, ids) for counts in document_counts.values()]),
            [list(counts.elements()) for counts in document_counts.values()],
            [_bag(counts, ids) for counts in query_counts],
            [list(counts.elements()) for counts in query_counts],
            words,
            np.array([oracle.keyed[word] for word in words], np.float32),
            len(vocabulary),
        )

    @property
    def document_vectors(self) -> NDArray[np.float32]:
        """Return the vectors (v, d) of the words of the documents."""
        return self.vectors[: self.vocabulary_size]

    def query(self, number: int) -> QueryBag:
        """Return a query as the argument of `nearest`."""
        bag = self.queries[number]
        return QueryBag(bag, self.vectors[bag.words])

    def brute_force(self, number: int) -> NDArray[np.float64]:
        """Return the distance (n,) of a query to every document: POT solves each transport problem without pruning.

        POT only warns if it does not reach the optimum: make warnings errors.
        """
        query = self.queries[number]
        query_vectors = self.vectors[query.words].astype(np.float64)
        distances = np.empty(len(self.bags))
        for row, bag in enumerate(self.bags):
            cost = cdist(query_vectors, self.vectors[bag.words].astype(np.float64))
            distances[row] = ot.emd2(query.weights, bag.weights, cost, numItermax=10**7)
        return distances


def are_nearest(rows: Sequence[int], distances: NDArray[np.float64]) -> bool:
    """Return whether `rows` are distinct and the nearest, given the distances (n,) of all documents; ties are equal."""
    reported, best = np.sort(distances[list(rows)]), np.sort(distances)[: len(rows)]
    return len(set(rows)) == len(rows) and bool(np.all(reported <= best * (1 + TIE) + 1e-12))


def _bag(counts: Counter[str], ids: Mapping[str, int]) -> Bag:
    return Bag.of([ids[word] for word in counts], list(counts.values()))
