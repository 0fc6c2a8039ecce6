"""JSON records: one per line, an array of records, or records that span several lines."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import NoReturn

from moverank.indexer.reading import streams
from moverank.indexer.reading.records import BadRecord, Builds, Made, Record
from moverank.indexer.reading.streams import Stream


def read_jsonl(stream: Stream, build: Builds[Made]) -> Iterator[tuple[int, Made | BadRecord]]:
    """Read one record per line; blank lines are skipped. The key of a record without one is `<file>:<line>`."""
    for text in stream.texts():
        line = stream.line
        if isinstance(text, BadRecord):
            yield line, text
        elif not text.isspace():
            try:
                yield line, build(parse_object(text), f"{stream.source.key}:{line}")
            except BadRecord as bad:
                yield line, bad


def parse_object(text: str) -> Record:
    """Parse one JSON object; `BadRecord` names the error and its column."""
    record = parse_value(text.rstrip())
    if not isinstance(record, dict):
        raise BadRecord(f"a record must be a JSON object ({{...}}) on a line of its own, not {text.strip()[:40]}")
    return record


def parse_value(text: str) -> object:
    """Parse one value of JSON; `BadRecord` names the error and its column."""
    try:
        value: object = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadRecord(f"broken JSON at column {error.pos + 1}: {error.msg}") from error
    except CANNOT_BE_STORED as error:
        raise storage_fault(error) from error
    return value


def storage_fault(error: Exception) -> BadRecord:
    """Return the fault of JSON that is well-formed, but cannot be stored."""
    if isinstance(error, RecursionError):
        return BadRecord("the JSON is nested too deeply: flatten it")
    # An integer with more digits than Python parses.
    return BadRecord("a number has too many digits: write it as a string")


def _refuse(constant: str) -> NoReturn:
    raise BadRecord(f"{constant} is not JSON: use null")


DECODER = json.JSONDecoder(parse_constant=_refuse)

CANNOT_BE_STORED = (RecursionError, ValueError)
"""Errors of `DECODER` that are no syntax errors; catch JSONDecodeError, which is a ValueError, before them."""


_NOT_LINES = re.compile(rb'\s*(?:\[\s*[{\]]|\{[ \t]*\r?\n\s*["}])')
_BETWEEN = re.compile(r"[\s,\[\]]*")
_ANY_NUMBERS = json.JSONDecoder(parse_int=str)


def read_json(stream: Stream, build: Builds[Made]) -> Iterator[tuple[int, Made | BadRecord]]:
    """Read one record per line, or the objects of an array, or objects of several lines."""
    return (read_json_values if _NOT_LINES.match(stream.head()) else read_jsonl)(stream, build)


def read_json_values(stream: Stream, build: Builds[Made]) -> Iterator[tuple[int, Made | BadRecord]]:
    """Read one record per object; the brackets and commas between them do not matter.

    The key of a record without one is `<file>:<number of the record>`. Reading ends at a syntax error.
    """
    text, number = _Text(stream), 0
    while not text.failed and text.find_value():
        number += 1
        line = stream.line
        try:
            yield line, build(_object(text.value()), f"{stream.source.key}:{number}")
        except BadRecord as bad:
            yield stream.line if text.failed else line, bad


def _object(value: object) -> Record:
    if isinstance(value, dict):
        return value
    raise BadRecord(f"a record must be a JSON object ({{...}}), not {json.dumps(value)[:40]}")


class _Text:
    """The text of a stream, read as far as the next value needs it; the stream's `line` is the current one."""

    def __init__(self, stream: Stream) -> None:
        self.failed = False
        self._stream = stream
        self._chunks = stream.chunks()
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text, self._at, self._ended = "", 0, False
        stream.line = 1

    def find_value(self) -> bool:
        """Advance to the next value; return whether there is one."""
        while True:
            between = _BETWEEN.match(self._text, self._at)
            self._advance(between.end() if between else self._at)
            if self._at < len(self._text) or not self._more(1):
                return self._at < len(self._text)

    def value(self) -> object:
        """Return the next value; `BadRecord` names its fault, and `failed` is set if the rest cannot be read."""
        size = 1
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > streams.LIMIT:
                    self._fail(f"the record is longer than {streams.LIMIT:,} bytes: split it", self._at)
                if not self._more(size):
                    self._fail(f"broken JSON: {error.msg}", error.pos)
                size = 2 * len(self._text)  # with a constant size, parsing again would take quadratic time
                continue
            except (BadRecord, *CANNOT_BE_STORED) as error:
                bad = error if isinstance(error, BadRecord) else storage_fault(error)
                self._advance(self._end_of_value(bad))
                raise bad from None
            if end < len(self._text) or not self._more(1):  # a number could go on
                self._advance(end)
                return value

    def _end_of_value(self, bad: BadRecord) -> int:
        try:
            return _ANY_NUMBERS.raw_decode(self._text, self._at)[1]
        except (ValueError, RecursionError):
            self._fail(bad.reason, self._at)

    def _fail(self, reason: str, position: int) -> NoReturn:
        self._advance(position)
        self.failed = True
        raise BadRecord(f"{reason}; from here on the file is not read")

    def _advance(self, position: int) -> None:
        self._stream.line += self._text.count("\n", self._at, position)
        self._at = position

    def _more(self, size: int) -> bool:
        """Drop the used text, and append at least `size` characters unless the stream ends; return whether it grew."""
        pieces, length = [], 0
        while length < size and not self._ended:
            chunk = next(self._chunks, b"")
            self._ended = not chunk
            try:
                pieces.append(self._decode(chunk, final=self._ended))
            except UnicodeDecodeError:
                self._ended = True
                self._fail(f"it is not UTF-8: {streams.NAME_ENCODING}", self._at)
            length += len(pieces[-1])
        if length:
            self._text, self._at = "".join([self._text[self._at :], *pieces]), 0
        return length > 0
