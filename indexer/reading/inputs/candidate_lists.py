"""The candidates that another engine found for queries: a TREC run, or JSONL with a query on each line."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import NamedTuple

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.formats.html import Markup
from moverank.indexer.reading.formats.json_lines import parse_object
from moverank.indexer.reading.inputs.numbered_lines import lines_and_bad_ones
from moverank.indexer.reading.inputs.queries import query_of
from moverank.indexer.reading.records import (
    KEY_FIELDS,
    LIST,
    NUMBER,
    TEXT_FIELDS,
    TEXT_OR_OBJECT,
    BadRecord,
    Record,
    checked,
    choose_field,
    key_of,
)
from moverank.indexer.reading.source_reader import html_in, remove_html
from moverank.indexer.values.documents import Document, Part

_log = logging.getLogger("moverank")

QUERY_KEYS = ("qid", *KEY_FIELDS, "query_id")
_FORM = 'a line needs the form {"query": "...", "candidates": [{"id": "...", "text": "..."}]}'
_TEXTS = {*TEXT_FIELDS, "title", "comments", "parts"}
_FIRST = 200  # candidates that decide whether all are HTML
_NAMED_FAULTS = 3  # candidates whose faults are named in a note

Lines = Iterator[tuple[int, str | BadRecord]]


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The candidates of a query in the order of the engine."""

    id: str
    """The id of the query."""
    keys: tuple[str, ...] = ()
    """The keys of the candidates."""
    scores: tuple[float | None, ...] | None = None
    """The engine's scores of the candidates; None if it gave none."""
    query: Document | None = None
    """The query; None in a TREC run, which has only its id."""
    documents: tuple[Document, ...] | None = None
    """The candidates' texts; None if only keys are given."""
    record: Record | None = None
    """The record of a JSONL line."""
    entries: tuple[Record, ...] = ()
    """The candidates of a JSONL line as they were read."""
    problem: str | None = None
    """Why the line cannot be used."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """Why a candidate, by its index, cannot be compared and comes last: its text or key is empty."""
    unscored: Mapping[int, str] = field(default_factory=dict)
    """Why the score of a candidate, by its index, is ignored."""
    place: str = ""
    """FILE:LINE."""

    @property
    def notes(self) -> list[str]:
        """Return the faults of single candidates, a sentence for each consequence."""
        consequences = {"cannot be compared and come last": self.faults, "count as without a score": self.unscored}
        return [
            f"{self.place}: {len(faults):,} of {len(self.keys):,} candidates {what}: {_listed(list(faults.values()))}"
            for what, faults in consequences.items()
            if faults
        ]


def _listed(faults: Sequence[str]) -> str:
    more = len(faults) - _NAMED_FAULTS
    return "; ".join(faults[:_NAMED_FAULTS]) + (f"; and {more:,} more" if more > 0 else "")


def read_candidate_lists(path: str, markup: Markup | None = None) -> Iterator[CandidateList]:
    """Yield the candidates of each query of a file, gzipped or not, as they are read; `-` is standard input.

    A file is JSONL if its first good line begins with a brace; any other file is a TREC run: `query Q0 document rank
    score name`, with the lines of a query together. A bad line is yielded as a problem; in a run, after the query
    before it. A run that is not sorted by query ends with a problem. Raises ReadError, which names the file and the
    line, for a file that cannot be read, is empty or has no good line.

    `markup`: whether HTML is removed from the texts of candidates; by default, it is removed, and a note logged, from
    the line on where the candidates so far show that they are HTML.
    """
    cleaning = _Cleaning(path, markup)
    lines, first = lines_and_bad_ones(path), list[tuple[int, str | BadRecord]]()
    for line in lines:
        first.append(line)
        if _is_json(line[1]):
            return (cleaning.cleaned(_from_json(path, *one)) for one in chain(first, lines))
        if isinstance(_run_line(*line), _RunLine):
            break
    if not first:
        raise ReadError(f"{path}: holds no candidates")
    return _read_run(path, chain(first, lines))


class _Cleaning:
    """Removes HTML from candidates; see `read_candidate_lists`. The first `_FIRST` candidates decide."""

    def __init__(self, path: str, markup: Markup | None) -> None:
        self._path = path
        self._first: list[Document] | None = [] if markup is None else None
        self._html = (markup == "strip",) * 2

    def cleaned(self, line: CandidateList) -> CandidateList:
        """Return a line with the visible texts of its candidates."""
        self._decide(line.documents or ())
        faults = dict(line.faults)
        for i, document in enumerate(line.documents or ()):
            remove_html(document, *self._html)
            if i not in faults and not (document.title or document.parts):
                faults[i] = f"candidate {i + 1} has no text, only HTML"
        return replace(line, faults=faults) if len(faults) > len(line.faults) else line

    def _decide(self, documents: Iterable[Document]) -> None:
        if self._first is None:
            return
        self._first += documents
        self._html = html_in(self._first)
        if any(self._html):
            _log.warning(
                "%s: its candidates are HTML, of which the visible text is read; --markup keep reads all of it",
                self._path,
            )
        if any(self._html) or len(self._first) > _FIRST:
            self._first = None


def _is_json(line: str | BadRecord) -> bool:
    return isinstance(line, str) and line.lstrip().startswith("{")


class _RunLine(NamedTuple):
    number: int
    query: str
    key: str
    score: float


def _read_run(path: str, lines: Lines) -> Iterator[CandidateList]:
    seen, bad = set[str](), list[CandidateList]()
    for query, group in groupby(_good_lines(path, lines, bad), key=lambda line: line.query):
        found = list(group)
        if query in seen:
            problem = f"lines of {query!r} are not together, and the rest is not read: sort the run by query"
            yield CandidateList(f"{path}:{found[0].number}", problem=problem)
            return
        seen.add(query)
        yield CandidateList(query, tuple(line.key for line in found), tuple(line.score for line in found))
        yield from bad
        bad.clear()
    if bad:  # every line is bad
        raise ReadError(f"{bad[0].id}: {bad[0].problem}")


def _good_lines(path: str, lines: Lines, bad: list[CandidateList]) -> Iterator[_RunLine]:
    """Yield the good lines of a run, and add the others to `bad`."""
    for number, line in lines:
        found = _run_line(number, line)
        if isinstance(found, _RunLine):
            yield found
        else:
            bad.append(CandidateList(f"{path}:{number}", problem=found))


def _run_line(number: int, line: str | BadRecord) -> _RunLine | str:
    """Return a line of a run, or its fault."""
    if isinstance(line, BadRecord):
        return line.reason
    columns = line.split()
    score = parsed_number(columns[4]) if len(columns) == 6 else None
    if score is None:
        return "a line of a run needs the form `query Q0 document rank score name`"
    return _RunLine(number, columns[0], columns[2], score)


def parsed_number(text: str) -> float | None:
    """Return the finite number that a text states; None for any other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _from_json(path: str, number: int, line: str | BadRecord) -> CandidateList:
    try:
        if isinstance(line, BadRecord):
            raise line
        return _of_record(parse_object(line), str(number), f"{path}:{number}")
    except BadRecord as bad:
        return CandidateList(f"{path}:{number}", problem=bad.reason)


def _of_record(record: Record, default_key: str, place: str) -> CandidateList:
    """Return the candidates of `{"query": ..., "candidates": [...]}`; a query may be a text or a record.

    Raises BadRecord if the query or all of its candidates cannot be used.
    """
    if "candidates" not in record:
        raise BadRecord(f"{_FORM}: there is no field 'candidates'")
    given = checked(LIST, record["candidates"], "'candidates'", required=True)
    query, id_ = _query_of(record, default_key)
    entries = tuple(map(_entry, given))
    has_texts = not entries or any(not _TEXTS.isdisjoint(_content(entry)) for entry in entries)
    keys, documents, faults = list[str](), list[Document](), dict[int, str]()
    for i, (one, entry) in enumerate(zip(given, entries, strict=True)):
        key, document = str(i) if has_texts else "", None
        try:
            checked(TEXT_OR_OBJECT, one, f"candidate {i + 1}", required=True)
            key = key_of(entry, choose_field(entry, None, KEY_FIELDS), key)
            document = _document(_content(entry), key, f"candidate {i + 1}", has_texts=has_texts)
        except BadRecord as bad:
            faults[i] = bad.reason if bad.reason.startswith("candidate") else f"candidate {i + 1}: {bad.reason}"
        keys.append(key)
        documents.append(document or Document(key))
    if faults and len(faults) == len(entries):
        raise BadRecord(f"no candidate can be compared: {_listed(list(faults.values()))}")
    scores, unscored = _scores(entries)
    texts = tuple(documents) if has_texts else None
    return CandidateList(id_, tuple(keys), scores, query, texts, record, entries, None, faults, unscored, place)


def _document(content: Record, key: str, name: str, *, has_texts: bool) -> Document:
    """Return a candidate, empty if only keys are given; BadRecord says why it cannot be compared."""
    if has_texts and _TEXTS.isdisjoint(content):
        raise BadRecord(f"{name} has no text, but others have one: give a text to all of them, or to none")
    if not has_texts and not key:
        raise BadRecord(f"{name} has neither a text nor an id")
    return query_of(content, key, "a candidate") if has_texts else Document(key)


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
    return query_of(checked(TEXT_OR_OBJECT, query, "'query'"), id_), id_


def _entry(candidate: object) -> Record:
    """Return a candidate as a record; any value but a text or an object is kept in a field."""
    if isinstance(candidate, str):
        return {"text": candidate}
    return candidate if isinstance(candidate, dict) else {"candidate": candidate}


def _content(entry: Record) -> Record:
    """Return the record with the text of a candidate: the entry, or its field `doc`, as some rerankers write it."""
    nested = entry.get("doc")
    return nested if isinstance(nested, dict) and _TEXTS.isdisjoint(entry) else entry


def _scores(entries: Sequence[Record]) -> tuple[tuple[float | None, ...] | None, dict[int, str]]:
    """Return the scores of candidates, None without any, and by index why a score is ignored: it is no number."""
    scores, faults = list[float | None](), dict[int, str]()
    for i, entry in enumerate(entries):
        try:
            score = checked(NUMBER, entry.get("score"), f"the score of candidate {i + 1}")
            scores.append(None if score is None else float(score))
        except BadRecord as bad:
            faults[i] = bad.reason
            scores.append(None)
    return (tuple(scores) if any(score is not None for score in scores) else None), faults
