"""JSON arrays and pretty-printed objects hold the records that JSON lines hold."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import streams
from tests.indexer.reading.conftest import Read, Write

RECORDS: list[dict[str, Any]] = [
    {"id": 1, "text": 'a "quoted", [bracketed] {text}\n', "year": 2020, "tags": ["x", "y"]},
    {"id": "two", "text": "café ✓", "title": "T", "nested": {"a": [{}]}},
    {"id": 3, "text": "c"},
]


SCALARS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)


def pretty(records: list[dict[str, Any]]) -> list[str]:
    return [
        json.dumps(records),
        json.dumps(records, separators=(",", ":")),
        json.dumps(records, indent=2),
        json.dumps(records, indent="\t", ensure_ascii=False) + "\n",
        "[\n" + ",\n".join(map(json.dumps, records)) + "\n]",
        "\n".join(json.dumps(record, indent=1) for record in records),
    ]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
def test_every_layout_holds_the_same_records(write: Write, documents: Read, name: str) -> None:
    expected, _ = documents(write("lines.jsonl", "".join(json.dumps(record) + "\n" for record in RECORDS)))
    assert len(expected) == 3
    for text in pretty(RECORDS):
        assert documents(write(name, text)) == (expected, [])


def test_threads_too(write: Write, threads: Read) -> None:
    records = [{"id": i, "title": "t", "comments": [{"text": "c"}]} for i in range(3)]
    for text in pretty(records):
        found, rejected = threads(write("a.json", text))
        assert ([thread.key for thread in found], rejected) == (["0", "1", "2"], [])


def test_the_key_of_a_record_without_one_is_its_number(write: Write, documents: Read) -> None:
    found, _ = documents(write("a.json", '[{"text": "x"}, {"text": "y"},\n{"text": "z"}]'))
    assert [document.key for document in found] == ["a.json:1", "a.json:2", "a.json:3"]


@given(values=st.lists(VALUES, max_size=5), indent=st.sampled_from([None, 0, 3]))
def test_each_value_is_a_record_or_rejected(
    write: Write, documents: Read, values: list[object], indent: int | None
) -> None:
    good = {"text": "good"}
    found, rejected = documents(write("a.json", json.dumps([good, *values, good], indent=indent)))
    assert [document.parts[0].text for document in found].count("good") == 2
    objects = [value for value in values if isinstance(value, dict)]
    # A list among the values is taken apart, since brackets do not matter.
    assert len(found) + len(rejected) >= 2 + len(objects)


@pytest.mark.parametrize("size", [7, 100, 1 << 16])
def test_values_may_lie_across_chunks(
    write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(streams, "_BUFFER", size)
    number = random.Random(0)  # noqa: S311 - a sample, no secret
    records = [{"id": i, "text": "é" * number.randrange(1, 90), "n": 10**i} for i in range(40)]
    found, rejected = documents(write("a.json", json.dumps(records, ensure_ascii=False, indent=1)))
    assert rejected == []
    assert [(document.parts[0].text, document.metadata["n"]) for document in found] == [
        (record["text"], record["n"]) for record in records
    ]


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ('[\n{"id": 1, "text": "x"},\n{"id": 2, "text": }\n]', ["1"], "a.json:3: broken JSON: Expecting value"),
        ('[\n{"id": 1, "text": "x"},\n{"id": 2,', ["1"], "a.json:3: broken JSON: Expecting property name"),
        ('[\n{"id": 1, "text": "x"}\n, 5, {"id": 2, "text": "y"}]', ["1", "2"], "a.json:3: a record must be a JSON ob"),
        ('[\n{"id": 1, "x": NaN}\n, {"id": 2, "text": "y"}]', ["2"], "a.json:2: NaN is not JSON: use null"),
        ('[\n{"id": 1, "x": ' + "9" * 5000 + '},\n {"id": 2, "text": "y"}]', ["2"], "a.json:2: a number has too many"),
        ('[{"x": ' + "[" * 100_000, [], "a.json:1: the JSON is nested too deeply"),
        ('{\n  "name": "package",\n  "version": "1"\n}', [], "a.json:1: there is no field for the text"),
    ],
)
def test_faults(write: Write, documents: Read, text: str, keys: list[str], message: str) -> None:
    found, (rejection,) = documents(write("a.json", text))
    assert [document.key for document in found] == keys
    assert str(rejection).startswith(message)


def test_bytes_that_are_not_utf8_end_the_reading(write: Write, documents: Read) -> None:
    _, (rejection,) = documents(write("a.json", b'[\n{"id": 1, "text": "caf\xe9"}]'))
    assert "it is not UTF-8: name the encoding of the file" in rejection.reason
    assert rejection.reason.endswith("from here on the file is not read")


def test_a_record_may_not_be_longer_than_the_limit(
    write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LIMIT", 1 << 17)
    text = '[{"id": 1, "text": "x"}, {"id": 2, "text": "' + "x" * (1 << 19) + '"}]'
    found, (rejection,) = documents(write("a.json", text))
    assert [document.key for document in found] == ["1"]
    assert "the record is longer than 131,072 bytes" in rejection.reason
