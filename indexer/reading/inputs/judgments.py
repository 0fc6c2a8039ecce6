"""Judgments, candidates and labels for experiments: TREC's qrels and runs, tab-separated tables, MovieLens.

Pairs of related documents are judgments, too: a table of keys, or the `PostLinks.xml` of a Stack Exchange data dump.
"""

import re
from collections.abc import Iterator

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.formats.stackexchange import read_rows
from moverank.indexer.reading.inputs.candidate_lists import CandidateList, parsed_number
from moverank.indexer.reading.inputs.numbered_lines import numbered_lines, opened
from moverank.indexer.reading.records import BadRecord

_QRELS_COLUMNS, _RUN_COLUMNS, _FILM_COLUMNS = 4, 6, 24  # columns of a line of qrels, of a TREC run, of u.item
_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_GRADE, _RANK = re.compile(r"-?\d{1,18}"), re.compile(r"\d{1,18}")

GENRES = (
    *(
        "unknown",
        "Action",
        "Adventure",
        "Animation",
        "Children's",
        "Comedy",
        "Crime",
        "Documentary",
        "Drama",
        "Fantasy",
    ),
    *("Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
"""The genres, as flags at the end of each line of MovieLens 100k's u.item (Harper & Konstan 2016)."""


def read_qrels(path: str) -> dict[str, dict[str, int]]:
    """Return the grades by query and document of a file, gzipped or not, with lines `query 0 document grade`.

    Below BEIR's header `query-id corpus-id score`, lines have these three columns. Columns are separated by tabs or, in
    a line without tabs, by white space. Raises ReadError, which names the line.
    """
    grades: dict[str, dict[str, int]] = {}
    is_beir = False
    for number, columns in _columns(path):
        if number == 1 and columns == _BEIR_HEADER:
            is_beir = True
            continue
        if is_beir and len(columns) == len(_BEIR_HEADER):
            columns = [columns[0], "0", *columns[1:]]
        if len(columns) != _QRELS_COLUMNS or not _GRADE.fullmatch(columns[3]):
            raise ReadError(
                f"{path}:{number}: a judgment needs the form `query 0 document grade`, the grade a whole number"
            )
        query, _, key, grade = columns
        if grades.setdefault(query, {}).setdefault(key, int(grade)) != int(grade):
            raise ReadError(f"{path}:{number}: {key!r} has two different grades for the query {query!r}: leave one out")
    if not grades:
        raise ReadError(f"{path}: holds no judgment")
    return grades


def read_candidates(path: str) -> dict[str, CandidateList]:
    """Return each query's candidates in the order of their ranks; the default rank is the position in the file.

    A line is `query document [rank ...]`, optionally below a header that begins with `query`, or a line of a TREC run
    with a score: `query Q0 document rank score name`. Raises ReadError, which names the line.
    """
    candidates: dict[str, list[tuple[int, str, float | None]]] = {}
    for number, columns in _columns(path):
        if number == 1 and columns[0].lower() in ("query", "query_id", "qid"):
            continue
        is_run = len(columns) == _RUN_COLUMNS and columns[1].upper() == "Q0"
        used = [columns[0], *columns[2:4]] if is_run else columns
        if len(used) < 2 or (len(used) > 2 and not _RANK.fullmatch(used[2])):
            raise ReadError(
                f"{path}:{number}: a candidate needs the form `query document rank`, the rank a whole number"
            )
        score = parsed_number(columns[4]) if is_run else None
        if is_run and score is None:
            raise ReadError(f"{path}:{number}: the score of a run must be a number, not {columns[4]!r}")
        ranked = candidates.setdefault(used[0], [])
        if any(key == used[1] for _, key, _ in ranked):
            raise ReadError(f"{path}:{number}: {used[1]!r} is a candidate of {used[0]!r} already: leave one out")
        ranked.append((int(used[2]) if len(used) > 2 else len(ranked), used[1], score))
    if not candidates:
        raise ReadError(f"{path}: holds no candidate")
    return {query: _in_order(query, ranked) for query, ranked in candidates.items()}


def _in_order(query: str, ranked: list[tuple[int, str, float | None]]) -> CandidateList:
    """Return candidates (rank, key, score) in the order of their ranks."""
    _, keys, scores = zip(*sorted(ranked, key=lambda each: each[0]), strict=True)
    return CandidateList(query, keys, None if None in scores else scores)


def _columns(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the columns of every line that is not blank."""
    for number, text in numbered_lines(path):
        yield number, [column.strip() for column in text.split("\t")] if "\t" in text else text.split()


def read_labels(path: str) -> dict[str, frozenset[str]]:
    """Return the labels by key of a file with lines `key<TAB>label,label`, or of MovieLens's `u.item`.

    Raises ReadError, which names the line.
    """
    labels_of: dict[str, frozenset[str]] = {}
    for number, line in numbered_lines(path, latin1_columns=_FILM_COLUMNS):
        film = line.split("|")
        if len(film) == _FILM_COLUMNS:
            key, labels = film[0], [genre for genre, flag in zip(GENRES, film[5:], strict=True) if flag == "1"]
        else:
            key, labels = _key_and_labels(path, number, line)
        if key:
            labels_of[key] = labels_of.get(key, frozenset()) | frozenset(labels)
    if not labels_of:
        raise ReadError(f"{path}: holds no label")
    return labels_of


def _key_and_labels(path: str, number: int, line: str) -> tuple[str, list[str]]:
    key, tab, labels = line.partition("\t")
    if key.strip() and not tab:
        raise ReadError(f"{path}:{number}: labels need the form `key<TAB>label,label`, or that of MovieLens's u.item")
    return key.strip(), [label.strip() for label in labels.split(",") if label.strip()]


Grades = dict[str, dict[str, int]]
"""The grades of documents for each query, by keys; see `read_qrels`."""

_LINKED, _DUPLICATE = "1", "3"
_GRADES = {_LINKED: 1, _DUPLICATE: 2}


def read_pairs(path: str) -> Grades:
    """Return a grade of 1 in both directions for each pair of keys in a file, gzipped or not.

    Keys are separated by a tab or, in a line without tabs, by white space. Raises ReadError, which names the line.
    """
    grades: Grades = {}
    for number, keys in _columns(path):
        if len(keys) != 2 or not all(keys) or keys[0] == keys[1]:
            raise ReadError(f"{path}:{number}: a pair needs the form `key<TAB>other key`")
        _add(grades, keys[0], keys[1], 1)
    if not grades:
        raise ReadError(f"{path}: holds no pair")
    return grades


def read_post_links(path: str) -> Grades:
    """Return the links of a `PostLinks.xml` in both directions: grade 2 for duplicates, 1 for linked questions.

    Raises ReadError for a file that cannot be read, and for one without links.
    """
    grades: Grades = {}
    with opened(path) as stream:
        for line, row in read_rows(stream, "postlinks"):
            if isinstance(row, BadRecord):
                raise ReadError(f"{path}:{line}: {row.reason}")
            kind, post, related = (row.get(name, "") for name in ("LinkTypeId", "PostId", "RelatedPostId"))
            if kind in _GRADES and post and related and post != related:
                _add(grades, post, related, _GRADES[kind])
    if not grades:
        raise ReadError(f"{path}: holds no link between two questions")
    return grades


def _add(grades: Grades, one: str, other: str, grade: int) -> None:
    for query, document in ((one, other), (other, one)):
        of_query = grades.setdefault(query, {})
        of_query[document] = max(grade, of_query.get(document, 0))
