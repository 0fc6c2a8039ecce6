import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Document, Part
from moverank.indexer.errors import ReadError
from moverank.indexer.reading import read_documents
from moverank.indexer.reading.inputs.queries import read_batch, read_queries, read_query_file, read_query_thread


def _file(folder: Path, content: bytes) -> str:
    path = folder / "queries"
    path.write_bytes(content)
    return str(path)


def _texts(path: str) -> list[tuple[str, str]]:
    """Return (id, text) of queries that are only a text."""
    queries = read_queries(path)
    assert all(id_ == query.key and not query.title and len(query.parts) <= 1 for id_, query in queries)
    return [(id_, "".join(part.text for part in query.parts)) for id_, query in queries]


def test_one_query_a_line_has_its_number_as_id(tmp_path: Path) -> None:
    assert _texts(_file(tmp_path, b"a cat\n\n  \n b dog \r\n")) == [("1", "a cat"), ("4", "b dog")]


def test_jsonl_may_have_ids(tmp_path: Path) -> None:
    lines = b'{"id": "x", "text": "a"}\n\n{"id": 7, "text": "b"}\n{"text": "c"}\n{"id": null, "text": ""}'
    assert _texts(_file(tmp_path, lines)) == [("x", "a"), ("7", "b"), ("4", "c"), ("5", "")]


def test_a_byte_order_mark_is_not_part_of_the_first_query(tmp_path: Path) -> None:
    assert _texts(_file(tmp_path, b"\xef\xbb\xbfcat")) == [("1", "cat")]
    assert _texts(_file(tmp_path, b'\xef\xbb\xbf{"text": "cat"}')) == [("1", "cat")]


@pytest.mark.parametrize(
    "content",
    [b"cat\n", b"\xef\xbb\xbfcat", gzip.compress(b"cat", mtime=0), gzip.compress(b"\xef\xbb\xbfcat\n", mtime=0)],
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert _texts("-") == [("1", "cat")]
    assert not stdin.buffer.closed


def test_errors_of_standard_input_have_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "cat"}\n\n[1]\n')))
    with pytest.raises(ReadError, match=r"^-:3: a record must be a JSON object"):
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
    assert _texts(str(path)) == [(str(i), text if text.strip() else "") for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "queries: holds no query"),
        (b" \n\n", "queries: holds no query"),
        (b"cat\ndog caf\xe9\n", "queries:2: byte 8 of the line is not UTF-8: convert the file"),
        (b'{"text": "cat"}\n{"text": \n', "queries:2: broken JSON at column 9: Expecting value"),
        (b'{"text": "cat"}\n' + b"[" * 200_000, "queries:2: the JSON is nested too deeply"),
        (b'{"text": "cat"}\n[1]\n', "queries:2: a record must be a JSON object"),
        (b'{"text": "cat"}\n{"query": "cat"}\n', "queries:2: a query needs the form"),
        (b'{"query": "cat"}', "or that of a thread: the record has 'query'"),
        (b'{"id": 1}', "queries:1: a query needs the form"),
        (b'{"text": 5}', "queries:1: 'text' must be a string, not 5"),
        (b'{"text": "cat", "title": ["a"]}', "queries:1: 'title' must be a string, not a list"),
        (b'{"text": "cat", "id": [1]}', "queries:1: the key 'id' must be a string or an integer, not a list"),
        (b'{"body": "cat", "comments": [{"rank": 1}]}', "queries:1: comment 1 has no field 'text'"),
        (b'{"parts": [{"text": "a", "rank": -1}]}', "queries:1: the rank of part 1 must be a whole number"),
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


def test_queries_may_be_records_of_documents_and_threads(tmp_path: Path) -> None:
    posts = [{"text": "late", "score": 1}, {"text": "first", "accepted": True}]
    records: list[dict[str, object]] = [
        {"_id": "a", "title": "Cat", "text": "cat dog", "metadata": {"x": [1]}},
        {"id": "b", "title": "Cat", "body": "cat dog", "comments": posts},
        {"id": "c", "text": "cat dog", "comments": posts},
        {"key": "d", "subject": "Cat", "content": "cat", "label": [1], "price": 3},
        {"key": "e", "title": "Cat", "parts": [{"text": "cat", "rank": 3}], "title_counts": False},
        {"title": "Cat"},
        {"id": None, "name": "Cat", "body": "dog", "comments": []},
    ]
    ranked = (Part("cat dog"), Part("first", 1), Part("late", 2))
    lines = "\n".join(map(json.dumps, records)).encode()
    assert [query for _, query in read_queries(_file(tmp_path, lines))] == [
        Document("a", "Cat", (Part("cat dog"),)),
        Document("b", "Cat", ranked),
        Document("c", "", ranked),
        Document("d", "Cat", (Part("cat"),)),
        Document("e", "Cat", (Part("cat", 3),), title_counts=False),
        Document("6", "Cat"),
        Document("7", "Cat", (Part("dog"),), title_counts=False),
    ]


@pytest.mark.parametrize("name", ["notes.txt", "notes", "mail.eml"])
def test_a_file_is_the_query_that_index_stores_of_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("Subject: Hot plug\n\nThe plug\nis hot.\n")
    (stored,) = read_documents([str(file)])
    assert read_query_file(str(file)) == stored
    assert isinstance(stored, Document)
    assert stored.title == ("Subject: Hot plug" if name == "notes.txt" else "Hot plug")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "text\na cat\na dog\n"), ("a.jsonl", '{"text": "cat"}\n'), ("a", "x\ta cat\ny\ta dog\n")],
)
def test_a_file_of_many_documents_is_one_text(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    query = read_query_file(str(tmp_path / name))
    assert query.parts == (Part(content),)
    assert query.title == content.splitlines()[0]


def test_standard_input_is_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hot plug\n\na cat\n")))
    assert read_query_file("-") == Document("-", "Hot plug", (Part("Hot plug\n\na cat\n"),))
    thread = b'{"id": "t", "title": "Hot", "body": "plug", "comments": [{"text": "cat"}]}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(thread)))
    assert read_query_thread("-") == Document("t", "Hot", (Part("plug"), Part("cat", 1)))


@pytest.mark.parametrize(
    ("read", "name", "content", "reason"),
    [
        (read_query_file, "a.txt", b"", "a.txt: there is no text"),
        (read_query_file, "a.txt", b"cat \xff", "a.txt: byte 5 of the file, in line 1, is not UTF-8"),
        (read_query_file, "a", b"PK\0\1", "a: it holds NUL bytes, so it is no text"),
        (read_query_file, "b.txt", b"cat", "no such file or directory"),
        (read_query_thread, "a.jsonl", b"", "a.jsonl: holds no query"),
        (
            read_query_thread,
            "a.jsonl",
            b'{"body": "a"}\n{"body": "b"}',
            "holds more than one query: --queries",
        ),
        (read_query_thread, "a.jsonl", b'{"body": 5}', "a.jsonl:1: 'body' must be a string, not 5"),
        (read_query_thread, "a.jsonl", b'\n{"body": ', "a.jsonl:2: broken JSON at column 9"),
        (read_query_thread, "a.txt", b"cat", "a.txt: it does not look like threads"),
        (read_query_thread, "b.jsonl", b"", "no such file or directory"),
    ],
)
def test_a_bad_query_file_is_named(
    tmp_path: Path, read: Callable[[str], Document], name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name.replace("b.", "other.")).write_bytes(content)
    with pytest.raises(ReadError, match=re.escape(reason)):
        read(str(tmp_path / name))


def test_a_directory_is_no_query(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("cat")
    with pytest.raises(ReadError, match="holds more than one query: name one file"):
        read_query_file(str(tmp_path))
