import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import ReadError
from moverank.indexer.files import gzip_limit
from moverank.indexer.readers.queries import read_batch, read_queries


def _file(folder: Path, content: bytes) -> str:
    path = folder / "queries"
    path.write_bytes(content)
    return str(path)


def test_one_query_a_line_has_its_number_as_id(tmp_path: Path) -> None:
    assert read_queries(_file(tmp_path, b"a cat\n\n  \n b dog \r\n")) == [("1", "a cat"), ("4", "b dog")]


def test_jsonl_may_have_ids(tmp_path: Path) -> None:
    lines = b'{"id": "x", "text": "a"}\n\n{"id": 7, "text": "b"}\n{"text": "c"}\n{"id": null, "text": ""}'
    assert read_queries(_file(tmp_path, lines)) == [("x", "a"), ("7", "b"), ("4", "c"), ("5", "")]


def test_a_byte_order_mark_is_not_part_of_the_first_query(tmp_path: Path) -> None:
    assert read_queries(_file(tmp_path, b"\xef\xbb\xbfcat")) == [("1", "cat")]
    assert read_queries(_file(tmp_path, b'\xef\xbb\xbf{"text": "cat"}')) == [("1", "cat")]


def test_gzipped_queries_are_unzipped(tmp_path: Path) -> None:
    assert read_queries(_file(tmp_path, gzip.compress(b"cat\ndog", mtime=0))) == [("1", "cat"), ("2", "dog")]


@pytest.mark.parametrize(
    "content",
    [b"cat\n", b"\xef\xbb\xbfcat", gzip.compress(b"cat", mtime=0), gzip.compress(b"\xef\xbb\xbfcat\n", mtime=0)],
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_queries("-") == [("1", "cat")]
    assert not stdin.buffer.closed


def test_errors_of_standard_input_have_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "cat"}\n\n[1]\n')))
    with pytest.raises(ReadError, match=r"^-:3: a query needs the form"):
        read_queries("-")


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ReadError, match="standard input is closed"):
        read_queries("-")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_json_text_is_read_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    lines = "\n".join(json.dumps({"id": str(i), "text": text}, ensure_ascii=False) for i, text in enumerate(texts))
    path = tmp_path_factory.getbasetemp() / "anything.jsonl"
    path.write_text(lines, encoding="utf-8", newline="")
    assert read_queries(str(path)) == [(str(i), text) for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "queries: holds no query"),
        (b" \n\n", "queries: holds no query"),
        (b"cat\ndog caf\xe9\n", "queries:2: byte 8 of the line is not UTF-8: convert the file"),
        (b'{"text": "cat"}\n{"text": \n', "queries:2: broken JSON at column 9: Expecting value"),
        (b'{"text": "cat"}\n' + b"[" * 200_000, "queries:2: broken JSON"),
        (b'{"text": "cat"}\n[1]\n', "queries:2: a query needs the form"),
        (b'{"text": "cat"}\n{"query": "cat"}\n', "queries:2: a query needs the form"),
        (b'{"text": 5}', "queries:1: a query needs the form"),
        (b'{"text": "cat", "id": [1]}', "queries:1: a query needs the form"),
        (gzip.compress(b"cat" * 50, mtime=0)[:-6], "queries: the gzip data are damaged or cut short"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_queries(_file(tmp_path, content))
    assert reason in str(caught.value)


def test_a_batch_has_good_and_bad_lines(tmp_path: Path) -> None:
    file = _file(tmp_path, b'caf\xe9\n{"id": "a", "text": "cat"}\n[\n\n{"text": "dog"}\n')
    batch = read_batch(file)
    assert [(query.id, query.text) for query in batch if not query.problem] == [("a", "cat"), ("5", "dog")]
    assert [query.id for query in batch if query.problem] == [f"{file}:1", f"{file}:3"]
    assert [(query.id, query.text) for query in read_batch(_file(tmp_path, b"cat\n{dog"))] == [
        ("1", "cat"),
        ("2", "{dog"),
    ]


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    with pytest.raises(ReadError, match="queries: unzipped it is over 200 times as long"):
        read_queries(_file(tmp_path, gzip.compress(b"cat\n" + (b" " * 1023 + b"\n") * (1 << 12))))


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="cannot be read: Is a directory"):
        read_queries(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="nowhere: cannot be read: No such file or directory"):
        read_queries(str(tmp_path / "nowhere"))
