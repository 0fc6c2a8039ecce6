"""The candidates that another engine found for queries: a TREC run, or JSONL with a query on each line."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import NamedTuple

from moverank.indexer.documents import Document, Part
from moverank.indexer.errors import ReadError
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.jsonl import parse_object
from moverank.indexer.readers.numbered_lines import lines_and_bad_ones
from moverank.indexer.readers.queries import query_of
from moverank.indexer.readers.records import KEY_FIELDS, TEXT_FIELDS, Record, choose_field, key_of, wrong_type

QUERY_KEYS = ("qid", *KEY_FIELDS, "query_id")
_FORM = 'a line needs the form {"query": "...", "candidates": [{"id": "...", "text": "..."}]}'
_TEXTS = {*TEXT_FIELDS, "title", "comments", "parts"}

Lines = Iterator[tuple[int, str | BadRecord]]


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The candidates of a query in the order of the engine: their `keys`, and `scores` if there are any.

    `query` is None in a TREC run, which names it only by `id`. `documents` are the candidates' texts, None if only keys
    are given; `entries` those of JSONL as they were read, from its `record`. `problem` is why the line cannot be used.
    """

    id: str
    keys: tuple[str, ...] = ()
    scores: tuple[float | None, ...] | None = None
    query: Document | None = None
    documents: tuple[Document, ...] | None = None
    record: Record | None = None
    entries: tuple[Record, ...] = ()
    problem: str | None = None


def read_candidate_lists(path: str) -> Iterator[CandidateList]:
    """Yield the candidates of each query of a file, gzipped or not, as they are read; `-` is standard input.

    A file whose first line begins with a brace is JSONL, any other one a TREC run: `query Q0 document rank score name`
    with the lines of a query together. A bad line of JSONL is yielded as a problem. Raises ReadError, which names the
    file and the line, for a bad line of a run, and for a file that cannot be read or is empty.
    """
    lines = lines_and_bad_ones(path)
    first = next(lines, None)
    if first is None:
        raise ReadError(f"{path}: holds no candidates")
    every = chain([first], lines)
    is_json = isinstance(first[1], str) and first[1].lstrip().startswith("{")
    return (_from_json(path, *line) for line in every) if is_json else _read_run(path, every)


class _RunLine(NamedTuple):
    number: int
    query: str
    key: str
    score: float


def _read_run(path: str, lines: Lines) -> Iterator[CandidateList]:
    seen = set[str]()
    for query, group in groupby((_run_line(path, *line) for line in lines), key=lambda line: line.query):
        found = list(group)
        if query in seen:
            raise ReadError(f"{path}:{found[0].number}: lines of {query!r} are not together: sort the run by query")
        seen.add(query)
        yield CandidateList(query, tuple(line.key for line in found), tuple(line.score for line in found))


def _run_line(path: str, number: int, line: str | BadRecord) -> _RunLine:
    if isinstance(line, BadRecord):
        raise ReadError(f"{path}:{number}: {line.reason}")
    columns = line.split()
    score = finite_number(columns[4]) if len(columns) == 6 else None
    if score is None:
        raise ReadError(f"{path}:{number}: a line of a run needs the form `query Q0 document rank score name`")
    return _RunLine(number, columns[0], columns[2], score)


def finite_number(text: str) -> float | None:
    """Return the finite number that a text is; None for any other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _from_json(path: str, number: int, line: str | BadRecord) -> CandidateList:
    try:
        if isinstance(line, BadRecord):
            raise line
        return _of_record(parse_object(line), str(number))
    except BadRecord as bad:
        return CandidateList(f"{path}:{number}", problem=bad.reason)


def _of_record(record: Record, default_key: str) -> CandidateList:
    """Return the candidates of `{"query": ..., "candidates": [...]}`; a query may be a text or a record."""
    if "candidates" not in record:
        raise BadRecord(f"{_FORM}: there is no field 'candidates'")
    given = record["candidates"]
    if not isinstance(given, list):
        wrong_type("'candidates'", "a list", given)
    query, id_ = _query_of(record, default_key)
    entries = tuple(_entry(one, f"candidate {i}") for i, one in enumerate(given, start=1))
    contents = [_content(entry) for entry in entries]
    with_text = [not _TEXTS.isdisjoint(content) for content in contents]
    if any(with_text) and not all(with_text):
        place = with_text.index(False) + 1
        raise BadRecord(f"candidate {place} has no text, but others have one: give a text to all of them, or to none")
    keys = tuple(
        key_of(entry, choose_field(entry, None, KEY_FIELDS), "" if not has_text else str(i))
        for i, (entry, has_text) in enumerate(zip(entries, with_text, strict=True))
    )
    if "" in keys and not any(with_text):
        raise BadRecord(f"candidate {keys.index('') + 1} has neither a text nor an id")
    documents = None
    if any(with_text) or not keys:
        documents = tuple(query_of(content, key) for content, key in zip(contents, keys, strict=True))
    return CandidateList(id_, keys, _scores(entries), query, documents, record, entries)


def _query_of(record: Record, default_key: str) -> tuple[Document | None, str]:
    """Return the query of a record, None if it has none, and its id."""
    query = record.get("query")
    nested = query if isinstance(query, dict) else {}
    holder = record if choose_field(record, None, QUERY_KEYS) else nested
    id_ = key_of(holder, choose_field(holder, None, QUERY_KEYS), default_key)
    if query is None:
        return None, id_
    if isinstance(query, str):
        return Document(id_, parts=(Part(query),)), id_
    if not isinstance(query, dict):
        wrong_type("'query'", "a text or an object", query)
    return query_of(query, id_), id_


def _entry(candidate: object, name: str) -> Record:
    if isinstance(candidate, str):
        return {"text": candidate}
    if not isinstance(candidate, dict):
        wrong_type(name, "a text or an object", candidate)
    return candidate


def _content(entry: Record) -> Record:
    """Return the record with the text of a candidate: itself, or its field `doc`, as some rerankers write it."""
    nested = entry.get("doc")
    return nested if isinstance(nested, dict) and _TEXTS.isdisjoint(entry) else entry


def _scores(entries: Sequence[Record]) -> tuple[float | None, ...] | None:
    """Return the scores of candidates, None without any; BadRecord for one that is no number."""
    scores: list[float | None] = []
    for i, entry in enumerate(entries, start=1):
        score = entry.get("score")
        if score is not None and not (type(score) in {int, float} and math.isfinite(score)):  # type: ignore[arg-type]
            wrong_type(f"the score of candidate {i}", "a number", score)
        scores.append(None if score is None else float(score))  # type: ignore[arg-type]
    return tuple(scores) if any(score is not None for score in scores) else None
