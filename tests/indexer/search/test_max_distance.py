"""Hits within a largest distance: those of the whole list, and nothing beyond it."""

from typing import Any

import pytest

from moverank import Collection, UsageError
from tests.indexer.search.conftest import Searchable

QUERY = "ant bee fox"


def _limits(collection: Collection, **options: Any) -> list[tuple[float, list[str]]]:
    """Return limits between the values of all hits, and the keys expected."""
    hits = collection.search(QUERY, k=99, exact=True, **options).hits
    values = [hit.distance if hit.total is None else hit.total for hit in hits]
    keys = [hit.key for hit in hits]
    return [
        (limit, [key for key, value in zip(keys, values, strict=True) if value <= limit])
        for limit in (values[0] - 1e-6, values[0] + 1e-6, values[5] + 1e-6, values[-1] + 1e-6)
    ]


@pytest.mark.parametrize(
    "rank",
    [
        *("wmd", "pwmd:gamma=0.5", "rwmd", "chamfer", "wcd", "bow", "cosine"),
        *("wmd:weights=tfidf,mu=5+0.5*cover+1.5*bm25+cosine", "wmd:proximity=empirical", "wmd+bm25"),
    ],
)
def test_hits_within_a_distance_are_those_of_the_whole_list(searchable: Searchable, rank: str) -> None:
    collection, _ = searchable.flat()
    for limit, expected in _limits(collection, rank=rank):
        for k in (3, 99):
            found = collection.search(QUERY, k=k, exact=True, rank=rank, max_distance=limit)
            assert [hit.key for hit in found.hits] == expected[:k]
            assert found.certified
            assert found.largest_error == 0


@pytest.mark.parametrize("rank", ["wmd", "wmd+bm25"])
def test_candidates_within_a_distance_are_certified_only_if_proven(searchable: Searchable, rank: str) -> None:
    collection, _ = searchable.flat()
    for limit, expected in _limits(collection, rank=rank):
        for depth in (3, 20):
            found = collection.search(QUERY, k=3, depth=depth, rank=rank, max_distance=limit)
            assert {hit.key for hit in found.hits} <= set(expected)
            if found.certified:
                assert [hit.key for hit in found.hits] == expected[:3]
            proven = collection.search(QUERY, k=3, depth=depth, exact=True, rank=rank, max_distance=limit)
            assert ([hit.key for hit in proven.hits], proven.certified) == (expected[:3], True)


def test_a_spent_budget_proves_nothing_below_the_limit(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    for limit, expected in _limits(collection, rank="wmd"):
        found = collection.search(QUERY, k=9, exact=True, rank="wmd", max_distance=limit, budget=1e-9)
        assert {hit.key for hit in found.hits} <= set(expected)
        assert found.certified == ([hit.key for hit in found.hits] == expected[:9] and not found.largest_error)
        if len(found.hits) < len(expected[:9]):
            assert found.largest_error > 0


def test_invalid_limits_are_refused(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match="the largest distance must be"):
        collection.search(QUERY, max_distance=-0.1)
    with pytest.raises(UsageError, match="bm25 ranks by a score"):
        collection.search(QUERY, rank="bm25", max_distance=0.1)
