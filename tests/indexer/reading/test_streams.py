import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import read_documents, streams
from moverank.indexer.reading.finding.files import Source
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.streams import Meter, Stream, open_source
from moverank.indexer.values.documents import Document, Rejection
from tests.indexer.reading.conftest import Read, Write


def stream_of(data: bytes) -> Stream:
    return Stream(Source("s", "s"), io.BytesIO(data).read1)


@given(st.binary(max_size=300))
def test_lines_are_the_lines(data: bytes) -> None:
    expected = io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")).readlines()
    assert list(stream_of(data).lines()) == expected
    assert b"".join(stream_of(data).chunks()) == b"".join(expected) == stream_of(data).whole()


def test_a_line_that_is_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 5)
    stream = stream_of(b"good\n" + b"x" * 200_000 + b"\nfive\n" + b"y" * 6)
    assert list(stream.lines()) == [b"good\n", None, b"five\n", None]
    assert stream.line == 4
    texts = list(stream_of(b"123456789\nok").texts())
    assert str(texts[0]) == "the line is longer than 5 bytes: split it"
    assert texts[1] == "ok"
    with pytest.raises(BadRecord, match="the file is longer than 5 bytes"):
        stream_of(b"123456").whole()


def test_the_head_does_not_advance() -> None:
    stream = stream_of(b"\xef\xbb\xbfabc" + b"d" * 100_000)
    assert stream.head().startswith(b"abcd")
    assert len(stream.whole()) == 100_003


def test_meter_reports_at_most_every_step() -> None:
    reported: list[tuple[int, int | None]] = []
    meter = Meter(lambda _task, done, total, _unit: reported.append((done, total)), 100, step=10)
    for _ in range(10):
        meter.add(4)
    meter.report()
    assert reported == [(12, 100), (24, 100), (36, 100), (40, 100)]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt"])
def test_gzip_is_detected_by_its_first_bytes(write: Write, name: str) -> None:
    write(name, gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    with open_source(Source(name, name)) as stream:
        assert stream.whole() == b"one\ntwo\n"


def test_a_gz_that_is_not_gzip_is_read_and_an_empty_one_is_empty(write: Write, documents: Read) -> None:
    write("a.jsonl.gz", '{"id": 1, "text": "x"}')
    write("b.jsonl.gz", "")
    good, bad = documents("a.jsonl.gz", "b.jsonl.gz")
    assert [each.key for each in good] == ["1"]
    assert not bad


@pytest.mark.parametrize("keep", [20, 1000, 30_000, 60_000])
def test_data_before_the_cut_in_a_gzip_are_read(write: Write, documents: Read, keep: int) -> None:
    lines = [f'{{"id": {i}, "text": "{i * 7919 % 100_003} {i * i}"}}\n'.encode() for i in range(10_000)]
    whole = gzip.compress(b"".join(lines))
    write("cut.jsonl.gz", whole[:keep])
    write("next.txt", "the next file")
    good, bad = documents("cut.jsonl.gz", "next.txt")
    # An independent oracle: as many whole lines as zlib can unpack.
    import zlib

    unpacked = zlib.decompressobj(31).decompress(whole[:keep])
    assert [document.key for document in good[:-1]] == [str(i) for i in range(unpacked.count(b"\n"))]
    assert good[-1].key == "next.txt"
    assert [(rejection.source, rejection.line) for rejection in bad] == [("cut.jsonl.gz", unpacked.count(b"\n"))]


def test_a_changed_byte_in_a_gzip_is_reported(write: Write, documents: Read) -> None:
    data = bytearray(gzip.compress(b"text of one document"))
    data[-6] ^= 0xFF  # of the checksum
    write("a.txt.gz", bytes(data))
    good, bad = documents("a.txt.gz")
    assert not good
    assert "CRC" in bad[0].reason


def test_a_failing_disk_is_reported(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.RawIOBase):
        served = False

        def readable(self) -> bool:
            return True

        def read1(self, _size: int = -1) -> bytes:
            if self.served:
                raise OSError(5, "Input/output error")
            self.served = True
            return b"first\nseco"

    write("a.txt", "x")
    monkeypatch.setattr(Path, "open", lambda *_: Failing())
    found = read_documents(["a.txt"], format="lines")
    first = next(found)
    assert isinstance(first, Document)
    assert first.key == "a.txt:1"
    (rejection,) = [item for item in found if isinstance(item, Rejection)]
    assert str(rejection) == "a.txt:1: from here on it cannot be read: Input/output error"


def test_standard_input_stays_open_and_may_be_gzip(monkeypatch: pytest.MonkeyPatch, documents: Read) -> None:
    for data in (b"one\ntwo\n", gzip.compress(b"one\ntwo\n")):
        stdin = io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", stdin)
        good, bad = documents("-")
        assert ([document.key for document in good], bad) == (["-:1", "-:2"], [])
        assert not stdin.buffer.closed
