"""Plain text: one document a file, or one a line, with its label before a tab or without."""

from collections.abc import Iterator

from moverank.indexer.documents import Document, Part
from moverank.indexer.readers.bad_record import BadRecord, Found
from moverank.indexer.readers.records import first_line
from moverank.indexer.readers.streams import Stream, decode


def read_text(stream: Stream) -> Iterator[Found]:
    """Read the whole file as one document; its key is its path, its title its first line."""
    try:
        text = decode(stream.whole()).replace("\r\n", "\n")
        yield 0, Document(stream.source.key, first_line(text), (Part(text),))
    except BadRecord as bad:
        bad.key = stream.source.key
        yield 0, bad


def read_lines(stream: Stream) -> Iterator[Found]:
    """Read one document a line; blank lines are passed over."""
    for line, text in _lines(stream):
        yield line, text if isinstance(text, BadRecord) else _document(stream, line, text)


def read_labelled_lines(stream: Stream) -> Iterator[Found]:
    """Read `label<TAB>text`, one document a line (the format of the data of Kusner et al. 2015)."""
    for line, text in _lines(stream):
        if isinstance(text, BadRecord):
            yield line, text
            continue
        label, tab, rest = text.partition("\t")
        if tab and label.strip():
            yield line, _document(stream, line, rest, label.strip())
        else:
            yield line, BadRecord("the line must be a label, a tab and the text: its label or its tab is missing")


def _lines(stream: Stream) -> Iterator[tuple[int, str | BadRecord]]:
    for text in stream.texts():
        if isinstance(text, BadRecord):
            yield stream.line, text
        elif not text.isspace():
            yield stream.line, text.rstrip("\r\n")


def _document(stream: Stream, line: int, text: str, label: str | None = None) -> Document:
    return Document(f"{stream.source.key}:{line}", first_line(text), (Part(text),), label)
