"""A value of a wrong type, for any argument of the public face, is an error of ours, never a TypeError from inside.

Functions that are passed are left out: what is wrong with one is seen when it is called, in its own words.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moverank import Collection, DocumentFrequencies, Embedding, Reranker, SearchOptions, Settings
from moverank.indexer.errors import IndexerError
from moverank.rerank.errors import RerankError
from tests.indexer.world import CollectionFactory, document, random_documents
from tests.samples import examples

FUNCTIONS = {"progress", "rejected", "changed", "stop"}

ODD = st.one_of(
    st.sampled_from(
        [None, True, False, -1, 0, 3, 2.5, float("nan"), float("inf"), 10**400, "", "3", "wmd", b"ant", 1j]
    ),
    st.sampled_from(
        [[], ["ant"], [1], [None], [["ant"]], {}, {"a": 1}, {1: "a"}, {"a": None}, (), ("ant", 2), {"ant"}]
    ),
    st.builds(object),
    st.sampled_from(
        [np.int64(2), np.float32(0.5), np.array([1.0, 2.0]), np.array(["ant"]), np.array(3), slice(1), int]
    ),
    st.text(max_size=5),
)
"""Values that most arguments do not take; those that one takes must work."""

QUERIES: Mapping[str, dict[str, Any]] = {
    "search": {"query": "ant bee", "options": None, "vector": None},
    "search_many": {"queries": ["ant bee"], "options": None},
    "similar": {"key": "d1", "options": None},
    "similar_many": {"keys": ["d1"], "options": None},
    "explain": {"query": "ant bee", "key": "d1", "vector": None, "gamma": None, "rank": None},
    "why_not": {"query": "ant bee", "key": "d1", "options": None, "vector": None},
    "rerank": {
        "query": "ant",
        "keys": ["d1"],
        "k": None,
        "scores": [1.0],
        "rank": "wmd+vector",
        "gamma": None,
        "highlight": True,
        "passage": 3,
    },
    "rerank_many": {
        "queries": ["ant"],
        "keys": [["d1"]],
        "k": 1,
        "scores": [[1.0]],
        "rank": "vector",
        "gamma": None,
        "highlight": True,
        "passage": 3,
    },
    "pairs": {"within": 0.5, "k": 2, "rank": None, "gamma": None, "where": None, "unknown": "far"},
    "dedupe": {
        "within": 0.5,
        "keep": "longest",
        "keep_where": None,
        "rank": None,
        "gamma": None,
        "where": None,
        "unknown": "ignored",
        "explained": True,
        "remove": True,
        "confirmed": False,
        "dry_run": True,
    },
    "neighbours": {"k": 2, "gamma": None},
    "get": {"key": "d1"},
    "keys": {"where": None},
    "documents": {"where": None},
    "document_frequencies": {"languages": ["english"]},
}
"""Methods of a collection that change nothing, with arguments that work."""

CHANGES: Mapping[str, dict[str, Any]] = {
    "index": {"records": [], "vectors": None, "prune": False, "confirmed": False, "dry_run": True, "strict": False},
    "remove": {"keys": ["d1"], "where": None, "source": None, "everything": False, "dry_run": True, "upkeep": False},
    "change_settings": {"gamma": 0.5, "weights": "tf", "title_weight": 2, "rank": "wmd", "first_stage": "centroid"},
}
"""Methods that change a collection, or would."""

RERANKER: Mapping[str, dict[str, Any]] = {
    "rank": {
        "query": "ant",
        "candidates": ["bee"],
        "k": 1,
        "scores": [1.0],
        "rank": "wmd+vector",
        "gamma": 0.0,
        "highlight": True,
        "passage": 3,
    },
    "rank_many": {
        "queries": ["ant"],
        "candidates": [["bee"]],
        "k": 1,
        "scores": None,
        "rank": None,
        "gamma": None,
        "highlight": True,
        "passage": 3,
    },
}


def _each(methods: Mapping[str, dict[str, Any]]) -> list[tuple[str, str]]:
    return [(method, argument) for method, arguments in methods.items() for argument in arguments]


def _check(call: Callable[..., Any], arguments: Mapping[str, Any], name: str, value: object) -> None:
    """Check that a call with one odd value works, or fails by an error of ours with one short sentence."""
    try:
        answer = call(**{**copy.copy(arguments), name: value})
        if isinstance(answer, Iterator):
            list(answer)
    except (IndexerError, RerankError) as error:
        sentence = str(error)
    else:
        return
    assert sentence
    assert "\n" not in sentence or "\n" in str(value)
    assert len(sentence) < 1500


@pytest.fixture(scope="module")
def stored(factory: CollectionFactory) -> Iterator[Collection]:
    with factory.filled([*random_documents(5), document("t", "ant", label="x", metadata={"n": 1})]) as collection:
        yield collection


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker(Embedding.of(["ant", "bee"], np.eye(2, dtype=np.float32)))


@pytest.mark.parametrize("field", [name for name in SearchOptions.__slots__ if name not in FUNCTIONS])
@examples(0.5)
@given(value=ODD)
def test_options_of_a_search(stored: Collection, field: str, value: object) -> None:
    _check(
        stored.search, {"query": "ant bee", "rank": "wmd"} if field != "distance" else {"query": "ant"}, field, value
    )


@pytest.mark.parametrize(("method", "argument"), _each(QUERIES))
@examples(0.5)
@given(value=ODD)
def test_methods_of_a_collection(stored: Collection, method: str, argument: str, value: object) -> None:
    assume(not (method == "neighbours" and isinstance(value, int) and value > 99))  # a table of so many columns
    _check(getattr(stored, method), QUERIES[method], argument, value)
    assert (value in stored) in (True, False)


@pytest.mark.parametrize(("method", "argument"), _each(CHANGES))
@examples(0.3)
@given(value=ODD)
def test_changes_of_a_collection(factory: CollectionFactory, method: str, argument: str, value: object) -> None:
    with factory.filled(random_documents(2)) as collection:
        _check(getattr(collection, method), CHANGES[method], argument, value)


@pytest.mark.parametrize("field", list(Settings.__slots__))
@examples(0.5)
@given(value=ODD)
def test_settings_of_a_collection(factory: CollectionFactory, field: str, value: object) -> None:
    def create(**fields: Any) -> None:
        Collection.create(factory.path(), Settings(**fields)).close()

    _check(create, {"embedding": str(factory.vectors)}, field, value)


@pytest.mark.parametrize(("method", "argument"), _each(RERANKER))
@examples(0.5)
@given(value=ODD)
def test_candidates_of_another_engine(reranker: Reranker, method: str, argument: str, value: object) -> None:
    _check(getattr(reranker, method), RERANKER[method], argument, value)


@pytest.mark.parametrize(
    "argument", ["embedding", "stop_words", "language", "rank", "gamma", "weights", "title_weight", "frequencies"]
)
@examples(0.5)
@given(value=ODD)
def test_a_new_reranker(argument: str, value: object) -> None:
    _check(Reranker, {"embedding": Embedding.of(["ant"], np.eye(1, dtype=np.float32))}, argument, value)


@pytest.mark.parametrize("argument", ["documents", "words", "mean_length", "stems", "mean_lengths"])
@examples(0.5)
@given(value=ODD)
def test_document_frequencies(argument: str, value: object) -> None:
    _check(DocumentFrequencies, {"documents": 3, "words": {"ant": 2}}, argument, value)


@pytest.mark.parametrize("argument", ["texts", "stop_words", "language"])
@examples(0.5)
@given(value=ODD)
def test_counted_document_frequencies(argument: str, value: object) -> None:
    _check(DocumentFrequencies.of, {"texts": ["ant"]}, argument, value)


@given(value=ODD.filter(lambda value: not isinstance(value, str)))
def test_places(value: Any) -> None:
    for call in (Collection.open, Collection.exists, Collection.create, Reranker.load):
        _check(lambda path, call=call: call(path), {}, "path", value)
