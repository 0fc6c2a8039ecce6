import gzip
import io
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import UsageError
from moverank.indexer.reading import DOCUMENT_FORMATS, THREAD_FORMATS, Fields, read_documents, read_threads
from moverank.indexer.values.documents import Document, Rejection
from tests.indexer.reading.conftest import Write

Reader = Callable[..., Iterator[Document | Rejection]]


def _tables() -> dict[str, bytes]:
    """Return samples of Parquet and Arrow, if pyarrow can write them."""
    try:
        import pyarrow as pa
        from pyarrow import ipc, parquet
    except ImportError:
        return {}
    table = pa.Table.from_pylist([{"id": number, "text": "x", "comments": [{"text": "y"}]} for number in (1, 2, 3)])
    columns, batches = io.BytesIO(), io.BytesIO()
    parquet.write_table(table, columns, row_group_size=2)
    with ipc.new_file(batches, table.schema) as file:
        file.write_table(table)
    return {"parquet": columns.getvalue(), "arrow": batches.getvalue()}


SAMPLES: dict[str, bytes] = {
    "text": b"some text\n",
    "markdown": b"---\ntitle: t\ntags: [a, b]\n---\n# t\ntext\n",
    "html": b"<title>t</title><p>text<br>more<script>x</script>",
    "notebook": b'{"cells": [{"cell_type": "markdown", "source": ["# t\\n", "x"]}], "metadata": {}}',
    "lines": b"one\ntwo\n\nthree",
    "labelled-lines": b"a\tone\nb\ttwo\n",
    "jsonl": b'{"id": 1, "text": "x", "comments": [{"text": "y"}]}\n{"id": 2, "text": 5, "comments": 7}\n',
    "csv": b'id,text\n1,"a\nb"\n2,c\n3\n',
    "tsv": b"id\ttext\n1\ta\n",
    "mbox": b"From x\nMessage-ID: <a>\nSubject: s\n\nbody\n\nFrom y\nReferences: <a>\n\nmore\n",
    "message": b"From: x\nSubject: s\n\nbody\n",
    "stackexchange": b"<posts><row Id='1' PostTypeId='1' Title='x'/><row Id='2' PostTypeId='2' ParentId='1'/></posts>",
    **_tables(),
}
POSTS = partial(read_threads, fields=Fields(thread="id"))
"""Reads tables of posts."""
FORMATS = [
    pytest.param(read, name, marks=[] if name in SAMPLES else pytest.mark.skip("needs the extra parquet"))
    for read, name in [
        *((read_documents, name) for name in DOCUMENT_FORMATS),
        *((POSTS if name in ("csv", "tsv") else read_threads, name) for name in THREAD_FORMATS),
    ]
]


def plain(results: Iterator[Document | Rejection], name: str) -> list[str]:
    return [repr(item).replace(name, "SOURCE") for item in results]


@pytest.mark.parametrize(("read", "name"), FORMATS)
def test_gzip_and_standard_input_make_no_difference(
    write: Write, monkeypatch: pytest.MonkeyPatch, read: Reader, name: str
) -> None:
    data = SAMPLES[name]
    expected = plain(read([write("file", data)], format=name), "file")
    assert any(item.startswith("Document") for item in expected)
    assert plain(read([write("packed", gzip.compress(data))], format=name), "packed") == expected
    for content in (data, gzip.compress(data)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert [item.replace("'-", "'SOURCE") for item in plain(read(["-"], format=name), "\0")] == expected


@pytest.mark.parametrize(("read", "name"), FORMATS)
def test_the_format_is_detected(write: Write, read: Reader, name: str) -> None:
    extension = {
        "text": "txt",
        "stackexchange": "xml",
        "labelled-lines": "txt",
        "message": "eml",
        "markdown": "md",
        "notebook": "ipynb",
    }.get(name, name)
    path = write(f"a.{extension}.gz", gzip.compress(SAMPLES[name]))
    if name != "lines":
        assert list(read([path])) == list(read([path], format=name))


@given(
    bad=st.lists(
        st.one_of(
            st.binary(min_size=1, max_size=40).map(lambda line: line.replace(b"\n", b"")),
            st.sampled_from([b"{", b"[]", b'{"id":1,"text":1}', b"\xff", b"\0", b'{"id":"good 0","text":"x"}']),
        ),
        max_size=6,
    ),
    zipped=st.booleans(),
)
@pytest.mark.parametrize("reader", ["documents", "threads"])
def test_good_records_around_bad_ones_are_read(tmp_path: Path, bad: list[bytes], zipped: bool, reader: str) -> None:
    read: Reader = read_documents if reader == "documents" else read_threads
    good = [json.dumps({"id": f"good {i}", "text": "x", "comments": [{"text": "y"}]}).encode() for i in range(7)]
    lines = [line for i in range(7) for line in (good[i], *bad[i : i + 1])]
    data = b"\n".join(lines)
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(data) if zipped else data)
    found = list(read([str(path)]))
    assert [item.key for item in found if isinstance(item, Document)] == [f"good {i}" for i in range(7)]
    expected = [
        number for number, line in enumerate(lines, start=1) if line not in good and line.strip(b" \t\r\x0b\x0c")
    ]
    rejected = [item.line for item in found if isinstance(item, Rejection)]
    assert set(rejected) <= set(expected)
    assert len(rejected) >= len(expected) - sum(b"\x1c" <= line[:1] <= b"\x1f" for line in bad)


@pytest.mark.parametrize(
    ("read", "name"), [(read_documents, "stackexchange"), (read_threads, "text"), (read_threads, "")]
)
def test_an_unknown_format_is_a_usage_error(write: Write, read: Reader, name: str) -> None:
    with pytest.raises(UsageError, match=f"there is no format {name!r}: choose one of .*jsonl"):
        read([write("a", "x")], format=name)


def test_a_file_that_vanishes_is_rejected_and_the_others_are_read(write: Write) -> None:
    found = read_documents([write("a.txt", "x"), write("b.txt", "x")])
    Path("a.txt").unlink()
    bad, good = found
    assert isinstance(bad, Rejection)
    assert str(bad) == "a.txt: cannot be read: No such file or directory"
    # Any document of the file may be affected, so the file is protected, not a key.
    assert bad.key is None
    assert bad.origin is not None
    assert bad.origin.source.path_of(bad.origin.file) == str(Path("a.txt").resolve())
    assert isinstance(good, Document)


def test_progress_counts_the_bytes_on_the_disk(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[tuple[Any, ...]] = []
    number = random.Random(0)  # noqa: S311 - a sample, no secret
    packed = gzip.compress(b"".join(b"line %d %x\n" % (i, number.getrandbits(80)) for i in range(30_000)))
    size = len(packed) + 4
    paths = [write("a.gz", packed), write("b", "text")]
    assert len(packed) > 1 << 18
    count = sum(1 for _ in read_documents(paths, format="lines", progress=lambda *step: reported.append(step)))
    assert count == 30_001
    assert reported[0] == ("Reading", 0, size, "B")
    assert reported[-1] == ("Reading", size, size, "B")
    assert 2 < len(reported) < count / 256
    assert [done for _, done, _, _ in reported] == sorted(done for _, done, _, _ in reported)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n")))
    assert len(list(read_documents(["b", "-"], progress=lambda *step: reported.append(step)))) == 2
    assert reported[-1][1] == 6
    assert [total for _, _, total, _ in reported][-1] is None


def peak(paths: Sequence[str], read: Reader, **options: Any) -> int:
    tracemalloc.start()
    for _ in read(paths, **options):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(write: Write) -> None:
    filler = "word " * 2000
    lines = "".join(f'{{"id": {i}, "text": "{filler}"}}\n' for i in range(800))
    assert len(lines) > 8_000_000
    assert peak([write("a.jsonl", lines)], read_documents) < 800_000
    rows = "".join(f'<row Id="{i}" PostTypeId="1" Body="{filler}"/>\n' for i in range(800))
    assert peak([write("Posts.xml", f"<posts>{rows}</posts>")], read_threads) < 2_500_000
    mails = "".join(f"From x\nMessage-ID: <{i}>\nSubject: s\n\n{filler}\n\n" for i in range(800))
    assert peak([write("a.mbox", mails)], read_threads) < 4_000_000
