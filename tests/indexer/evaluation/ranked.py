"""Distances of queries from a pool, as the tests of the rankers compute them."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import parse_method
from moverank.indexer.evaluation.trial import Trial, distances_of
from moverank.indexer.progress import silent
from moverank.indexer.reranking.counted_texts import Texts

QUERY = "cat dog dog lark quux zebra"


def ranked(method: str, pool: Texts, queries: Texts, cache: DistanceCache | None = None) -> NDArray[np.float64]:
    """Return the distances (q, n) by a method; queries with the key of a document leave it out."""
    own_rows = np.array([pool.row_of.get(key, -1) for key in queries.keys])
    return distances_of(parse_method(method), Trial(pool, queries, own_rows, cache or DistanceCache(), silent))
