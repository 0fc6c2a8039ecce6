"""Queries for a batch: JSONL with `id` and `text`, or one query a line."""

import gzip
import json
import sys
import zlib
from pathlib import Path

from moverank.indexer.errors import ReadError


def read_queries(path: str) -> list[tuple[str, str]]:
    """Return (id, text) of every query of a file, gzipped or not, `-` being standard input.

    A file whose first line begins with a brace is JSONL; else every line that is not blank is a query. One without an
    id gets the number of its line. Raises ReadError with file and line: before the first query is answered.
    """
    content = _content(path)
    try:
        # Not `splitlines`: a line separator of Unicode's may stand within a JSON string.
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ReadError(f"{path}:{line}: not UTF-8: save the queries as UTF-8") from error
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise ReadError(f"{path}: holds no query")
    parsed = numbered[0][1].startswith("{")
    return [_parsed(path, number, line) if parsed else (str(number), line) for number, line in numbered]


def _content(path: str) -> bytes:
    if path == "-" and sys.stdin is None:
        raise ReadError("-: standard input is closed")
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"{path}: the gzip data are damaged or cut short: {error}") from error
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror}") from error


def _parsed(path: str, number: int, line: str) -> tuple[str, str]:
    """Read one JSON line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ReadError(f"{path}:{number}: broken JSON at column {error.pos + 1}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets nested as deep
        raise ReadError(f"{path}:{number}: broken JSON: {error}") from error
    record = record if isinstance(record, dict) else {}
    text, id_ = record.get("text"), record.get("id")
    if not isinstance(text, str) or not isinstance(id_, str | int | None):
        raise ReadError(f'{path}:{number}: a query needs the form {{"id": "...", "text": "..."}}')
    return str(number if id_ is None else id_), text
