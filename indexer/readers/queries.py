"""Queries for a batch: JSONL with `id` and `text`, or one query per line."""

import json

from moverank.indexer.errors import ReadError
from moverank.indexer.readers.numbered_lines import numbered_lines


def read_queries(path: str) -> list[tuple[str, str]]:
    """Return (id, text) of every query of a file, gzipped or not; `-` is standard input.

    A file whose first line begins with a brace is JSONL; otherwise every line that is not blank is a query. The id of a
    query without one is its line number. Raises ReadError, which names the file and the line.
    """
    lines = [(number, line.strip()) for number, line in numbered_lines(path)]
    if not lines:
        raise ReadError(f"{path}: holds no query")
    is_json = lines[0][1].startswith("{")
    return [_parsed(path, number, line) if is_json else (str(number), line) for number, line in lines]


def _parsed(path: str, number: int, line: str) -> tuple[str, str]:
    """Parse one JSON line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ReadError(f"{path}:{number}: broken JSON at column {error.pos + 1}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deeply nested brackets
        raise ReadError(f"{path}:{number}: broken JSON: {error}") from error
    record = record if isinstance(record, dict) else {}
    text, id_ = record.get("text"), record.get("id")
    if not isinstance(text, str) or not isinstance(id_, str | int | None):
        raise ReadError(f'{path}:{number}: a query needs the form {{"id": "...", "text": "..."}}')
    return str(number if id_ is None else id_), text
