"""Ranks by WMD, P-WMD and RWMD, each exact, on all cores, and kept once computed."""

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_matrix import solve_all
from moverank.indexer.evaluation.rankers import over_all
from moverank.indexer.progress import Progress
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import Distance
from moverank.rerank.reranker import nearest
from moverank.rerank.runtime.threads import core_count, single_threaded, single_threaded_blas, thread_pool

_AHEAD = 4


@dataclass(frozen=True, slots=True, eq=False)
class DistanceRanker:
    """Ranks a pool by a distance between bags that are weighed by `gamma` and by `idf` (t,), if there is one.

    `kept` holds distances that were computed before.
    """

    distance: Distance
    pool: Texts
    gamma: float
    idf: NDArray[np.float64] | None
    kept: DistanceCache

    def distances(
        self, questions: Texts, progress: Progress, wanted: NDArray[np.bool_] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`: what was not kept is computed first, of what is `wanted` (q, n) if that is given.

        Distances that nobody wants may be infinite.
        """
        rows, bags = self.pool.bags(self.gamma, self.idf)
        asking, asked = questions.bags(self.gamma, self.idf)
        vectors = self.pool.vocabulary.vectors
        names = questions.vocabulary.bag_digests(asked), self.pool.vocabulary.bag_digests(bags)
        table = self.kept.table(self._kind, self._name(questions), *names)
        same = questions.digest == self.pool.digest
        some = None if wanted is None else wanted[np.ix_(asking, rows)]
        solve_all(self.distance, (asked, bags, vectors), table, some, symmetric=same, progress=progress)
        found = map(table.row, range(len(asking)))
        yield from over_all(found, asking, rows, len(questions), len(self.pool))

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest`: a cascade of bounds finds them, so that few distances have to be computed."""
        rows, bags = self.pool.bags(self.gamma, self.idf)
        asking, asked = questions.bags(self.gamma, self.idf)
        places = self.kept.places(f"{self._kind}-{self._name(questions)}-{k}", (len(questions), k))
        waiting: deque[tuple[int, Future[NDArray[np.int64]]]] = deque()
        search = _Search(bags, self.pool.vocabulary.vectors, k, self.distance)
        left = [row for row in range(len(asking)) if not places.done(int(asking[row]))]
        done = len(asking) - len(left)
        for turn, row in enumerate([*left, None]):
            if row is not None:
                waiting.append((int(asking[row]), thread_pool().submit(search.run, asked, row)))
            # The first is waited for: it may have to compile what the others share.
            while waiting and (len(waiting) > _AHEAD * core_count() or row is None or not turn):
                question, found = waiting.popleft()
                places.keep(question, rows[found.result()])
                done += 1
                progress(f"Neighbours by {self.distance.upper()}", done, len(asking), "documents")
        return places.read()

    @property
    def _kind(self) -> str:
        """Name the distance between two bags: P-WMD is WMD of other weights."""
        return "wmd" if self.distance == "pwmd" else self.distance

    def _name(self, questions: Texts) -> str:
        """Name the bags: equal names of one kind mean equal distances."""
        total = hashlib.sha256(self.pool.digest + questions.digest)
        total.update(b"" if self.idf is None else self.idf.astype("<f8").tobytes())
        return f"{self.gamma:g}-{total.hexdigest()[:24]}"


class _Search:
    """Finds the nearest bags of one question after the other, over the bags' words; threads may share it."""

    def __init__(self, bags: Bags, vectors: NDArray[np.float32], k: int, distance: Distance) -> None:
        used = np.unique(bags.words)
        self._place = np.full(len(vectors), -1, np.int32)
        self._place[used] = np.arange(len(used))
        self._bags = Bags(bags.starts, self._place[bags.words], bags.weights)
        self._every, self._vectors, self._k, self._distance = vectors, vectors[used], k, distance
        self._norms = vector_norms(self._vectors)

    def run(self, asked: Bags, row: int) -> NDArray[np.int64]:
        """Return the places of the nearest bags, on one core."""
        with single_threaded(), single_threaded_blas():
            return nearest(
                self._query(asked[row]), self._bags, self._vectors, self._k, self._distance, norms=self._norms
            ).rows

    def _query(self, bag: Bag) -> QueryBag:
        """Give the words of a question the ids that the bags have for them; others get ids beyond."""
        ids = self._place[bag.words]
        new = np.flatnonzero(ids < 0)
        ids[new] = len(self._vectors) + np.arange(len(new))
        order = np.argsort(ids)
        return QueryBag(Bag(ids[order], bag.weights[order]), self._every[bag.words][order])
