"""Ranks by WMD, P-WMD and RWMD, exactly, on all cores, with cached results."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_matrix import solve_all
from moverank.indexer.evaluation.rankers import all_rows
from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.look_ahead import map_ahead


@dataclass(frozen=True, slots=True, eq=False)
class DistanceRanker:
    """Ranks a pool by a distance between bags.

    Bags are weighted by `gamma` and, unless it is None, by `idf` (t,). `cache` stores the distances computed.
    """

    distance: Distance
    pool: Texts
    gamma: float
    idf: NDArray[np.float64] | None
    cache: DistanceCache

    def distances(
        self, queries: Texts, progress: Progress, wanted: NDArray[np.bool_] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances` for `queries` and `progress`; distances that are not cached are computed first.

        With `wanted` (q, n), only these are computed, and others may be infinite.
        """
        rows, bags = self.pool.bags(self.gamma, self.idf)
        query_rows, query_bags = queries.bags(self.gamma, self.idf)
        vectors = self.pool.vocabulary.vectors
        digests = queries.vocabulary.bag_digests(query_bags), self.pool.vocabulary.bag_digests(bags)
        table = self.cache.table(self._kind, self._name(queries), *digests)
        symmetric = queries.digest == self.pool.digest
        entries = None if wanted is None else wanted[np.ix_(query_rows, rows)]
        solve_all(self.distance, (query_bags, bags, vectors), table, entries, symmetric=symmetric, progress=progress)
        computed = map(table.row, range(len(query_rows)))
        yield from all_rows(computed, query_rows, rows, len(queries), len(self.pool))

    def nearest(self, queries: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest` for `queries`, `k` and `progress`; the cascade of bounds solves few distances."""
        rows, bags = self.pool.bags(self.gamma, self.idf)
        query_rows, query_bags = queries.bags(self.gamma, self.idf)
        neighbours = self.cache.neighbours(f"{self._kind}-{self._name(queries)}-{k}", len(queries), k)
        search = _Search(bags, self.pool.vocabulary.vectors, k, self.distance)
        missing = [i for i, row in enumerate(query_rows.tolist()) if not neighbours.has(row)]
        results = map_ahead(lambda i: search.run(query_bags[i]), missing)
        for done, (i, nearest_bags) in enumerate(results, start=1 + len(query_rows) - len(missing)):
            neighbours.store(int(query_rows[i]), rows[nearest_bags])
            progress(f"Neighbours by {self.distance.upper()}", done, len(query_rows), "documents")
        return neighbours.read()

    @property
    def _kind(self) -> str:
        """Return the name of the distance between two bags: P-WMD is WMD with other weights."""
        return "wmd" if self.distance == "pwmd" else self.distance

    def _name(self, queries: Texts) -> str:
        """Return a name that identifies the bags: equal names and kinds mean equal distances."""
        total = hashlib.sha256(self.pool.digest + queries.digest)
        total.update(b"" if self.idf is None else self.idf.astype("<f8").tobytes())
        return f"{self.gamma:g}-{total.hexdigest()[:24]}"


class _Search:
    """Finds the bags nearest to queries, over the vocabulary of the bags; thread-safe."""

    def __init__(self, bags: Bags, vectors: NDArray[np.float32], k: int, distance: Distance) -> None:
        used = np.unique(bags.words)
        self._new_ids = np.full(len(vectors), -1, np.int32)
        self._new_ids[used] = np.arange(len(used))
        self._bags = Bags(bags.starts, self._new_ids[bags.words], bags.weights)
        self._all_vectors, self._vectors, self._k, self._distance = vectors, vectors[used], k, distance
        self._norms = vector_norms(self._vectors)

    def run(self, bag: Bag) -> NDArray[np.int64]:
        """Return the rows (at most k,) of the bags nearest to a query's bag."""
        query = self._query(bag)
        return nearest(query, self._bags, self._vectors, self._k, self._distance, norms=self._norms).rows

    def _query(self, bag: Bag) -> QueryBag:
        """Map the words of a query to the ids in the bags, and other words to ids beyond these."""
        ids = self._new_ids[bag.words]
        unknown = np.flatnonzero(ids < 0)
        ids[unknown] = len(self._vectors) + np.arange(len(unknown))
        order = np.argsort(ids)
        return QueryBag(Bag(ids[order], bag.weights[order]), self._all_vectors[bag.words][order])
