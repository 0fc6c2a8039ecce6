"""Records as `export` writes them: back without loss, whatever the document holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Document, Part, Rejection
from moverank.indexer.reading import Fields, read_documents, read_threads
from moverank.indexer.reading.formats.threads import is_stored_record, stored_document
from moverank.indexer.reading.records import BadRecord

_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_values = st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
_parts = st.lists(st.builds(Part, st.text(), st.integers(0, 2**31 - 1)), max_size=3).map(tuple)
_documents = st.builds(
    Document, st.text(), st.text(), _parts, st.none() | st.text(), st.dictionaries(st.text(), _values), st.booleans()
)


@given(_documents)
def test_a_record_is_the_document_without_loss(document: Document) -> None:
    record = json.loads(json.dumps(document.to_dict()))
    assert is_stored_record(record)
    assert stored_document(record, "f:1") == document


def test_fields_beside_the_record_are_metadata() -> None:
    record: dict[str, Any] = {"id": 7, "parts": [{"text": "a"}, {"text": "b"}], "year": 2019, "metadata": {"n": ""}}
    assert stored_document(record, "f:1") == Document("7", "", (Part("a"), Part("b", 1)), None, {"n": "", "year": 2019})
    assert stored_document({"parts": []}, "f:1") == Document("f:1")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"parts": "x"}, "'parts' must be a list, not \"x\""),
        ({"parts": ["x"]}, 'part 1 must be an object {"text": ...}, not "x"'),
        ({"parts": [{}]}, "part 1 has no field 'text': the record has no fields"),
        ({"parts": [{"text": None}]}, "the text of part 1 must be a string, not null"),
        (
            {"parts": [{"text": "x", "rank": -1}]},
            "the rank of part 1 must be a whole number, 0 (the top) or more, not -1",
        ),
        ({"parts": [{"text": "x", "rank": True}]}, "the rank of part 1 must be a whole number"),
        ({"title": 3}, "'title' must be a string, not 3"),
        ({"label": 3}, "the label must be a string, not 3"),
        ({"title_counts": 0}, "'title_counts' must be true or false, not 0"),
        ({"metadata": []}, "'metadata' must be an object, not a list"),
        ({"metadata": {"n": float("inf")}}, "'n' is no finite number"),
    ],
)
def test_bad_records_are_rejected_with_their_key(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRecord) as caught:
        stored_document({"key": "k", "parts": []} | changed, "f:1")
    assert reason in caught.value.reason
    assert caught.value.key == "k"


def test_index_and_threads_read_them_beside_other_records(tmp_path: Path) -> None:
    document = Document("k", "T", (Part("b", 1), Part("a", 0)), " l ", {"id": 1, "text": "x"}, title_counts=False)
    path = tmp_path / "mixed.jsonl"
    others = [{"id": "n", "text": "x"}, {"id": "t", "title": "y", "comments": []}]
    path.write_text("".join(json.dumps(record) + "\n" for record in [document.to_dict(), *others]))
    read, threads = list(read_documents([str(path)])), list(read_threads([str(path)]))
    assert read[:2] == [document, Document("n", "", (Part("x"),))]
    assert threads[0] == document
    assert threads[2] == Document("t", "y")


def test_a_named_text_field_is_the_text(tmp_path: Path) -> None:
    path = tmp_path / "named.jsonl"
    path.write_text('{"id": "n", "parts": [{"text": "x"}], "words": "y"}\n')
    assert list(read_documents([str(path)], fields=Fields(text="words"))) == [Document("n", "", (Part("y"),))]
    (rejected,) = read_documents([str(path)], fields=Fields(text="nope"))
    assert isinstance(rejected, Rejection)
