"""Cached float32 costs of vocabulary words to query words: blocks of documents have many words in common."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.bounds import SUM_MARGIN, Problem, query_side
from moverank.rerank.distance.ground_cost import cost_ceiling, cost_floor, squared_slack, vector_norms
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.word_blocks import word_blocks
from moverank.rerank.runtime.deadline import check_time


class CostCache:
    """Cost floors of at most `max_words` words of a vocabulary to the words of `query`.

    `vectors` (v, d) belong to the vocabulary, and `norms` (v,) are their lengths. A single block of documents may have
    more words than `max_words`; the cache then holds exactly these.
    """

    def __init__(
        self, query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32], max_words: int
    ) -> None:
        self._query, self._vectors, self._norms, self._max_words = query, vectors, norms, max_words
        self._query_index = query.index_of_words(len(vectors))
        self._query_norms = vector_norms(query.vectors)
        self._row = np.full(len(vectors), -1, np.int32)  # the row of each word in the cost matrix
        self._words = np.empty(0, np.int64)  # the word of each row
        self._cost = np.empty((0, len(query.bag)), np.float32)
        self._complete = False

    def matrix_of_all_words(self) -> NDArray[np.float32]:
        """Return the matrix (v, h) for the costs of all words, which the caller fills; no rows if v is too large."""
        v = len(self._row)
        if v <= self._max_words:
            self._cost, self._complete = np.empty((v, len(self._query_norms)), np.float32), True
        return self._cost

    def problem(self, bags: Bags) -> Problem:
        """Return the problem of the query and `bags`; the word ids of its bags are rows of its costs."""
        largest = cost_ceiling(self._norms[bags.words], self._query_norms)
        slack = squared_slack(largest, self._vectors.shape[1])
        if self._complete:
            return Problem(self._query.bag, bags, self._cost, self._query_index, slack, largest)
        new = self._missing(bags)
        if len(self._words) + len(new) > self._max_words:
            self._row[self._words] = -1
            self._words = self._words[:0]
            new = self._missing(bags)
        self._add(new)
        numbered = Bags(bags.starts, self._row[bags.words], bags.weights)
        cost, query_index = self._cost[: len(self._words)], self._query_index[self._words]
        return Problem(self._query.bag, numbered, cost, query_index, slack, largest)

    def query_side(self, bags: Bags | FactorBags, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return RWMD's query side (m,) of `rows` (m,) of `bags`, block by block of their words."""
        side, start = np.empty(len(rows)), 0
        for block in word_blocks(bags, rows, self._max_words):
            some, stop = bags.take(block), start + len(block)
            if len(some.words) > self._max_words:
                side[start] = self._query_side_of_long(some)
            else:
                problem = self.problem(some)
                side[start:stop] = query_side(problem.bags, problem.cost, problem.query, np.arange(len(block)))
            start = stop
        return side

    def _query_side_of_long(self, bag: Bags) -> float:
        """Return RWMD's query side of one bag with more words than the cache holds."""
        weights = self._query.bag.weights
        least = np.full(len(weights), np.inf, np.float32)
        for start in range(0, len(bag.words), self._max_words):
            check_time()
            entries = slice(start, start + self._max_words)
            words = bag.words[entries]
            problem = self.problem(Bags(np.array([0, len(words)]), words, bag.weights[entries]))
            np.minimum(least, problem.cost[problem.bags.words].min(axis=0), out=least)
        return float(weights @ least) * SUM_MARGIN

    def _missing(self, bags: Bags) -> NDArray[np.int64]:
        """Return the words of bags that have no row, increasing."""
        used = np.zeros(len(self._row), bool)
        used[bags.words] = True
        return np.flatnonzero(used & (self._row < 0))

    def _add(self, new: NDArray[np.int64]) -> None:
        """Append rows with the costs of new words, 0 where the word is the same."""
        cached = len(self._words)
        total = cached + len(new)
        if total > len(self._cost) and cached:
            grown = np.empty((max(total, min(2 * total, self._max_words)), len(self._query.bag)), np.float32)
            grown[:cached] = self._cost[:cached]
            self._cost = grown
        whole = len(new) == len(self._vectors)  # the vocabulary itself: nothing is copied
        vectors, norms = (self._vectors, self._norms) if whole else (self._vectors[new], self._norms[new])
        floor = cost_floor(vectors, self._query.vectors, norms, self._query_norms)
        same = np.flatnonzero(self._query_index[new] >= 0)
        floor[same, self._query_index[new[same]]] = 0
        if total > len(self._cost):
            self._cost = floor
        else:
            self._cost[cached:total] = floor
        self._row[new] = np.arange(cached, total, dtype=np.int32)
        self._words = np.concatenate([self._words, new])
