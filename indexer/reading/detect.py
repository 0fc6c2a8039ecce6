"""Format detection: by the extension of a source's name, else by its first bytes."""

import codecs
import re
from os.path import splitext

from moverank.indexer.reading.finding.files import STDIN, Source
from moverank.indexer.reading.formats.arrow import ARROW, ENCRYPTED, PARQUET
from moverank.indexer.reading.records import BadRecord

_TEXT = {".txt", ".text", ".rst"}
_DOCUMENTS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".ipynb": "notebook",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".mbox": "mbox",
    ".eml": "message",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_RECORDS = {"jsonl", "csv", "tsv", "parquet", "arrow"}
_THREADS = {extension: name for extension, name in _DOCUMENTS.items() if name in _RECORDS | {"mbox"}} | {
    ".xml": "stackexchange"
}
_TABLES = {PARQUET: "parquet", ENCRYPTED: "parquet", ARROW: "arrow"}
"""The formats of tables in columns by their first bytes."""

_NO_TEXTS = {
    b"%PDF-": "a PDF file",
    b"%!PS": "a PostScript file",
    b"{\\rtf": "an RTF file",
    b"PK\x03\x04": "a zip archive or an office document",
}
_ARCHIVES = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z", b"\x28\xb5\x2f\xfd": "zstd"}
"""The first bytes of archives, which may be named as the file that they contain."""
"""The first bytes of binary formats whose files may lack NUL bytes."""
_CONVERT = "extract its text by --pre COMMAND"

_PAGE = re.compile(
    rb"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE
)
_HEADER = re.compile(rb"([!-9;-~]+):")
_TYPICAL_HEADERS = {b"from", b"subject", b"newsgroups"}


def document_format(source: Source, head: bytes) -> str:
    """Return the format of the documents in `source`, whose first bytes are `head`; raises `BadRecord` if it is binary.

    A text file is one document, unless it is named explicitly (or is standard input) and every line in `head` is
    `label<TAB>text`. Standard input of no recognised format has one document per line.
    """
    extension = _extension(source)
    if extension in _DOCUMENTS:
        _refuse_archive(head)
        return _DOCUMENTS[extension]
    if table := _table(head):
        return table
    _refuse_binary(head)
    if extension not in _TEXT:
        if _PAGE.match(head):
            return "html"
        if _is_json(head):
            return "jsonl"
        if head.startswith(b"From "):
            return "mbox"
        if _is_message(head):
            return "message"
    if source.explicit and _is_labelled(head):
        return "labelled-lines"
    return "lines" if source.name == STDIN else "text"


def _refuse_binary(head: bytes) -> None:
    kind = next((kind for start, kind in _NO_TEXTS.items() if head.startswith(start)), None)
    if kind:
        raise BadRecord(f"it is {kind}, and no text: leave it out, or {_CONVERT}")
    if b"\0" in head:
        raise BadRecord(f"it holds NUL bytes, so it is no text: leave it out, or {_CONVERT}")


def _refuse_archive(head: bytes) -> None:
    kind = next((kind for start, kind in _ARCHIVES.items() if head.startswith(start)), None)
    if kind and (kind != "bzip2" or head[4:10] == b"1AY&SY"):
        raise BadRecord(f"it is a {kind} archive: unpack it, and give what is inside")


def thread_format(source: Source, head: bytes) -> str:
    """Return the format of the threads in `source`, whose first bytes are `head`; raises `BadRecord` if it has none."""
    extension = _extension(source)
    _refuse_archive(head)
    if extension in _THREADS:
        return _THREADS[extension]
    if table := _table(head):
        return table
    if b"\0" in head:
        raise BadRecord("it holds NUL bytes, so it holds no threads: leave it out")
    if _is_json(head):
        return "jsonl"
    if head.startswith(b"From "):
        return "mbox"
    if head.lstrip().startswith(b"<"):
        return "stackexchange"
    raise BadRecord(
        "it does not look like threads (JSONL, a table, Posts.xml or mbox): leave it out, or name its format"
    )


def is_text(source: Source, head: bytes) -> bool:
    """Return whether `source`, whose first bytes are `head`, is in a known format or at least a text."""
    extension = _extension(source)
    if extension in _DOCUMENTS or extension in _TEXT or _table(head):
        return True
    try:
        # The last character of the head may be cut off.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head and not head.startswith(tuple(_NO_TEXTS))


def _extension(source: Source) -> str:
    return splitext(source.name.removesuffix(".gz"))[1].lower()  # noqa: PTH122 - of many small files, a path takes long


def _table(head: bytes) -> str | None:
    return next((name for start, name in _TABLES.items() if head.startswith(start)), None)


def _is_json(head: bytes) -> bool:
    return re.match(rb'\s*(\{|\[\s*\{)\s*"', head) is not None


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
