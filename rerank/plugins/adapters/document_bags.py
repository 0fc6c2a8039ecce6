"""The documents of an adapter as bags over the vocabulary of their known words; a document without one has no bag."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.parallel import map_ahead

NearestRows = tuple[NDArray[np.int64], NDArray[np.float64]]
Queries = Sequence[QueryBag | None]


@dataclass(frozen=True, slots=True, eq=False)
class DocumentBags:
    """`bags` of the documents `rows` (m,) of `n` documents over word `vectors` (v, d) with their `norms` (v,).

    The other documents have no word with a vector, and so no bag.
    """

    n: int
    rows: NDArray[np.int64]
    bags: Bags
    vectors: NDArray[np.float32]
    norms: NDArray[np.float32]

    @classmethod
    def of(cls, bags: Sequence[Bag | None], vectors: NDArray[np.float32]) -> "DocumentBags":
        """Pack the bags of all documents; None stands for a document without a bag."""
        rows = np.array([row for row, bag in enumerate(bags) if bag is not None], np.int64)
        packed = Bags.of([bag for bag in bags if bag is not None])
        return cls(len(bags), rows, packed, vectors, vector_norms(vectors))

    def nearest(self, query: QueryBag | None, k: int) -> NearestRows:
        """Return the `k` nearest documents, nearest first, and their exact distances (k,); k is at most n.

        A distance is 0 if neither side has a bag, and infinite if one has none. Equal distances keep the order of the
        documents.
        """
        without = np.setdiff1d(np.arange(self.n), self.rows)
        if query is None:
            near, far, distances = without[:k], self.rows, np.zeros(min(k, len(without)))
        else:
            found = nearest(query, self.bags, self.vectors, max(1, min(k, len(self.rows))), norms=self.norms)
            near, far, distances = self.rows[found.rows], without, found.distances
        rest = far[: k - len(near)]
        return np.append(near, rest), np.append(distances, np.full(len(rest), np.inf))

    def as_queries(self) -> list[QueryBag | None]:
        """Return each document as a query."""
        queries: list[QueryBag | None] = [None] * self.n
        for row, bag in zip(self.rows.tolist(), self.bags, strict=True):
            queries[row] = QueryBag(bag, self.vectors[bag.words])
        return queries

    def nearest_of_each(self, queries: Queries, k: int) -> Iterator[NearestRows]:
        """Yield `nearest` of each query, computed on all cores."""
        if len(queries) == 1:
            yield self.nearest(queries[0], k)
            return
        for _, found in map_ahead(lambda query: self.nearest(query, k), queries, lambda query: query is not None):
            yield found


TextCounts = Mapping[str, int]
Known = Callable[[Sequence[str]], tuple[list[str], NDArray[np.float32]]]
"""Returns the words of a list that have a vector, in order, and their vectors (n, d)."""


class TextBags:
    """The bags of counted texts, over the words for which `known` returns a vector."""

    def __init__(self, counted: Sequence[TextCounts], known: Known) -> None:
        names, vectors = known(list(dict.fromkeys(word for counts in counted for word in counts)))
        self._ids = {name: i for i, name in enumerate(names)}
        self.documents = DocumentBags.of([_bag(counts, self._ids) for counts in counted], vectors)

    def query(self, counts: TextCounts, known: Known) -> QueryBag | None:
        """Return the bag of a counted text, which may have words that no document has; None without a known word."""
        names, vectors = known([word for word in counts if word not in self._ids])
        v = len(self._ids)
        ids = {word: self._ids[word] for word in counts if word in self._ids}
        bag = _bag(counts, ids | {name: v + i for i, name in enumerate(names)})
        if bag is None:
            return None
        shared = bag.words < v
        own = np.empty((len(bag), self.documents.vectors.shape[1]), np.float32)
        own[shared] = self.documents.vectors[bag.words[shared]]
        own[~shared] = vectors[bag.words[~shared] - v]
        return QueryBag(bag, own)


def _bag(counts: TextCounts, ids: Mapping[str, int]) -> Bag | None:
    """Return the bag of the words that have an id; None if no word has one."""
    known = [(ids[word], count) for word, count in counts.items() if word in ids]
    return Bag.of(*zip(*known, strict=True)) if known else None
