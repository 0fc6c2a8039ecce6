"""Ranks by any ranking of `search`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.reranking.search_pool import SearchPool


class SearchRanker:
    """Ranks a `pool` by `ranking`, with the code of `search`; a document that is not found is at infinity."""

    def __init__(self, ranking: RankingSpec, pool: Texts) -> None:
        self._ranking, self._n, self._search = ranking, len(pool), SearchPool(pool)

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        for rows, values in self._ranked(queries, self._n, progress):
            distances = np.full(self._n, np.inf)
            distances[rows] = values
            yield distances

    def nearest(self, queries: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest` for `queries`, `k` and `progress`."""
        nearest = np.full((len(queries), k), -1, np.int64)
        for query, (rows, _) in enumerate(self._ranked(queries, k, progress)):
            nearest[query, : len(rows)] = rows
        return nearest

    def _ranked(
        self, queries: Texts, k: int, progress: Progress
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        return self._search.rank(self._ranking, queries, k, np.full(len(queries), -1, np.int64), progress)
