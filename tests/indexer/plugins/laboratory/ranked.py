"""Distances of queries from a pool, as the tests of experiments compute them."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.method import parse_method
from moverank.indexer.plugins.laboratory.trial import Trial, best_with_values
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.values.search_options import silent

QUERY = "cat dog dog lark quux zebra"


def trial_of(pool: Texts, queries: Texts, cache: RowCache | None = None) -> Trial:
    """Return a trial in which queries with the key of a document leave it out."""
    own_rows = np.array([pool.row_of.get(key, -1) for key in queries.keys])
    return Trial(pool, queries, own_rows, cache or RowCache(), silent)


def ranked(method: str, pool: Texts, queries: Texts, cache: RowCache | None = None) -> NDArray[np.float64]:
    """Return the distances (q, n) by a method, infinite from a query itself; with mutual proximity what ranks."""
    parsed, trial = parse_method(method), trial_of(pool, queries, cache)
    if parsed.ranking is not None and not parsed.proximity:
        distances = trial.distances(parsed.ranking, queries)
        distances[trial.own_rows[:, None] == np.arange(len(pool))] = np.inf
        return distances
    distances = np.full((len(queries), len(pool)), np.inf)
    for query, (rows, values) in enumerate(best_with_values(parsed, trial, len(pool))):
        distances[query, rows] = values
    return distances
