"""Format detection: by the extension of a source's name, else by its first bytes."""

import re
from pathlib import PurePath

from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.sources import STDIN, Source

_TEXT = {".txt", ".text", ".md", ".markdown", ".rst"}
_DOCUMENTS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".mbox": "mbox",
    ".eml": "message",
}
_THREADS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".mbox": "mbox", ".xml": "stackexchange"}

_HEADER = re.compile(rb"([!-9;-~]+):")
_TYPICAL_HEADERS = {b"from", b"subject", b"newsgroups"}


def document_format(source: Source, head: bytes) -> str:
    """Return the format of the documents in `source`, whose first bytes are `head`; raises `BadRecord` if it is binary.

    A text file is one document, unless it is named explicitly (or is standard input) and every line in `head` is
    `label<TAB>text`. Standard input of no recognised format has one document per line.
    """
    extension = _extension(source)
    if extension in _DOCUMENTS:
        return _DOCUMENTS[extension]
    _refuse_binary(head)
    if extension not in _TEXT:
        if _is_json(head):
            return "jsonl"
        if head.startswith(b"From "):
            return "mbox"
        if _is_message(head):
            return "message"
    if source.explicit and _is_labelled(head):
        return "labelled-lines"
    return "lines" if source.name == STDIN else "text"


def thread_format(source: Source, head: bytes) -> str:
    """Return the format of the threads in `source`, whose first bytes are `head`; raises `BadRecord` if it has none."""
    extension = _extension(source)
    if extension in _THREADS:
        return _THREADS[extension]
    _refuse_binary(head)
    if _is_json(head):
        return "jsonl"
    if head.startswith(b"From "):
        return "mbox"
    if head.lstrip().startswith(b"<"):
        return "stackexchange"
    raise BadRecord("it does not look like threads (JSONL, Posts.xml or mbox): leave it out, or name its format")


def refuse_utf16(head: bytes) -> None:
    """Raise `BadRecord` on a byte order mark of UTF-16 or UTF-32, instead of rejecting every line."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadRecord("it is UTF-16 or UTF-32: convert it, for example with iconv -f UTF-16 -t UTF-8")


def _extension(source: Source) -> str:
    return PurePath(source.name.removesuffix(".gz")).suffix.lower()


def _refuse_binary(head: bytes) -> None:
    if b"\0" in head:
        raise BadRecord("it holds NUL bytes, so it is no text: leave it out, or extract its text first")


def _is_json(head: bytes) -> bool:
    return re.match(rb'\s*\{[ \t]*"', head) is not None


def _is_message(head: bytes) -> bool:
    """Return whether only headers, one of them a typical one, precede the first blank line."""
    block, blank, _ = head.replace(b"\r\n", b"\n").partition(b"\n\n")
    if not blank:
        return False
    headers = [_HEADER.match(line) for line in block.split(b"\n") if not line.startswith((b" ", b"\t"))]
    names = {header[1].lower() for header in headers if header}
    return all(headers) and not names.isdisjoint(_TYPICAL_HEADERS)


def _is_labelled(head: bytes) -> bool:
    # The last line may be cut off at the end of the head, so one without a line end is not checked if there are more
    # than two; a single line is not enough evidence.
    lines = [line for line in head.splitlines()[:1000] if line.strip()]
    if len(lines) > 2 and not head.endswith(b"\n"):
        lines.pop()
    return len(lines) > 1 and all(_LABELLED.match(line) for line in lines)


_LABELLED = re.compile(rb"[^\t]*\S[^\t]*\t\s*\S")
