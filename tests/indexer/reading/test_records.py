from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import Fields
from moverank.indexer.reading.records import KEY_FIELDS, BadRecord, Record, document_of, first_line, one_line, with_key
from moverank.indexer.values.documents import Document, Metadata, Part


def make(record: Record, **fields: Any) -> Document:
    return document_of(record, "f:1", Fields(**fields))


def test_default_fields() -> None:
    record = {"id": "a", "title": "T  x", "text": "body", "label": "l", "split": "train", "n": 3, "tags": ["x", 1]}
    metadata: Metadata = {"split": "train", "n": 3, "tags": ["x", 1]}
    assert make(record) == Document("a", "T x", (Part("body"),), "l", metadata)


@pytest.mark.parametrize("name", ["key", "_id", "docid", "doc_id", "docno"])
def test_other_names_of_the_key(name: str) -> None:
    assert make({name: 7, "body": "x"}).key == "7"


@pytest.mark.parametrize("name", [*KEY_FIELDS, "other"])
def test_another_key_takes_the_place_of_a_records_own(name: str) -> None:
    own = {} if name in KEY_FIELDS else {name: 7}
    assert make(with_key({name: 7, "body": "x"}, "new")) == Document("new", parts=(Part("x"),), metadata=own)


def test_named_fields_take_precedence() -> None:
    record = {"id": 1, "nr": 2, "title": "t", "head": "h", "text": "x", "words": "w", "label": "l", "kind": 3.5}
    document = make(record, key="nr", title="head", text="words", label="kind")
    assert document == Document("2", "h", (Part("w"),), "3.5", {"id": 1, "title": "t", "text": "x", "label": "l"})


def test_empty_fields_are_left_out_of_the_metadata_and_nested_ones_are_not() -> None:
    kept = {"c": {"d": 1, "e": None}, "e": [[1], {"f": 2}], "f": [], "g": False, "h": 0}
    assert make({"text": "x", "a": None, "b": "", "i": {}, **kept}).metadata == kept


def test_the_posts_of_a_thread_are_no_metadata() -> None:
    record = {
        "text": "x",
        "comments": [{"text": "y"}],
        "replies": [{"user": "u", "text": "z"}],
        "likes": [{"user": "u"}],
    }
    assert make(record).metadata == {"likes": [{"user": "u"}]}


def test_the_default_key() -> None:
    assert make({"text": "x"}).key == "f:1"


def test_a_title_may_stand_alone() -> None:
    assert make({"title": "T", "text": None}) == Document("f:1", "T", ())
    assert make({"title": "T", "text": " \n"}) == Document("f:1", "T", ())
    assert make({"title": None, "text": "x", "label": None}) == Document("f:1", "", (Part("x"),))


@pytest.mark.parametrize(
    ("label", "expected"), [(" a ", "a"), ("", None), (None, None), (3, "3"), (True, "true"), (1.5, "1.5")]
)
def test_labels(label: object, expected: str | None) -> None:
    assert make({"text": "x", "label": label}).label == expected


@pytest.mark.parametrize(
    ("record", "fields", "reason", "key"),
    [
        ({"id": 1, "words": "x"}, {}, "no field for the text (text, body, content, contents, abstract): ", "1"),
        ({"id": 1, "text": 5}, {}, "'text' must be a string, not 5", "1"),
        ({"id": 1, "text": ["x"]}, {}, "'text' must be a string, not a list", "1"),
        ({"id": 1, "text": {"x": 1}}, {}, "'text' must be a string, not an object", "1"),
        ({"id": 1, "text": "x", "title": True}, {}, "'title' must be a string, not true", "1"),
        ({"id": 1.0, "text": "x"}, {}, "the key 'id' must be a string or an integer, not 1.0", None),
        ({"id": True, "text": "x"}, {}, "the key 'id' must be a string or an integer, not true", None),
        ({"id": None, "text": "x"}, {}, "the key 'id' must be a string or an integer, not null", None),
        ({"id": 1, "text": "x", "label": [1]}, {}, "the label 'label' must be a string or a number, not a list", "1"),
        ({"id": 1, "text": "x"}, {"label": "kind"}, "no field 'kind': the record has 'id', 'text'", "1"),
        ({"id": 1, "text": "x"}, {"key": "nr"}, "no field 'nr': the record has 'id', 'text'", None),
        ({}, {"text": "words"}, "no field 'words': the record has no fields", "f:1"),
        ({"id": 1, "text": "x", "n": float("inf")}, {}, "'n' is no finite number", "1"),
        ({"id": 1, "text": "x", "n": [1, float("inf")]}, {}, "'n' is no finite number", "1"),
    ],
)
def test_bad_records(record: Record, fields: dict[str, str], reason: str, key: str | None) -> None:
    with pytest.raises(BadRecord) as caught:
        make(record, **fields)
    assert reason in caught.value.reason
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("title", "text"),
    [("Tea", "hot water"), ("Tea ", " TEA is hot"), ("Tea", "Teapots are hot"), ("Tea", "tea"), ("", "x"), (" ", "x ")],
)
def test_texts_are_the_users_and_titles_stand_apart(title: str, text: str) -> None:
    assert make({"title": title, "text": text}) == Document("f:1", title.strip(), (Part(text),))


@given(st.text(), st.text())
def test_no_word_of_title_or_text_is_lost(title: str, text: str) -> None:
    document = make({"title": title, "text": text})
    assert document.title == one_line(title)
    assert document.title.split() == title.split()
    assert document.parts == ((Part(text),) if text.strip() else ())


@given(st.text())
def test_first_line_is_a_line(text: str) -> None:
    line = first_line(text)
    assert len(line) <= 80
    assert len(line.splitlines()) <= 1
    assert bool(line) == bool(text.strip())
    assert text.lstrip().startswith(line)


def test_several_texts_are_parts_of_one_document() -> None:
    record: Record = {"id": "a", "question": "one", "answer": "two", "note": "", "year": 2020}
    found = make(record, text="question", more_texts=("answer", "note"))
    assert [(part.text, part.rank) for part in found.parts] == [("one", 0), ("two", 0)]
    assert found.metadata == {"year": 2020}
    with pytest.raises(BadRecord, match="'reply'"):
        make(record, text="question", more_texts=("reply",))
