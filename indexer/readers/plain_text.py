"""Plain text: one document per file, or one per line, optionally after a label and a tab."""

from collections.abc import Iterator

from moverank.indexer.documents import Document, Metadata
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.records import first_line, parts_of
from moverank.indexer.readers.streams import Stream, decode
from moverank.indexer.titles import begins_with_title


def read_text(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one document; its key is its path, its title its first line; see `first_line`."""
    try:
        text = decode(stream.whole()).replace("\r\n", "\n")
        yield 0, text_document(stream.source.key, text)
    except BadRecord as bad:
        bad.key = stream.source.key
        yield 0, bad


def read_lines(stream: Stream) -> Iterator[ReadResult]:
    """Read one document per line; blank lines are skipped."""
    for line, text in _lines(stream):
        yield line, text if isinstance(text, BadRecord) else text_document(f"{stream.source.key}:{line}", text)


def read_labelled_lines(stream: Stream) -> Iterator[ReadResult]:
    """Read one document `label<TAB>text` per line, the format of the data of Kusner et al. 2015."""
    for line, text in _lines(stream):
        if isinstance(text, BadRecord):
            yield line, text
            continue
        label, tab, rest = text.partition("\t")
        if tab and label.strip():
            yield line, text_document(f"{stream.source.key}:{line}", rest, label.strip())
        else:
            yield line, BadRecord("the line must be a label, a tab and the text: its label or its tab is missing")


def _lines(stream: Stream) -> Iterator[tuple[int, str | BadRecord]]:
    for text in stream.texts():
        if isinstance(text, BadRecord):
            yield stream.line, text
        elif not text.isspace():
            yield stream.line, text.rstrip("\r\n")


def text_document(
    key: str, text: str, label: str | None = None, *, title: str = "", metadata: Metadata | None = None
) -> Document:
    """Make a document of a text; without a `title`, it is the first line."""
    line = title or first_line(text)
    # A title cut within a word is only shown: part of a word must not count.
    title_counts = bool(title) or begins_with_title(text, line)
    return Document(key, line, parts_of(text), label, metadata or {}, title_counts)
