import pytest

from moverank.indexer.reading.detect import document_format, is_text, thread_format
from moverank.indexer.reading.finding.files import Source
from moverank.indexer.reading.records import BadRecord

MESSAGE = b"From: a@b.c\nSubject: x\n folded\nLines: 2\n\nbody"
MBOX = b"From a@b Mon Jan 1\nSubject: x\n\nbody\n"


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.jsonl", b"", "jsonl"),
        ("a.ndjson.gz", b"junk", "jsonl"),
        ("a.JSON", b"", "jsonl"),
        ("a.csv", b"", "csv"),
        ("a.tsv.gz", b"", "tsv"),
        ("a.mbox", b"", "mbox"),
        ("a.eml", b"", "message"),
        ("a.txt", b'{"id": 1}', "text"),
        ("a.md", MESSAGE, "markdown"),
        ("a.rst", MESSAGE, "text"),
        ("a.HTM", b"", "html"),
        ("a.ipynb.gz", b"", "notebook"),
        ("page", b"<!DOCTYPE html>\n<p>x", "html"),
        ("page", b" <!-- saved -->\n<HTML lang=en>", "html"),
        ("page", b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'>", "html"),
        ("a.py", b"# <html>", "text"),
        ("a", b'[{"id": 1}]', "jsonl"),
        ("a", b'{\n  "id": 1}', "jsonl"),
        ("a", b"[1, 2]", "text"),
        ("49960", MESSAGE, "message"),
        ("49960", MESSAGE.replace(b"\n", b"\r\n"), "message"),
        ("a", b"Note: this\nand that\n\nbody", "text"),
        ("a", b"Note: this\n\nbody", "text"),
        ("a", b"From: no blank line", "text"),
        ("a", b'\n {"id": 1}', "jsonl"),
        ("a.data", MBOX, "mbox"),
        ("a.txt", b"x\ty\nz\tw", "labelled-lines"),
        ("a.txt", b"x\ty\n\nz\tw\ncut off", "labelled-lines"),
        ("a.txt", b"x\ty\nz w\n", "text"),
        ("a.txt", b"x\ty\n", "text"),
        ("-", b"x\ty\nz\tw", "labelled-lines"),
        ("-", b"some\nlines", "lines"),
        ("-", b"", "lines"),
        ("-", b'{"id": 1}', "jsonl"),
        ("-", MBOX, "mbox"),
        ("-", MESSAGE, "message"),
    ],
)
def test_document_format(name: str, head: bytes, expected: str) -> None:
    assert document_format(Source(name, name), head) == expected


def test_a_file_in_a_directory_is_one_document() -> None:
    assert document_format(Source("d/a.txt", "a.txt", explicit=False), b"x\ty\nz\tw") == "text"


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.jsonl.gz", b"", "jsonl"),
        ("Posts.xml", b"", "stackexchange"),
        ("a.mbox", b"", "mbox"),
        ("-", b'{"id": 1}', "jsonl"),
        ("-", MBOX, "mbox"),
        ("-", b"<?xml version='1.0'?>", "stackexchange"),
    ],
)
def test_thread_format(name: str, head: bytes, expected: str) -> None:
    assert thread_format(Source(name, name), head) == expected


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.txt", b"\0", True),
        ("a.html", b"", True),
        ("a", b"plain", True),
        ("a", b"", True),
        ("a", "é".encode()[:1], True),
        ("a", b"caf\xe9 ", False),
        ("a", b"\0", False),
        ("a.pdf", b"%PDF-1.7", False),
        ("a.docx", b"PK\x03\x04", False),
    ],
)
def test_is_text(name: str, head: bytes, expected: bool) -> None:
    assert is_text(Source(name, name), head) == expected


def test_files_without_a_format() -> None:
    for head in (b"plain text", b"\0\0"):
        with pytest.raises(BadRecord):
            thread_format(Source("a", "a"), head)
    with pytest.raises(BadRecord, match="NUL"):
        document_format(Source("a", "a"), b"ELF\0")
