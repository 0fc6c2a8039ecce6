"""A collection as a container of its documents, in consistent states."""

import os
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, UnknownKey, UsageError
from moverank.indexer.store import Entry
from tests.indexer.world import NO_VECTOR, CollectionFactory, document, random_documents


def as_stored(each: Document) -> Document:
    """Return a document as it is stored: a title without a word neither counts nor does not."""
    return each if each.title.strip() else replace(each, title_counts=True)


DOCUMENTS = [
    Document("b", "A title", (Part("ant bee"), Part("cat", 2)), "red", {"n": 1, "who": {"name": "Ann"}}),
    Document("a", "Shown only", (Part("dog", 1), Part("elk", 0)), None, {"n": 2.5, "": ""}, title_counts=False),
    Document("c", "Only a title zorp", (), "", {}),
    Document("Füße \u2028", "", (Part("quux\n zorp\t"),), "blue", {"n": [1, None]}),
]


@pytest.fixture
def filled(collection: Collection) -> Collection:
    collection.index(DOCUMENTS)
    return collection


def test_documents_are_returned_as_they_were_given(filled: Collection) -> None:
    assert list(filled) == list(filled.documents()) == DOCUMENTS
    assert [filled.get(each.key) for each in DOCUMENTS] == DOCUMENTS
    assert list(filled.keys()) == [each.key for each in DOCUMENTS]
    assert len(filled) == 4
    assert "a" in filled
    assert "nobody" not in filled
    assert 3 not in filled
    assert filled.get("nobody") is None


def test_an_empty_collection_has_no_documents(collection: Collection) -> None:
    assert (list(collection), list(collection.keys()), len(collection)) == ([], [], 0)


def test_a_filter_limits_documents_and_keys(filled: Collection) -> None:
    assert list(filled.keys("n=1.0")) == ["b", "Füße \u2028"]
    assert list(filled.documents({"who.name": "Ann"})) == DOCUMENTS[:1]
    assert list(filled.keys(["n>=1", "label!=red"])) == ["a", "Füße \u2028"]
    with pytest.raises(UsageError, match="no document has a field 'm'"):
        list(filled.keys("m"))


def test_an_updated_document_keeps_its_place(filled: Collection) -> None:
    changed = Document("b", "New", (Part("ant"),))
    filled.index([changed, document("d", "ant")])
    filled.remove(["a"])
    assert list(filled.keys()) == ["b", "c", "Füße \u2028", "d"]
    assert filled.get("b") == changed


@pytest.mark.parametrize("batch", [1, 3, 200])
def test_batches_have_no_seams(collection: Collection, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr("moverank.indexer.state.contents._BATCH", batch)
    monkeypatch.setattr("moverank.indexer.state.contents._KEYS", batch)
    documents = list(map(as_stored, random_documents(10, "ant")))
    collection.index(documents)
    assert list(collection) == documents
    assert list(collection.keys()) == [each.key for each in documents]
    with collection.contents() as contents:
        assert [entry.key for entry in contents.entries(7)] == [each.key for each in documents[:7]]
        assert {entry.parts for entry in contents.entries()} == {2}


def test_an_iteration_sees_one_state(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.state.contents._BATCH", 2)
    documents = list(map(as_stored, random_documents(9)))
    collection.index(documents)
    iteration = iter(collection)
    found = [next(iteration)]

    def change() -> None:
        with Collection.open(collection.path) as other:
            other.index([document("d3", "zorp"), document("new", "ant")])
            other.remove(["d5", "d8"])

    writer = threading.Thread(target=change)
    writer.start()
    writer.join()
    assert [*found, *iteration] == documents
    assert len(collection) == 8
    assert "d5" not in collection
    assert "new" in collection


def test_an_abandoned_iteration_is_harmless(collection: Collection) -> None:
    collection.index(random_documents(9))
    iteration = iter(collection)
    next(iteration)
    collection.remove(["d1"])
    del iteration
    assert len(collection) == 8


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everywhere")
def test_a_read_only_collection_can_be_read(factory: CollectionFactory) -> None:
    path = factory.closed(DOCUMENTS)
    (path / "collection.db").chmod(0o400)
    path.chmod(0o500)
    with Collection.open(path) as collection:
        assert list(collection) == DOCUMENTS


def test_a_description_has_the_words_without_a_vector(filled: Collection) -> None:
    with filled.contents() as contents:
        described = {each.key: contents.describe(each.key) for each in DOCUMENTS}
        assert contents.total == 4
        with pytest.raises(UnknownKey, match="no document with the key 'nobody'"):
            contents.describe("nobody")
    assert [described[each.key].document for each in DOCUMENTS] == DOCUMENTS
    assert described["Füße \u2028"].unknown_words == tuple(sorted(NO_VECTOR))
    assert (described["b"].words, described["b"].unknown_words, described["b"].revision) == (5, ("a", "title"), 1)
    assert described["a"].words == 2


def test_entries_have_no_texts(filled: Collection) -> None:
    with filled.contents("label") as contents:
        entries = list(contents.entries())
        assert len(contents) == len(entries) == 3
    assert entries[0] == Entry("b", "A title", "red", {"n": 1, "who": {"name": "Ann"}}, 2, False, None)
    assert [(entry.key, entry.parts, entry.wordless) for entry in entries[1:]] == [
        ("c", 0, True), ("Füße \u2028", 1, True),
    ]  # fmt: skip


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_documents = st.builds(
    Document,
    _texts.filter(bool),
    _texts,
    st.lists(st.builds(Part, _texts, st.integers(0, 3)), max_size=3).map(tuple),
    st.none() | _texts,
    st.dictionaries(_texts, st.none() | st.booleans() | st.integers() | _texts | st.lists(_texts), max_size=3),
    st.booleans(),
)


@pytest.fixture(scope="module")
def shared(factory: CollectionFactory) -> Any:
    """Open a collection that examples fill one after the other."""
    with factory.empty() as opened:
        yield opened


@given(st.lists(_documents, max_size=4, unique_by=lambda each: each.key))
def test_any_documents_are_returned_as_they_were_given(shared: Collection, documents: list[Document]) -> None:
    shared.remove(list(shared.keys()))
    shared.index(documents)
    assert list(shared) == list(map(as_stored, documents))
