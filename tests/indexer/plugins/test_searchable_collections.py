"""What can be searched has one face: a collection, its shards, and both behind a server take the same options.

A new option of a search, or a new argument of a method, fails here until all of them take it.
"""

import inspect
import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Part, SearchOptions
from moverank.indexer.errors import IndexerError, UnknownKey, UsageError
from moverank.indexer.operations.documents import PAGE, ListDocuments, ShowDocument
from moverank.indexer.plugins.serving.client import RemoteCollection
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.rerank.ranking import Ranking
from tests.indexer.commands.program import program
from tests.indexer.given import documents_with_vectors, random_vectors
from tests.indexer.plugins.faces import Faces, faces_of
from tests.indexer.plugins.shards.conftest import created, keep_local
from tests.indexer.world import CollectionFactory

QUERY = "ant bee cat"
VECTOR = random_vectors(1, seed=9)[0].tolist()

OPTIONS: dict[str, Any] = {
    "group_by": "label",
    "spelling": False,
    "k": 4,
    "depth": 5,
    "exact": True,
    "rank": "wmd+0.5*bm25",
    "distance": "rwmd",
    "gamma": 0.5,
    "where": ["label=red", "year<1996"],
    "max_distance": 1.2,
    "percentile": True,
    "explained": True,
    "full": True,
    "budget": 60.0,
    "stop": lambda: False,
    "most_characters": 1_000_000,
    "highlight": True,
    "passage": 2,
}
"""A value of each option that is not the default."""

NOT_OVER_HTTP = {
    "stop": "a function",
    "distance": "a second name of rank",
    "most_characters": "a limit of the server",
}
NOT_FROM_HERE = {"stop": "cannot be stopped from here", "most_characters": "limited by the server"}
OTHER_NAMES = {"explained": "explain"}

NOT_IN_SHARDS = {
    ("index", "scope"): "its default is chosen by each shard",
    ("index", "rejected"): "a function that does nothing",
    ("index", "changed"): "called for dry runs only",
}


def _documents() -> list[Document]:
    return [
        replace(each, label="red" if i % 3 else "blue", metadata={"year": 1990 + i % 10})
        for i, each in enumerate(documents_with_vectors(30, seed=4))
    ]


@pytest.fixture(scope="module")
def given(factory: CollectionFactory) -> Iterator[Faces]:
    """Search documents with given vectors."""
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        keep_local(patch)
        collection = opened.enter_context(factory.empty(first_stage="given"))
        shards = opened.enter_context(created(factory, first_stage="given"))
        for each in (collection, shards):
            each.index(_documents())
        yield opened.enter_context(faces_of(collection, shards))


def _check_same(found: Ranking, expected: Ranking) -> None:
    assert len(expected.hits) > 0
    assert [hit.key for hit in found.hits] == [hit.key for hit in expected.hits]
    for name in ("distance", "score", "total"):
        values, own = ([getattr(hit, name) for hit in ranking.hits] for ranking in (found, expected))
        assert values == pytest.approx(own, abs=1e-6, nan_ok=True)
    for name in ("flows", "text"):
        assert [bool(getattr(hit, name)) for hit in found.hits] == [bool(getattr(hit, name)) for hit in expected.hits]
    for name in ("percentile", "highlights", "passage"):
        assert [getattr(hit, name) for hit in found.hits] == [getattr(hit, name) for hit in expected.hits]
    assert (found.certified, found.scope, found.problem) == (expected.certified, expected.scope, expected.problem)


def _check_answers(
    call: Callable[[Any], Any], given: Faces, *, with_depth: bool = False, refused: str | None = None
) -> None:
    """Check that all give the same answers; with a depth, each shard has so many candidates, and finds nearer ones.

    `refused`: how the clients of a server refuse the option.
    """
    one, shards = list(call(given.collection)), list(call(given.shards))
    for found, expected in zip(shards, one, strict=True):
        if with_depth:
            assert all(hit.distance <= own.distance + 1e-9 for hit, own in zip(found.hits, expected.hits, strict=True))
            assert found.scope == expected.scope == "candidates"
        else:
            _check_same(found, expected)
    for remote, own in zip(given.remotes, (one, shards), strict=False):
        if refused:
            with pytest.raises(UsageError, match=refused):
                list(call(remote))
        else:
            for found, expected in zip(call(remote), own, strict=True):
                _check_same(found, expected)


def test_every_option_has_a_value_here() -> None:
    assert set(OPTIONS) == {field.name for field in fields(SearchOptions)}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("as_keyword", [True, False])
def test_every_option_has_the_same_effect(name: str, as_keyword: bool, given: Faces) -> None:
    chosen = {"k": 3, name: OPTIONS[name]}
    positional, named = ((), chosen) if as_keyword else ((SearchOptions(**chosen),), {})
    queries = [replace(each, key="") for each in documents_with_vectors(2, seed=8)]
    limited: dict[str, Any] = {"with_depth": name == "depth", "refused": NOT_FROM_HERE.get(name)}
    for call in (
        lambda one: [one.search(QUERY, *positional, vector=VECTOR, **named)],
        lambda one: [one.similar("d3", *positional, **named)],
        lambda one: one.search_many(queries, *positional, **named),
        lambda one: one.similar_many(["d1", "d2"], *positional, **named),
    ):
        _check_answers(call, given, **limited)


def _searched(one: Any, options: SearchOptions) -> list[Ranking]:
    return [one.search(QUERY, options, vector=VECTOR)]


@pytest.mark.parametrize("share", ["0%", "15%"])
def test_a_share_is_the_same_limit(share: str, given: Faces) -> None:
    for options in (SearchOptions(), SearchOptions(where=["label=red"]), SearchOptions(rank="bm25", group_by="year")):
        chosen = replace(options, max_distance=share)
        found = given.collection.search(QUERY, chosen, vector=VECTOR)
        assert all(hit.percentile and hit.percentile.share <= float(share[:-1]) / 100 for hit in found.hits)
        _check_answers(partial(_searched, options=chosen), given)
    for one in given.all:
        with pytest.raises(UsageError, match="a limit in percent goes with search and similar"):
            one.why_not(QUERY, "d3", vector=VECTOR, max_distance=share)


def test_the_vector_of_a_query_chooses_the_candidates(given: Faces) -> None:
    far = [-number for number in VECTOR]
    for each in given.all:
        one, other = (each.search(QUERY, k=3, depth=3, vector=vector) for vector in (VECTOR, far))
        assert {hit.key for hit in one.hits} != {hit.key for hit in other.hits}
        for same in (np.array(far), tuple(far), iter(far)):
            _check_same(each.search(QUERY, k=3, depth=3, vector=same), other)


@pytest.mark.parametrize(("name", "options"), [("rank", "rwmd"), ("gamma", 0.5), ("vector", VECTOR)])
def test_explanations_take_the_same_options(name: str, options: Any, given: Faces) -> None:
    named = {name: options}
    expected = given.collection.explain(QUERY, "d3", **named).to_dict()
    for each in (given.shards, *given.remotes):
        assert each.explain(QUERY, "d3", **named).to_dict() == _nearly(expected)


@pytest.mark.parametrize("name", [*(name for name in OPTIONS if name != "group_by"), "vector"])
def test_why_not_takes_the_options_of_a_search(name: str, given: Faces) -> None:
    named = {"k": 3, name: {**OPTIONS, "vector": VECTOR}[name]}
    own = named if name == "vector" else {**named, "vector": VECTOR}
    expected = given.collection.why_not(QUERY, "d3", **own).to_dict()
    in_shards = given.shards.why_not(QUERY, "d3", **own).to_dict()
    if name != "depth":  # each shard has so many candidates
        assert in_shards["kth"] == pytest.approx(expected["kth"])
    if name in NOT_OVER_HTTP:
        return
    for remote, here in zip(given.remotes, (expected, in_shards), strict=False):
        answer = remote.why_not(QUERY, "d3", **own)
        assert answer.k == here["k"]
        assert answer.kth == pytest.approx(here["kth"])


def _nearly(value: Any) -> Any:
    """Return a value that equals others whose numbers differ by rounding."""
    if isinstance(value, dict):
        return {name: _nearly(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_nearly(each) for each in value]
    return pytest.approx(value, abs=1e-9) if isinstance(value, float) and math.isfinite(value) else value


@pytest.mark.parametrize(
    "options",
    [{"vector": "north"}, {"vector": [1.0]}, {"vector": [math.nan] * 5}, {"k": 0}, {"rank": "fast"}, {"where": ["="]}],
    ids=str,
)
def test_bad_options_are_the_same_error(options: dict[str, Any], given: Faces) -> None:
    for one in given.all:
        with pytest.raises(UsageError):
            one.search(QUERY, **{"vector": VECTOR, "depth": 12, **options})


def test_a_vector_without_effect_is_the_same_error(factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_local(monkeypatch)
    with factory.empty() as collection, created(factory) as shards:
        for each in (collection, shards):
            each.index(_documents())
        with faces_of(collection, shards) as faces:
            for one in faces.all:
                with pytest.raises(UsageError, match="a vector of the query has no effect there"):
                    one.search(QUERY, vector=VECTOR)


def test_the_commands_take_them_too(
    given: Faces, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_local(monkeypatch)
    call, vector = program(monkeypatch, capsys), json.dumps(VECTOR)
    here, shards = given.collection.path, given.shards.path
    common = (QUERY, "d3", "--query-vector", vector, "--why-not", "-k", "30", "--json", "--rank", "wmd")
    assert call("explain", *common, "-i", shards).json == _nearly(call("explain", *common, "-i", here).json)
    places: list[tuple[object, ...]] = [("-i", here), ("-i", shards)]
    places += [("-i", "one", "--server", given.running.url)] if given.running else []
    found = [
        [
            hit["key"]
            for hit in call("search", QUERY, "--query-vector", vector, "-k", "4", "--json", *place).json["hits"]
        ]
        for place in places
    ]
    assert found == [found[0]] * len(places)


def test_documents_are_listed_and_shown_alike(given: Faces) -> None:
    everything = given.collection.run(ListDocuments(limit=PAGE))
    entries = {entry.key: entry for entry in everything.documents}
    for one in given.all:
        pages = [one.run(ListDocuments(first=first, limit=7)) for first in range(0, len(entries), 7)]
        assert {(page.found, page.total, page.why_empty) for page in pages} == {(len(entries), len(entries), None)}
        listed = [entry for page in pages for entry in page.documents]
        assert sorted(entry.key for entry in listed) == sorted(entries)
        assert all(entry == entries[entry.key] for entry in listed)
        filtered = one.run(ListDocuments(where={"label": "red"}, limit=0))
        assert 0 < filtered.found < filtered.total
        nothing = one.run(ListDocuments(where=["label=rad"]))
        assert (nothing.documents, nothing.found) == ((), 0)
        assert str(nothing.why_empty).startswith("no document passes the filter")
        for key in ("d3", "d4"):
            shown, expected = one.run(ShowDocument(key=key)), given.collection.run(ShowDocument(key=key))
            assert shown.document == expected.document
            assert (shown.words, shown.unknown_words) == (expected.words, expected.unknown_words)
        with pytest.raises(UnknownKey, match="no document with the key 'gone'"):
            one.run(ShowDocument(key="gone"))
    for remote, own in zip(given.remotes, (given.collection, given.shards), strict=False):
        assert remote.run(ShowDocument(key="d3")) == own.run(ShowDocument(key="d3"))
        with pytest.raises(IndexerError, match="limit must be at most 1000 here"):
            remote.run(ListDocuments(limit=PAGE + 1))


def test_the_commands_list_and_show_them_too(
    given: Faces, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_local(monkeypatch)
    monkeypatch.setattr("moverank.indexer.operations.PAGE", 5)
    call, here = program(monkeypatch, capsys), given.collection.path
    places: list[tuple[object, ...]] = [("-i", given.shards.path)]
    places += [("-i", name, "--server", given.running.url) for name in ("one", "shards")] if given.running else []
    for place in places:
        filters = (("--where", "label=red"), ("--where", "label=rad"))
        for options in ((), ("--json",), ("--format", "csv"), ("-n", "0"), *filters):
            listed, expected = (call("list", *options, *where) for where in (place, ("-i", here)))
            assert sorted(listed.out.splitlines()) == sorted(expected.out.splitlines()), options
            assert listed.code == 0
            assert listed.err == expected.err or ("label=rad" in options and "no document passes" in listed.err)
        assert len(call("list", "-n", "7", *place).out.splitlines()) == 7
        shown, expected = (call("show", "d3", "--json", *where).json for where in (place, ("-i", here)))
        assert shown | {"revision": 0} == expected | {"revision": 0}
        assert call("show", "gone", *place).sentence == "the collection has no document with the key 'gone'"


def test_vectors_beside_the_records_are_those_of_shards(
    factory: CollectionFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_local(monkeypatch)
    with created(factory, first_stage="given") as shards:
        path = shards.path
    (tmp_path / "d.jsonl").write_text('{"id": "a", "text": "ant"}\n{"id": "b", "text": "bee"}\n')
    (tmp_path / "keys").write_text("a\nb\nc\n")
    np.save(tmp_path / "rows.npy", np.eye(3, dtype=np.float32))
    answer = program(monkeypatch, capsys)(
        "index", tmp_path / "d.jsonl", "-i", path, "--vectors", tmp_path / "rows.npy", "--keys", tmp_path / "keys"
    )
    assert answer.code == 0
    assert "1 of 3 vectors have the key of no document of this run: 'c'" in answer.err
    with Cluster.open(path) as shards:
        assert [hit.key for hit in shards.search("ant bee", k=1, depth=1, vector=[0, 1, 0.2]).hits] in (["a"], ["b"])
        assert shards.info()["given_vectors"] == 2
        assert shards.index([Document("c", parts=(Part("cat"),))], vectors={"c": [0, 0, 1]}).added == 1
        assert shards.info()["given_vectors"] == 3


def _parameters(method: Any) -> dict[str, tuple[Any, Any]]:
    return {name: (each.kind, each.default) for name, each in inspect.signature(method).parameters.items()}


def _methods(other: type) -> list[str]:
    return sorted(
        name
        for name, method in inspect.getmembers(Collection, inspect.isfunction)
        if not name.startswith("_") and inspect.isfunction(getattr(other, name, None))
    )


@pytest.mark.parametrize("other", [Cluster, RemoteCollection])
def test_methods_of_one_name_have_the_same_parameters(other: type) -> None:
    names = _methods(other)
    assert {"search", "search_many", "similar_many", "run", "pairs", "dedupe", "prepare"} <= set(names)
    assert other is RemoteCollection or {"index", "remove"} <= set(names)
    for name in names:
        expected, found = _parameters(getattr(Collection, name)), _parameters(getattr(other, name))
        assert list(found) == list(expected), name
        different = {parameter for parameter in expected if found[parameter] != expected[parameter]}
        assert different <= {parameter for method, parameter in NOT_IN_SHARDS if method == name}, name


def test_filters_by_values_and_vectors_of_numpy_reach_a_server(given: Faces) -> None:
    where, vector = {"label": "red", "year": [1991, 1993]}, np.array(VECTOR)
    expected = given.collection.search(QUERY, where=where, vector=vector)
    why = given.collection.why_not(QUERY, "d4", where=where, vector=vector)
    for each in given.all:
        _check_same(each.search(QUERY, where=where, vector=vector), expected)
        assert each.why_not(QUERY, "d4", where=where, vector=vector).stage == why.stage
        assert each.explain(similar="d3", key="d4").query_key == "d3"


def test_why_not_refuses_groups_everywhere(given: Faces) -> None:
    for each in given.all:
        with pytest.raises(UsageError, match="group_by goes with search and similar"):
            each.why_not(QUERY, "d3", vector=VECTOR, group_by="label")


def test_only_a_collection_in_one_place_is_proven(
    given: Faces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_local(monkeypatch)
    file, shards = tmp_path / "a.proof", given.shards
    sentence = "is of a collection in one place: a collection in shards has none"
    for each, proof, digest in (
        (shards, f"--proof {sentence}", f"--digest {sentence}"),
        *(
            (remote, "a server does not answer `prove`", "a server does not answer `digest`")
            for remote in given.remotes
        ),
    ):
        with pytest.raises(UsageError, match=proof):
            each.prove(file, QUERY, rank="wmd", exact=True)
        with pytest.raises(UsageError, match=digest):
            each.digest("wmd")
    call = program(monkeypatch, capsys)
    for command in (("search", QUERY), ("similar", "d3")):
        answer = call(*command, "-i", shards.path, "--rank", "wmd", "--exact", "--proof", file)
        assert (answer.code, answer.out, answer.sentence) == (2, "", f"--proof {sentence}")
    answer = call("info", "-i", shards.path, "--digest", "wmd")
    assert answer.sentence == "--digest is of a collection in one place, not in shards, and goes without --source"
    assert not file.exists()


def test_requests_have_the_options_of_a_search() -> None:
    pytest.importorskip("fastapi", reason="the extra `server` is not installed")
    from moverank.indexer.plugins.serving.requests import SearchParameters

    expected = {OTHER_NAMES.get(name, name) for name in OPTIONS if name not in NOT_OVER_HTTP}
    assert set(SearchParameters.model_fields) == expected
