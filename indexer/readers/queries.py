"""Queries for a batch: JSONL with `id` and `text`, or one query per line."""

import json
from typing import NamedTuple

from moverank.indexer.errors import ReadError
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.numbered_lines import lines_and_bad_ones

_FORM = 'a query needs the form {"id": "...", "text": "..."}'


class BatchQuery(NamedTuple):
    """A query of a batch; `problem` is what is wrong with its line, whose `id` is then FILE:NUMBER."""

    id: str
    text: str
    problem: str | None = None


def read_queries(path: str) -> list[tuple[str, str]]:
    """Return (id, text) of every query of a file: see `read_batch`. Raises ReadError for the first bad line, too."""
    batch = read_batch(path)
    for query in batch:
        if query.problem:
            raise ReadError(f"{query.id}: {query.problem}")
    return [(query.id, query.text) for query in batch]


def read_batch(path: str) -> list[BatchQuery]:
    """Return the queries of a file, gzipped or not, and its bad lines; `-` is standard input.

    A file whose first line begins with a brace is JSONL; otherwise every line that is not blank is a query. The id of a
    query without one is its line number. Raises ReadError, which names the file, if that cannot be read or is empty.
    """
    lines = list(lines_and_bad_ones(path))
    if not lines:
        raise ReadError(f"{path}: holds no query")
    first = next((line for _, line in lines if isinstance(line, str)), "")
    is_json = first.lstrip().startswith("{")
    return [_parsed(path, number, line, is_json=is_json) for number, line in lines]


def _parsed(path: str, number: int, line: str | BadRecord, *, is_json: bool) -> BatchQuery:
    try:
        if isinstance(line, BadRecord):
            raise line
        return _parsed_json(number, line.strip()) if is_json else BatchQuery(str(number), line.strip())
    except BadRecord as bad:
        return BatchQuery(f"{path}:{number}", "", bad.reason)


def _parsed_json(number: int, line: str) -> BatchQuery:
    """Parse one JSON line; BadRecord says what is wrong with it."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadRecord(f"broken JSON at column {error.pos + 1}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deeply nested brackets
        raise BadRecord(f"broken JSON: {error}") from error
    record = record if isinstance(record, dict) else {}
    text, id_ = record.get("text"), record.get("id")
    if not isinstance(text, str) or not isinstance(id_, str | int | None):
        raise BadRecord(_FORM)
    return BatchQuery(str(number if id_ is None else id_), text)
