"""Whatever bytes a file holds: every reader terminates, with documents and reasons."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import ReadError
from moverank.indexer.files import gzip_limit
from moverank.indexer.reading import DOCUMENT_FORMATS, THREAD_FORMATS, read_documents, read_threads, source_reader
from moverank.indexer.reading.inputs.queries import read_queries
from moverank.indexer.values.documents import Document, Rejection
from tests.indexer.reading.test_reading import SAMPLES
from tests.samples import examples

_SEEDS = [
    b'{"id": "a", "text": "x", "comments": [{"text": "y", "rank": 1}]}\n',
    b"id,text\n1,x\n",
    b"From a@b\nSubject: s\nMessage-ID: <1>\n\nx\n",
    b'<?xml version="1.0"?>\n<posts>\n<row Id="1" PostTypeId="1" Title="t" Body="b" Score="1"/>\n</posts>\n',
    b"label\ttext\n",
    b"---\ntitle: t\ndate: 2021-03-05\n---\n# t\n\nx\n",
    b"+++\ntitle = 't'\n+++\nx\n",
    b"<html><head><title>t</title><meta charset=latin-1></head><body>x<script>y</script>",
    b'{"cells": [{"cell_type": "code", "source": ["x"]}], "metadata": {"title": "t"}}',
    b'[\n{"id": 1, "text": "x"},\n{"id": 2, "text": "y"}\n]',
    gzip.compress(b'{"id": "a", "text": "x"}\n'),
]
_PIECES = st.sampled_from(
    [*_SEEDS, b'"', b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"<!DOCTYPE a>", b"&#0;", b"\x1f\x8b", b"\n\n"]
)


@st.composite
def _files(draw: st.DrawFn, sample: bytes = b"") -> bytes:
    """Draw a file that begins as the sample does, or with another format, zipped or cut."""
    start = sample[: draw(st.integers(0, len(sample)))]
    data = start + b"".join(draw(st.lists(_PIECES | st.binary(max_size=20), max_size=6)))
    data = gzip.compress(data) if draw(st.booleans()) else data
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@pytest.mark.parametrize(
    ("read", "format_"),
    [(read_documents, name) for name in (None, *DOCUMENT_FORMATS)]
    + [(read_threads, name) for name in (None, *THREAD_FORMATS)],
)
@examples(2)
@given(drawn=st.data())
def test_documents_and_threads(
    tmp_path: Path, read: Callable[..., Iterator[Document | Rejection]], format_: str | None, drawn: st.DataObject
) -> None:
    (tmp_path / "file").write_bytes(drawn.draw(_files(SAMPLES.get(format_ or "", b""))))
    try:
        results = list(read([str(tmp_path / "file")], format=format_))
    except ReadError as error:
        assert "\n" not in str(error)  # noqa: PT017 - it may be refused as a whole
        return
    for record in results:
        if isinstance(record, Document):
            assert record.key.strip()
            assert record.title or any(part.text.strip() for part in record.parts)
            assert all(part.rank >= 0 for part in record.parts)
            assert "\0" not in record.key + record.title
            json.dumps([record.key, record.title, record.label, dict(record.metadata)], ensure_ascii=False).encode()
        else:
            assert record.reason


@given(data=_files())
def test_queries(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    try:
        read_queries(str(tmp_path / "file"))
    except ReadError as error:
        assert "\n" not in str(error)  # noqa: PT017 - it may be refused as a whole


def test_a_gzip_bomb_is_refused_and_the_next_file_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    line = b'{"id": "a", "text": "x"}\n'
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(line + (b" " * 1023 + b"\n") * (1 << 12)))
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(line.replace(b'"a"', b'"b"') + b" " * 1000))
    (tmp_path / "3.xml.gz").write_bytes(gzip.compress(b"<posts>" + b" " * (1 << 22)))
    first, bad, second = read_documents([str(tmp_path / name) for name in ("1.jsonl.gz", "2.jsonl.gz")])
    assert [result.key for result in (first, second) if isinstance(result, Document)] == ["a", "b"]
    assert isinstance(bad, Rejection)
    assert "unzipped it is over 200 times as long" in bad.reason
    (bomb,) = read_threads([str(tmp_path / "3.xml.gz")])
    assert isinstance(bomb, Rejection)
    assert "unzipped it is over 200 times as long" in bomb.reason


def test_a_thread_of_too_many_posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reader, "MAX_PARTS", 3)
    many = '{"id": "a", "comments": [' + ", ".join(['{"text": "x"}'] * 4) + "]}\n"
    (tmp_path / "t.jsonl").write_text(many + many.replace(', {"text": "x"}]', "]").replace('"a"', '"b"'))
    bad, good = read_threads([str(tmp_path / "t.jsonl")])
    assert isinstance(bad, Rejection)
    assert bad.reason == "it has 4 posts, over the limit of 3: split it"
    assert isinstance(good, Document)
