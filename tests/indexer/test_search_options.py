"""`SearchOptions` and the keywords of `Collection.search` are the same options."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, asdict, fields
from typing import Any

import pytest

from moverank import Collection, SearchOptions, UsageError
from tests.indexer.world import CollectionFactory, document, random_documents

_OTHER: dict[str, Any] = {
    "k": 3,
    "depth": 12,
    "exact": True,
    "rank": "rwmd",
    "distance": "chamfer",
    "gamma": 0.5,
    "max_distance": 0.9,
    "percentile": True,
    "where": {"label": ["red"]},
    "explained": True,
    "full": True,
    "highlight": True,
    "passage": 7,
    "group_by": "label",
    "spelling": False,
    "budget": 99.0,
    "stop": bool,
    "most_characters": 10**6,
}
"""A value for each option that is not its default."""


def test_every_option_has_a_default_and_a_documented_name() -> None:
    documentation = inspect.getdoc(SearchOptions) or ""
    assert {field.name for field in fields(SearchOptions)} == set(_OTHER)
    for field in fields(SearchOptions):
        assert field.default is not MISSING
        assert field.default != _OTHER[field.name]
        assert f"`{field.name}`: " in documentation


@pytest.mark.parametrize("name", _OTHER)
def test_an_option_changes_only_itself(name: str) -> None:
    changed = SearchOptions.of(None, {name: _OTHER[name]})
    assert asdict(changed) == asdict(SearchOptions()) | {name: _OTHER[name]}
    assert SearchOptions.of(SearchOptions(**_OTHER), {}) == SearchOptions(**_OTHER)
    defaults = asdict(SearchOptions())
    assert SearchOptions.of(SearchOptions(**_OTHER), {name: defaults[name]}) == SearchOptions(
        **(_OTHER | {name: defaults[name]})
    )


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a small collection; tests do not change it."""
    with factory.filled([*random_documents(20), document("red", "ant cat", "bee", label="red")]) as collection:
        yield collection


def test_without_keywords_the_defaults_apply(filled: Collection) -> None:
    expected = filled.search("ant bee", SearchOptions()).hits
    assert filled.search("ant bee").hits == filled.search("ant bee", None).hits == expected
    assert len(expected) == SearchOptions().k


@pytest.mark.parametrize("name", _OTHER)
def test_keywords_equal_options(filled: Collection, name: str) -> None:
    chosen, keywords = SearchOptions(**{name: _OTHER[name]}), {name: _OTHER[name]}
    pairs = [(filled.search("ant bee", chosen), filled.search("ant bee", **keywords))]
    pairs += zip(filled.search_many(["ant bee"], chosen), filled.search_many(["ant bee"], **keywords), strict=True)
    pairs.append((filled.similar("red", chosen), filled.similar("red", **keywords)))
    pairs += zip(filled.similar_many(["red"], chosen), filled.similar_many(["red"], **keywords), strict=True)
    for one, other in pairs:
        assert one.hits == other.hits
        assert (one.certified, one.scope, one.counts) == (other.certified, other.scope, other.counts)


def test_keywords_change_given_options(filled: Collection) -> None:
    assert len(filled.search("ant", SearchOptions(k=3, depth=9), k=5).hits) == 5
    assert len(filled.similar("d1", SearchOptions(k=3), exact=True).hits) == 3


def test_an_unknown_keyword_lists_the_options(filled: Collection) -> None:
    calls: list[Callable[..., object]] = [filled.search, filled.similar, filled.search_many, filled.similar_many]
    for call in [*calls, lambda text, **keywords: filled.why_not(text, "d0", **keywords)]:
        with pytest.raises(
            UsageError,
            match=r"there is no search option 'dept' .did you mean depth.*: choose k, depth, exact, rank, distance",
        ):
            call("ant", dept=3)
