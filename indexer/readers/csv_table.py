"""CSV and TSV with a header line."""

import csv
import re
from collections.abc import Iterator

from moverank.indexer.readers import streams
from moverank.indexer.readers.bad_record import BadRecord, Found
from moverank.indexer.readers.records import Build, Record
from moverank.indexer.readers.streams import Stream


def read_table(stream: Stream, build: Build, delimiter: str | None = None) -> Iterator[Found]:
    """Read one record a row, under the names in the header; quoted fields may hold line ends.

    Without a `delimiter` it is what the header has most of: comma, semicolon or tab. Columns without a name
    are left out. A row without a key gets `<file>:<line>`, its first line.
    """
    rows = csv.reader(_Texts(stream.texts()), delimiter=delimiter or _delimiter(stream.head()), strict=True)
    header: list[str] | None = None
    while True:
        line = stream.line + 1
        try:
            row = _next(rows)
            if not row:
                continue
            if header is None:
                header = _checked(row)
            else:
                yield line, build(_record(header, row), f"{stream.source.key}:{line}")
        except StopIteration:
            return
        except BadRecord as bad:
            yield line, bad
            if header is None:
                return


def _next(rows: Iterator[list[str]]) -> list[str]:
    # The limit of 131,072 characters a field belongs to the whole process: raise it for this row only.
    before = csv.field_size_limit(streams.LIMIT)
    try:
        return next(rows)
    except csv.Error as error:
        reason = str(error)
        if "end of data" in reason:
            reason = "a quotation mark opens here and is never closed, so all that follows is lost"
        raise BadRecord(f"broken CSV: {reason}") from error
    finally:
        csv.field_size_limit(before)


class _Texts:
    """Lines that raise what is wrong with them and go on: a generator would be at its end."""

    def __init__(self, texts: Iterator[str | BadRecord]) -> None:
        self._texts = texts

    def __iter__(self) -> "_Texts":
        return self

    def __next__(self) -> str:
        text = next(self._texts)
        if isinstance(text, BadRecord):
            raise text
        return text


def _delimiter(head: bytes) -> str:
    header = re.sub(rb'"[^"]*"', b"", head.lstrip().partition(b"\n")[0])
    return max(",;\t", key=lambda delimiter: header.count(delimiter.encode()))


def _checked(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise BadRecord(f"the header names {twice[0]!r} twice: rename one of the two columns")
    return names


def _record(header: list[str], row: list[str]) -> Record:
    if len(row) != len(header):
        raise BadRecord(f"the row has {len(row)} fields, the header {len(header)}: quote fields that hold a delimiter")
    return {name: cell for name, cell in zip(header, row, strict=True) if name}
