"""An answer that would be too large is refused before its search, where the query alone shows it."""

from typing import Any

import pytest

from moverank import Collection, TooLarge
from moverank.indexer.search.phases import Search
from tests.indexer.world import document, random_documents

_QUERY = "ant bee cat dog"


@pytest.fixture
def filled(collection: Collection) -> Collection:
    collection.index([*random_documents(40), document("odd", "zorp")])
    return collection


def _never(_: Search) -> Any:
    raise AssertionError("the search has begun")


@pytest.mark.parametrize("options", [{"k": 40}, {"k": 1000}, {"k": 1000, "where": "key=d3"}, {"k": 2}])
def test_flows_beyond_the_limit_are_refused_before_the_search(
    filled: Collection, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    hits = len(filled.search(_QUERY, **options).hits)
    with monkeypatch.context() as patch:
        patch.setattr(Search, "run", _never)
        with pytest.raises(TooLarge, match="request fewer hits"):
            filled.search(_QUERY, explained=True, most_characters=hits * 500 - 1, **options)
        with pytest.raises(AssertionError, match="has begun"):  # a limit above these flows alone
            filled.search(_QUERY, explained=True, most_characters=min(options["k"], 40) * 500, **options)
    assert filled.search(_QUERY, explained=True, most_characters=10**6, **options).hits


def test_a_limit_of_the_distance_or_a_ranking_without_flows_is_searched_first(filled: Collection) -> None:
    assert len(filled.search(_QUERY, k=40, explained=True, max_distance=0.0, most_characters=1000).hits) <= 1
    assert filled.search(_QUERY, k=40, explained=True, rank="bm25", most_characters=1000).hits
