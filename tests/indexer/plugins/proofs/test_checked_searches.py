"""`check --searches` proves searches of stored documents, and reports those that are not proven."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.plugins.proofs.checked_searches import CheckSearches
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Outcome
from moverank.indexer.values.search_options import Progress, silent
from tests.indexer.plugins.proofs.conftest import Searchable
from tests.indexer.world import WORDS, MakeCollection, document


def check_searches(collection: Collection, number: int, progress: Progress) -> tuple[str, ...]:
    return collection.run(CheckSearches(searches=number), progress=progress).problems


@pytest.mark.parametrize("choices", [{}, {"gamma": 0.75, "weights": "tfidf"}, {"rank": "auto"}], ids=repr)
def test_searches_of_a_collection_are_proven(searchable: Searchable, choices: dict[str, Any]) -> None:
    collection, _ = searchable.of(**choices)
    calls: list[tuple[str, int, int | None, str]] = []
    assert check_searches(collection, 8, lambda *call: calls.append(call)) == ()
    assert [call[1:3] for call in calls if call[0] == "verifying searches"] == [(i, 8) for i in range(1, 9)]


def test_all_searches_of_a_small_collection_are_proven(make_collection: MakeCollection) -> None:
    collection = make_collection([document("a", "ant bee"), document("none", "zorp"), document("b", "ant cat")])
    assert check_searches(collection, 100, silent) == ()


def test_a_wrong_search_is_reported(searchable: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the search had missed the nearest document, or had found it at another distance."""
    collection, _ = searchable.flat()
    run = Search.run
    monkeypatch.setattr(Search, "run", lambda search: replace(found := run(search), distances=found.distances + 1e-6))
    (problem,) = check_searches(collection, 1, silent)
    assert problem.startswith("the search for the document ")
    assert "was not found exactly enough for a proof" in problem

    def missing(search: Search) -> Outcome:
        found = run(Search(search.view, replace(search.query, k=search.query.k + 1)))
        return found.take(np.arange(1, len(found.ids)))

    monkeypatch.setattr(Search, "run", missing)
    (problem,) = check_searches(collection, 1, silent)
    assert "is not proven" in problem


@pytest.mark.store
def test_documents_that_are_removed_meanwhile_are_still_proven(make_collection: MakeCollection) -> None:
    collection = make_collection([document(f"d{i}", f"ant {word}") for i, word in enumerate(WORDS)])
    calls: list[tuple[str, int, int | None, str]] = []

    def progress(task: str, done: int, total: int | None, unit: str) -> None:
        calls.append((task, done, total, unit))
        if task == "verifying searches":
            with Collection.open(collection.path) as other:
                other.remove(list(other.keys())[:-1])

    with Collection.open(collection.path) as opened:
        assert check_searches(opened, 100, progress) == ()
        assert len(opened) == 1
    assert sum(task == "verifying searches" for task, *_ in calls) == len(WORDS)


def test_collections_without_documents_have_no_searches(collection: Collection) -> None:
    assert check_searches(collection, 3, silent) == ()
