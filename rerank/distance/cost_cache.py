"""What words cost a query in float32, kept from one look at some documents to the next: many words come again."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.ground_cost import cost_floor, squared_slack, vector_norms, widest
from moverank.rerank.distance.query_bag import QueryBag


class CostCache:
    """The cost floors of the words of a vocabulary (v, d) that were asked for, at most `most` of them at a time.

    A single block of documents may ask for more.
    """

    def __init__(self, query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32], most: int) -> None:
        self._query, self._vectors, self._norms, self._most = query, vectors, norms, most
        self._place = query.places(len(vectors))
        self._lengths = vector_norms(query.vectors)
        self._row = np.full(len(vectors), -1, np.int32)
        self._words = np.empty(0, np.int64)
        self._cost = np.empty((0, len(query.bag)), np.float32)
        self._filled = False

    def room(self) -> NDArray[np.float32]:
        """Return room (v, h) for the costs of all words, for another to fill in; no rows if they are too many."""
        v = len(self._row)
        if v <= self._most:
            self._cost, self._filled = np.empty((v, len(self._lengths)), np.float32), True
        return self._cost

    def problem(self, bags: Bags) -> Problem:
        """Return the query against bags; their words are numbered by the rows of the costs."""
        largest = widest(self._norms[bags.words], self._lengths)
        slack = squared_slack(largest, self._vectors.shape[1])
        if self._filled:
            return Problem(self._query.bag, bags, self._cost, self._place, slack, largest)
        new = self._missing(bags)
        if len(self._words) + len(new) > self._most:
            self._row[self._words] = -1
            self._words = self._words[:0]
            new = self._missing(bags)
        self._add(new)
        numbered = Bags(bags.starts, self._row[bags.words], bags.weights)
        cost, place = self._cost[: len(self._words)], self._place[self._words]
        return Problem(self._query.bag, numbered, cost, place, slack, largest)

    def _missing(self, bags: Bags) -> NDArray[np.int64]:
        """Return the words of bags that have no row, increasing."""
        wanted = np.zeros(len(self._row), bool)
        wanted[bags.words] = True
        return np.flatnonzero(wanted & (self._row < 0))

    def _add(self, new: NDArray[np.int64]) -> None:
        """Compute the costs of words, 0 where the word is the same, into rows behind those that there are."""
        known = len(self._words)
        total = known + len(new)
        if total > len(self._cost):
            grown = np.empty((max(total, min(2 * total, self._most)), len(self._query.bag)), np.float32)
            grown[:known] = self._cost[:known]
            self._cost = grown
        floor = cost_floor(self._vectors[new], self._query.vectors, self._norms[new], self._lengths)
        same = np.flatnonzero(self._place[new] >= 0)
        floor[same, self._place[new[same]]] = 0
        self._cost[known:total] = floor
        self._row[new] = np.arange(known, total, dtype=np.int32)
        self._words = np.concatenate([self._words, new])
