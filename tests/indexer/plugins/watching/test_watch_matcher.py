"""Events of any stream of documents, in any batches, are those of brute force through POT."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Event, NoKnownWords, Part, Settings, UnknownKey, UsageError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.indexing import sync
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.plugins.watching import watch_matcher
from moverank.indexer.store import Reader
from moverank.indexer.values.ranking_spec import parse_ranking, resolve
from moverank.indexer.values.search_options import OtherGroups
from tests.indexer.world import NO_VECTOR, WORDS, CollectionFactory, MakeCollection, Twin, document, random_documents
from tests.samples import examples

_WORD = st.sampled_from([*WORDS, *WORDS[:3], *NO_VECTOR, "of"])
_DOCUMENT = st.builds(
    Document,
    key=st.sampled_from("abcdefgh"),
    parts=st.lists(st.builds(Part, st.lists(_WORD, max_size=4).map(" ".join), st.integers(0, 3)), max_size=3).map(
        tuple
    ),
    label=st.sampled_from([None, "red", "blue"]),
)
_RUN = st.tuples(st.sampled_from(["index", "index", "prune", "strict", "remove"]), st.lists(_DOCUMENT, max_size=5))
_RANKINGS = ("wmd", "pwmd:gamma=0.75", "rwmd", "chamfer", "cover", "wcd:gamma=0.5")
_WATCH = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(_RANKINGS),
    st.sampled_from([0.0, 0.8, 1.4, 2.0]),
    st.sampled_from([None, ["label=red"], ["!label"]]),
)
_Watch = tuple[str, str, float, list[str] | None]
_FIRST = document("first", "ant", label="red")
_ROUNDING = 1e-6


def _passes(one: Document, where: list[str] | None) -> bool:
    return where is None or one.label == ("red" if where == ["label=red"] else None)


def _check(found: Sequence[Event], watches: Sequence[_Watch], twin: Twin, changed: set[str]) -> None:
    """Check the events of a run that added or changed some documents; distances at the limit may be on either side."""
    events = {(event.watch, event.document): event.distance for event in found}
    assert len(events) == len(found)
    for number, (text, ranking, within, where) in enumerate(watches):
        spec = resolve(None, None, parse_ranking(ranking))
        distances = twin.distances(text, spec.plain or "", spec.gamma)
        for key in changed:
            distance = distances.get(key, 9.0) if _passes(twin.documents[key], where) else 9.0
            event = events.pop((str(number), key), None)
            assert event == pytest.approx(distance, rel=_ROUNDING, abs=_ROUNDING) if event is not None else True
            assert (event is not None) == (distance <= within) or abs(distance - within) < _ROUNDING
    assert not events


@examples(0.5)
@given(
    st.lists(_RUN, min_size=1, max_size=5), st.lists(_WATCH, min_size=1, max_size=5), st.sampled_from(["tf", "tfidf"])
)
def test_events_are_those_of_brute_force(
    factory: CollectionFactory, runs: list[tuple[str, list[Document]]], watches: list[_Watch], weights: str
) -> None:
    twin, last = Twin.of([_FIRST], weights), 0
    with factory.filled([_FIRST], weights=weights) as collection:
        for number, (text, ranking, within, where) in enumerate(watches):
            collection.watch(str(number), text, within, rank=ranking, where=where)
        for kind, batch in runs:
            before = dict(twin.documents)
            if kind == "remove":
                keys = sorted({one.key for one in batch} & before.keys())
                collection.remove(keys)
                twin.documents = {key: one for key, one in before.items() if key not in keys}
                changed = set[str]()
            else:
                latest = {one.key: one for one in batch} | {"first": _FIRST}
                changes = collection.index(
                    [*batch, _FIRST], prune=kind == "prune", confirmed=True, strict=kind == "strict"
                )
                if kind == "prune":
                    twin.documents = {key: one for key, one in before.items() if key in latest}
                twin.add(latest.values())
                changed = {key for key, one in latest.items() if before.get(key) != one}
            found = collection.events(last)
            assert kind == "remove" or changes.events == len(found)
            _check(found, watches, twin, changed)
            last = found[-1].number if found else last
        assert [event.number for event in collection.events()] == sorted(event.number for event in collection.events())


def _index(collection: Collection, *documents: Document, **how: Any) -> list[tuple[str, str]]:
    """Index documents, and return the watches and documents of the new events."""
    last = collection.events()[-1].number if collection.events() else 0
    collection.index(documents, **how)
    return [(event.watch, event.document) for event in collection.events(last)]


@pytest.fixture
def watched(collection: Collection) -> Collection:
    """Return a collection of one document with a watch of its text."""
    collection.index([document("a", "ant bee", label="red")])
    collection.watch("ants", "ant bee", 0.5)
    return collection


def test_stored_documents_yield_nothing_and_later_ones_yield_an_event_for_each_change(watched: Collection) -> None:
    assert watched.events() == []
    same = document("b", "ant bee")
    assert _index(watched, same) == [("ants", "b")]
    assert _index(watched, same) == []
    assert _index(watched, replace(same, label="blue")) == [("ants", "b")]
    assert _index(watched, document("b", "elk fox")) == []
    watched.remove(["b"])
    assert _index(watched, same) == [("ants", "b")]
    first, *_, last = watched.events()
    assert (first.distance, last.revision) == (0, watched.revision)
    assert watched.events(first.number, 1) == watched.events()[1:2]


def test_a_document_twice_in_one_transaction_yields_the_event_of_its_last_state(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "BATCH", 1)
    near, far = document("b", "ant bee"), document("b", "elk fox")
    for how in ({}, {"strict": True}, {"prune": True, "confirmed": True}):
        assert _index(watched, near, far, **how) == []
        assert _index(watched, far, near, **how) == [("ants", "b")]


def test_a_run_that_fails_or_is_tried_leaves_events_of_what_is_committed(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.index([document("b", "ant bee")], dry_run=True)

    def failing() -> Any:
        yield document("b", "ant bee")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched.index(failing(), strict=True)
    assert watched.events() == []
    monkeypatch.setattr(sync, "BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        watched.index(failing())
    assert [event.document for event in watched.events()] == ["b"]


def test_a_watch_keeps_its_ranking_and_is_replaced_by_name(watched: Collection) -> None:
    watched.change_settings(gamma=0.75, weights="tfidf")
    (before,) = watched.watches()
    assert before.ranking == "wmd:weights=tf"
    made = watched.watch("ants", Document("x", "ant", (Part("bee", 1),)), 0.25, where={"label": "red"})
    assert watched.watches() == [made]
    assert (made.ranking, made.where) == ("pwmd:gamma=0.75,weights=tfidf", {"label": ["red"]})
    assert made.query == Document("", "ant", (Part("bee", 1),))
    assert watched.watch("nan", "ant", 1, where={"label": [float("nan"), 3]}).where == {"label": ["NaN", "3"]}
    assert watched.watch("nan", Document("x", "ant", (Part("bee"),), title_counts=False), 1).asked.to_dict() == {
        "title": "ant",
        "parts": [{"text": "bee", "rank": 0}],
        "title_counts": False,
    }
    watched.unwatch("nan")
    assert _index(watched, document("b", "ant bee"), replace(made.query, key="c", label="red")) == [("ants", "c")]
    watched.unwatch("ants")
    assert watched.watches() == []
    assert [event.watch for event in watched.events()] == ["ants"]
    with pytest.raises(UnknownKey, match="there is no watch 'ants'"):
        watched.unwatch("ants")


def test_other_word_vectors_keep_watches(watched: Collection, factory: CollectionFactory) -> None:
    path = factory.directory / "other.txt"
    path.write_text("3 2\nant 0 1\nelk 0 1\nfox 5 5\n")
    watched.refit(embedding=str(path))
    assert _index(watched, document("b", "elk"), document("c", "fox"), document("d", "bee")) == [("ants", "b")]
    path.write_text("1 2\nfox 5 5\n")
    watched.refit(embedding=str(path))
    assert _index(watched, document("e", "fox")) == []


@pytest.mark.parametrize("weights", ["tf", "tfidf", "norm"])
@pytest.mark.parametrize("rank", ["wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd"])
def test_events_are_the_hits_of_an_exact_search(make_collection: MakeCollection, weights: str, rank: str) -> None:
    collection = make_collection(normalize=True, gamma=0.5)
    first, later = random_documents(40, seed=1)[:20], random_documents(40, "bee zorp", "gnu", seed=1)[20:]
    collection.index([replace(first[0], label="red"), *first[1:]])
    query = Document("", "bee hen", (Part("ant cat", 0), Part("dog kiwi", 1)))
    near = collection.search(query, k=20, exact=True, rank=f"{rank}:weights={weights}")
    within = near.hits[9].distance
    collection.watch("w", query, within, rank=f"{rank}:weights={weights}", where="!label")
    collection.index(later)
    hits = collection.search(query, k=40, exact=True, rank=f"{rank}:weights={weights}", max_distance=within).hits
    expected = {hit.key: hit.distance for hit in hits if int(hit.key[1:]) >= 20}
    assert {event.document: event.distance for event in collection.events()} == pytest.approx(expected, rel=1e-12)
    assert expected


def test_a_title_counts_as_in_a_stored_document(make_collection: MakeCollection) -> None:
    collection = make_collection([document("a", "ant")], title_weight=5)
    query = Document("", "ant bee", (Part("ant bee elk"),))
    collection.watch("same", query, 0)
    collection.watch("text", "ant bee elk", 0)
    assert _index(collection, replace(query, key="b")) == [("same", "b")]


def test_filters_of_fields_that_no_document_has_any_more(watched: Collection) -> None:
    watched.watch("red", "ant bee", 0.5, where=["label=red"])
    watched.watch("none", "ant bee", 0.5, where=["!label"])
    watched.remove(["a"])
    assert _index(watched, document("b", "ant bee")) == [("ants", "b"), ("none", "b")]
    assert _index(watched, document("b", "ant bee", label="red")) == [("ants", "b"), ("red", "b")]


def test_a_filter_is_evaluated_for_the_documents_found_alone(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepting = ["label^=b", "label!=red", "year>=2020", "label", "!label.x", "key=7", "key>=3", "!source"]
    watched.index([document("far", "elk", label="x", metadata={"year": 1, "label": {"x": 1}})])
    for where in (*accepting, "label=red", "!year", "key!=7", "key<3", "source", "source^=a"):
        watched.watch(where, "ant bee", 0.5, where=[where])

    def whole(*_: object) -> None:
        pytest.fail("all documents were read")

    of_all = "ids all_keys ids_beginning files_of_source ids_with_field distinct_values ids_with_value values"
    for name in of_all.split():
        monkeypatch.setattr(Reader, name, whole)
    found = _index(watched, document("7", "ant bee", label="blue", metadata={"year": 2021}), upkeep=False)
    assert found == [(name, "7") for name in sorted(["ants", *accepting])]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "the name of a watch: is empty"),
        ({"name": "a\0b"}, "the name of a watch: holds a NUL character"),
        ({"name": "\ud800"}, r"the name of a watch: holds \\ud800, half of a surrogate pair"),
        ({"within": float("inf")}, "the largest distance must be a number of 0 or more, not inf"),
        ({"within": float("nan")}, "the largest distance must be a number of 0 or more, not nan"),
        ({"name": 3}, "the name of a watch must be a string, not 3"),
        ({"query": 3}, "a query is a text or a Document, not int"),
        ({"query": "a\0b"}, "holds a NUL character"),
        ({"within": -1}, "the largest distance must be a number of 0 or more, not -1"),
        ({"rank": "bm25"}, "a watch compares by a distance alone, such as wmd or pwmd, not by bm25"),
        ({"rank": "wmd+bm25"}, "a watch compares by a distance alone"),
        ({"rank": "wmd:mu=3"}, "a watch compares by a distance alone"),
        ({"rank": "wmd", "gamma": 0.5}, "wmd weighs all parts alike"),
        ({"where": ["year=3"]}, "no document has a field 'year'"),
        ({"where": [3]}, "where must be a list of conditions"),
        ({"where": OtherGroups(None, "label", frozenset(), frozenset())}, "where must be a list of conditions"),
    ],
)
def test_bad_watches_are_refused(watched: Collection, changes: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"name": "w", "query": "ant", "within": 1.0} | changes
    with pytest.raises(UsageError, match=message):
        watched.watch(**values)
    assert len(watched.watches()) == 1


@pytest.mark.parametrize(
    ("query", "reason"), [("zorp", "$"), ("of the", ": all of its words are stop words"), ("", ": it is empty")]
)
def test_a_query_without_a_known_word_is_refused(watched: Collection, query: str, reason: str) -> None:
    with pytest.raises(NoKnownWords, match=f"has no word that the collection has a vector for{reason}"):
        watched.watch("w", query, 1)


def test_bad_ranges_of_events_are_refused(watched: Collection) -> None:
    with pytest.raises(UsageError, match="after must be a whole number of 0 or more, not -1"):
        watched.events(-1)
    with pytest.raises(UsageError, match="limit must be a whole number of 1 or more, not 0"):
        watched.events(0, 0)
    for call in (watched.events, watched.forget_events, lambda number: watched.events(0, number)):
        with pytest.raises(UsageError, match="must be a whole number of at most 9,223,372,036,854,775,807, not 9223"):
            call(2**63)
    assert watched.events(2**63 - 1, 2**63 - 1) == []


def test_names_that_cannot_be_stored_have_no_watch(watched: Collection) -> None:
    for name, fault in (("\ud800", "half of a surrogate pair"), ("a\0b", "holds a NUL"), ("", "is empty")):
        with pytest.raises(UsageError, match=f"the name of a watch: .*{fault}"):
            watched.unwatch(name)


def test_numbers_of_forgotten_events_are_not_given_again(watched: Collection, tmp_path: Path) -> None:
    for key in "bcd":
        assert _index(watched, document(key, "ant bee")) == [("ants", key)]
    assert watched.forget_events(2) == 1
    assert [event.number for event in watched.events()] == [2, 3]
    assert watched.forget_events(99) == 2
    assert watched.forget_events(99) == 0
    copy_collection(watched.path, collection_directory(str(tmp_path / "copied")))
    watched.refit()
    with Collection.open(tmp_path / "copied") as copied:
        for collection in (watched, copied):
            assert collection.events() == []
            collection.index([document("e", "ant bee")])
            assert [event.number for event in collection.events()] == [4]
    watched.forget_events(0)
    assert [event.number for event in watched.events()] == [4]


def test_a_collection_has_a_largest_number_of_watches(watched: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_matcher, "_MOST", 2)
    watched.watch("second", "bee", 1)
    with pytest.raises(UsageError, match="a collection has at most 2 watches: remove one"):
        watched.watch("third", "bee", 1)
    watched.watch("second", "cat", 1)
    assert [watch.name for watch in watched.watches()] == ["ants", "second"]


def test_watches_have_a_largest_number_of_characters_together(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.watch("second", "bee", 1)
    before = watched.watches()
    with watched.reading() as reader:
        stored = [(each.name, json.dumps(each.asked.to_dict()), json.dumps(each.where)) for each in reader.watches()]
    most = sum(len(text) for each in stored for text in each)
    monkeypatch.setattr(watch_matcher, "_MOST_CHARACTERS", most)
    with pytest.raises(UsageError, match=f"have at most {most} characters together, as JSON: with this one they"):
        watched.watch("second", "bee bee", 1)
    assert watched.watches() == before
    watched.watch("second", "cat", 1)


def test_watches_wait_for_the_language(factory: CollectionFactory, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "auto", Settings(str(factory.vectors), language="auto")) as collection:
        with pytest.raises(UsageError, match="is found in its first documents: index them before a watch is added"):
            collection.watch("w", "ant", 1)
        collection.index([document("a", "ant bee")])
        collection.watch("w", "ant bee", 0.5)
        assert _index(collection, document("b", "ant bee")) == [("w", "b")]


def test_weights_that_other_vectors_do_not_determine_are_reported_before_anything_is_written(
    make_collection: MakeCollection, factory: CollectionFactory
) -> None:
    collection = make_collection([document("a", "ant")], normalize=True)
    collection.watch("long", "ant", 1, rank="wmd:weights=norm")
    collection.refit(embedding=str(factory.vectors), normalize=False)
    with pytest.raises(UsageError, match="the watch 'long' has to be removed or added again: weights=norm compares"):
        collection.index([document("b", "ant")])
    assert "b" not in collection
    collection.unwatch("long")
    assert collection.index([document("b", "ant")]).added == 1


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_copy_keeps_watches_and_events_and_goes_on_with_their_numbers(
    watched: Collection, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    watched.index([document("b", "ant bee")])
    place = request.getfixturevalue("schema_url") if engine == "postgresql" else str(tmp_path / "copied")
    copy_collection(watched.path, collection_directory(place))
    with Collection.open(place) as copied:
        assert (copied.watches(), copied.events()) == (watched.watches(), watched.events())
        assert _index(copied, document("c", "ant bee")) == [("ants", "c")]
        assert copied.events()[-1].number > watched.events()[-1].number
