"""Markdown, with or without front matter: one document per file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from moverank.indexer.documents import Document
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.front_matter import split_front_matter
from moverank.indexer.readers.plain_text import text_document
from moverank.indexer.readers.records import LABEL_FIELDS, TITLE_FIELDS, choose_field, label_of, metadata_of, one_line
from moverank.indexer.readers.streams import Stream, decode

_HEADING = re.compile(r"\s*#{1,6}[ \t]+([^\n]*?)[ \t]*#*[ \t]*(?=\n|\Z)")
_SCALAR = (str, int, float)


def read_markdown(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one document; its key is its path.

    Its title, label and metadata are those of the front matter; without a title there, it is the first line.
    """
    key = stream.source.key
    try:
        text = decode(stream.whole()).replace("\r\n", "\n")
        yield 0, _document(key, *split_front_matter(text))
    except BadRecord as bad:
        bad.key = key
        yield 0, bad


def without_heading_mark(text: str) -> str:
    """Return the text; if it begins with a heading, without its `#`: the title would not be found there."""
    heading = _HEADING.match(text)
    return heading[1] + text[heading.end() :] if heading else text


def _document(key: str, front: Mapping[str, Any], text: str) -> Document:
    scalars = {name: value for name, value in front.items() if isinstance(value, _SCALAR)}
    title_field = choose_field(scalars, None, TITLE_FIELDS)
    label_field = choose_field(scalars, None, LABEL_FIELDS)
    return text_document(
        key,
        without_heading_mark(text),
        label_of(scalars, label_field),
        title=one_line(str(scalars[title_field])) if title_field else "",
        metadata=metadata_of(front, {title_field, label_field}),
    )
