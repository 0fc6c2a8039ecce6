import json

import pytest

from moverank.indexer.reading import Fields, streams
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

BAD = [
    (b'{"id": 1, "text": "x"', "broken JSON at column 22: Expecting ',' delimiter"),
    (b'{"id": 1 "text": "x"}', "broken JSON at column 10"),
    (b"[1, 2]", "must be a JSON object ({...}) on a line of its own, not [1, 2]"),
    (b'"just text"', "must be a JSON object"),
    (b"null", "must be a JSON object"),
    (b'{"id": 1, "text": NaN}', "NaN is not JSON"),
    (b'{"id": 1, "text": "x", "n": -Infinity}', "-Infinity is not JSON"),
    (b'{"id": 1, "text": "x", "n": 1e999}', "no finite number"),
    (b'{"id": ' + b"1" * 5000 + b', "text": "x"}', "too many digits"),
    (b'{"id": 1, "text": ' + b"[" * 100_000, "nested too deeply"),
    (b'{"id": 1, "text": "caf\xe9"}', "byte 23 of the line is not UTF-8"),
    (b'{"id": 1, "text": " \\n "}', "there is no text"),
    (b'{"id": 1}', "no field for the text"),
    (b'{"id": " ", "text": "x"}', "the key is empty"),
    (b'{"id": 1, "text": "a\\u0000b"}', "NUL"),
    (b'{"id": 1, "text": "a\\ud800b"}', r"\ud800, half of a surrogate pair"),
    (b'{"id": "\\udfff", "text": "x"}', r"\udfff, half of a surrogate pair"),
    (b'{"id": 1, "text": "x", "title": "\\ud800"}', "half of a surrogate pair"),
    (b'{"id": 1, "text": "x", "tags": ["\\ud800"]}', "half of a surrogate pair"),
    (b'{"id": 1, "text": "x", "\\u0000": 1}', "NUL"),
    (b'{"id": "first", "text": "again"}', "the key 'first' is already taken by a.jsonl:1: keys must be unique"),
    (b"\0\0", "broken JSON at column 1"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_record_is_rejected_and_the_others_are_read(
    write: Write, documents: Read, line: bytes, reason: str
) -> None:
    path = write("a.jsonl", b'{"id": "first", "text": "x"}\n\n' + line + b'\n{"id": "last", "text": "y"}')
    good, bad = documents(path)
    assert [document.key for document in good] == ["first", "last"]
    assert [(rejection.source, rejection.line) for rejection in bad] == [("a.jsonl", 3)]
    assert reason in bad[0].reason


def test_a_rejection_has_the_key_where_it_is_known(write: Write, documents: Read) -> None:
    path = write("a.jsonl", '{"id": 5, "text": 1}\n{"id": 6, "text": ""}\n{"text": "x", "label": {}}\n{')
    assert [rejection.key for rejection in documents(path)[1]] == ["5", "6", "a.jsonl:3", None]


def test_a_line_beyond_the_limit(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 100)
    path = write("a.jsonl", json.dumps({"id": 1, "text": "x" * 100}) + '\n{"id": 2, "text": "y"}\n')
    good, bad = documents(path)
    assert [document.key for document in good] == ["2"]
    assert str(bad[0]) == "a.jsonl:1: the line is longer than 100 bytes: split it"


def test_a_byte_order_mark_and_windows_line_ends(write: Write, documents: Read) -> None:
    path = write("a.jsonl", b'\xef\xbb\xbf{"id": 1, "text": "x"}\r\n\r\n{"text": "y"}\r\n')
    assert documents(path) == ([Document("1", "", (Part("x"),)), Document("a.jsonl:3", "", (Part("y"),))], [])


def test_default_keys_hold_the_whole_path_of_a_file_in_a_directory(write: Write, documents: Read) -> None:
    write("d/e/a.jsonl", '{"text": "x"}')
    assert documents("d")[0][0].key == "d/e/a.jsonl:1"


def test_duplicates_are_rejected_across_files(write: Write, documents: Read) -> None:
    write("a.jsonl", '{"id": "1", "text": "x"}')
    write("b.txt", "y")
    write("c.jsonl", '{"id": "b.txt", "text": "x"}\n{"id": 1, "text": "other"}')
    good, bad = documents("a.jsonl", "b.txt", "c.jsonl")
    assert [document.key for document in good] == ["1", "b.txt"]
    assert ["b.txt: keys" in bad[0].reason, "a.jsonl:1: keys" in bad[1].reason] == [True, True]


def test_a_rejected_record_does_not_take_its_key(write: Write, documents: Read) -> None:
    good, _ = documents(write("a.jsonl", '{"id": 1, "text": ""}\n{"id": 1, "text": "x"}'))
    assert [document.key for document in good] == ["1"]


def test_a_named_field_that_no_record_has(write: Write, documents: Read) -> None:
    path = write("a.jsonl", '{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}')
    good, bad = documents(path, fields=Fields(text="words"))
    assert not good
    assert [str(rejection) for rejection in bad] == [
        f"a.jsonl:{line}: there is no field 'words': the record has 'id', 'text'" for line in (1, 2)
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"index": {"_id": "1"}}\n', "an instruction of a bulk file, and no text: keep the lines with texts alone"),
        (
            '{"data": [{"id": "1", "text": "hot"}]}\n',
            "its records are in its field 'data': take them out, as `jq -c '.data[]'`",
        ),
    ],
)
def test_records_within_others_have_their_remedy(write: Write, documents: Read, content: str, reason: str) -> None:
    found, (rejection,) = documents(write("a.json", content))
    assert not found
    assert reason in rejection.reason


def test_a_plain_file_with_the_name_of_gzip_is_read(write: Write, documents: Read) -> None:
    (found,), bad = documents(write("a.jsonl.gz", '{"id": "1", "text": "hot"}\n'))
    assert not bad
    assert found.key == "1"
