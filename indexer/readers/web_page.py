"""HTML pages: one document per file."""

import codecs
import re
from collections.abc import Iterator

from moverank.indexer.documents import Metadata
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.dates import date_of_text
from moverank.indexer.readers.markup import parse_html
from moverank.indexer.readers.plain_text import text_document
from moverank.indexer.readers.records import one_line
from moverank.indexer.readers.streams import Stream, decode

_CHARSET = re.compile(rb"""<meta\b[^<>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_PLACE_OF_CHARSET = 4096
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("date", "article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created")


def read_html(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one page; its key is its path, its title `<title>`, without one its first line.

    `<meta>` fields with an author or an ISO date become the metadata `author` and `date`.
    """
    key = stream.source.key
    try:
        page = parse_html(_decoded(stream.whole()))
        metadata = _metadata(page.meta)
        yield 0, text_document(key, page.text, title=page.title, metadata=metadata)
    except BadRecord as bad:
        bad.key = key
        yield 0, bad


def _metadata(meta: dict[str, str]) -> Metadata:
    author = next((one_line(meta[name]) for name in _AUTHORS if meta.get(name, "").strip()), None)
    date = next((date for name in _DATES if (date := date_of_text(meta.get(name, "")))), None)
    return {name: value for name, value in (("author", author), ("date", date)) if value}


def _decoded(data: bytes) -> str:
    """Decode a page as UTF-8, or else as the encoding that it names itself."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        named = _CHARSET.search(data[:_PLACE_OF_CHARSET])
    try:
        name = codecs.lookup(named[1].decode()).name if named else "utf-8"
        # Browsers read these as Windows' extension of them, and so do the authors of pages.
        return data.decode("cp1252" if name in ("iso8859-1", "ascii") else name)
    except (LookupError, ValueError):
        return decode(data)
