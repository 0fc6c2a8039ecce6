"""CSV and TSV with a header line."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

from moverank.indexer.reading import streams
from moverank.indexer.reading.records import VECTOR_FIELD, BadRecord, Builds, Made, Record
from moverank.indexer.reading.streams import Stream


def read_table(
    stream: Stream, build: Builds[Made], delimiter: str | None = None
) -> Iterator[tuple[int, Made | BadRecord]]:
    """Read one record per row of `stream`, with the field names of the header; quoted fields may hold line ends.

    `build` makes a document, or a post, of a record. The default `delimiter` is the one that the line `sep=;` before
    the header names, or the most frequent one in the header: comma, semicolon or tab. A backslash before a quotation
    mark escapes it in files without doubled ones. Columns without a name are ignored. The key of a row without one is
    `<file>:<line>`, with the line at which the row starts.
    """
    head = stream.head()
    texts = stream.texts()
    named = _NAMED.match(head)
    if named:
        next(texts)
    escape = "\\" if _ESCAPED.search(head) and b'""' not in head else None
    separator = named[1].decode() if named else delimiter or _delimiter(head)
    rows = csv.reader(_Lines(texts), delimiter=separator, escapechar=escape, doublequote=not escape, strict=True)
    header: list[str] | None = None
    while True:
        line = stream.line + 1
        try:
            row = _next(rows)
            if not row:
                continue
            if header is None:
                header = _checked(row, build)
            else:
                yield line, build(_record(header, row), f"{stream.source.key}:{line}")
        except StopIteration:
            return
        except BadRecord as bad:
            yield line, bad
            if header is None:
                return


def _next(rows: Iterator[list[str]]) -> list[str]:
    # csv's limit of 131,072 characters per field is global to the process: it is raised for this row only.
    default = csv.field_size_limit(streams.LIMIT)
    try:
        return next(rows)
    except csv.Error as error:
        reason = str(error)
        if "end of data" in reason:
            reason = "a quotation mark opens here and is never closed, so all that follows is lost"
        raise BadRecord(f"broken CSV: {reason}") from error
    finally:
        csv.field_size_limit(default)


class _Lines:
    """An iterator over lines that raises the bad ones and continues after them, which a generator cannot do."""

    def __init__(self, texts: Iterator[str | BadRecord]) -> None:
        self._texts = texts

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        text = next(self._texts)
        if isinstance(text, BadRecord):
            raise text
        return text


_ESCAPED = re.compile(rb'\\"(?![,;\t\r\n]|\Z)')
"""A quotation mark after a backslash that does not end a field."""
_NAMED = re.compile(rb'"?sep=([ -~\t])"?\r?\n', re.IGNORECASE)
"""The line in which spreadsheets name the delimiter."""


def _delimiter(head: bytes) -> str:
    header = re.sub(rb'"[^"]*"', b"", head.lstrip().partition(b"\n")[0])
    return max(",;\t", key=lambda delimiter: header.count(delimiter.encode()))


def _checked(header: list[str], build: Builds[Any]) -> list[str]:
    """Return the names of the columns; raises `BadRecord` if a column is repeated, or a required one is missing."""
    names = [name.strip() for name in header]
    repeated = sorted({name for name in names if name and names.count(name) > 1})
    if repeated:
        raise BadRecord(f"the header names {repeated[0]!r} twice: rename one of the two columns")
    try:
        # Otherwise every single row would be rejected.
        build(dict.fromkeys(filter(None, names), ""), "")
    except BadRecord as bad:
        raise BadRecord(bad.reason) from bad
    return names


def _record(header: list[str], row: list[str]) -> Record:
    if len(row) != len(header):
        raise BadRecord(f"the row has {len(row)} fields, the header {len(header)}: quote fields that hold a delimiter")
    return {name: _value(name, cell) for name, cell in zip(header, row, strict=True) if name}


def _value(name: str, cell: str) -> object:
    """Return a cell; a vector is written as a JSON list."""
    if name.lower() != VECTOR_FIELD or not cell.lstrip().startswith("["):
        return cell
    try:
        found: object = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"the column {name!r} is no list of numbers in JSON: {cell[:40]}") from error
    return found
