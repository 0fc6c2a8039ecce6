"""JSON Lines: one record per line."""

import json
from collections.abc import Iterator
from typing import NoReturn

from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.records import Build, Record
from moverank.indexer.readers.streams import Stream


def read_jsonl(stream: Stream, build: Build) -> Iterator[ReadResult]:
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
    try:
        record = _usual_object(text) or DECODER.decode(text.rstrip())
    except json.JSONDecodeError as error:
        raise BadRecord(f"broken JSON at column {error.pos + 1}: {error.msg}") from error
    except CANNOT_BE_STORED as error:
        raise explained(error) from error
    if not isinstance(record, dict):
        raise BadRecord(f"a record must be a JSON object ({{...}}) on a line of its own, not {text.strip()[:40]}")
    return record


def _usual_object(text: str) -> Record | None:
    """Parse one JSON object that begins a line; None if there is more, or less: two regular expressions take longer."""
    try:
        record, end = DECODER.raw_decode(text) if text.startswith("{") else (None, 0)
    except json.JSONDecodeError:  # the line without its end has another column
        return None
    return record if text[end:] in ("\n", "\r\n", "") else None


def explained(error: Exception) -> BadRecord:
    """Return the fault of JSON that is well-formed, but cannot be stored."""
    if isinstance(error, RecursionError):
        return BadRecord("the JSON is nested too deeply: flatten it")
    # An integer with more digits than Python parses.
    return BadRecord("a number has too many digits: write it as a string")


def _refuse(constant: str) -> NoReturn:
    raise BadRecord(f"{constant} is not JSON: use null")


DECODER = json.JSONDecoder(parse_constant=_refuse)

CANNOT_BE_STORED = (RecursionError, ValueError)
"""Errors of `DECODER` beside those of syntax; JSONDecodeError, which is a ValueError, must be caught before them."""
