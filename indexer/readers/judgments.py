"""Judgments, candidates and labels for experiments: TREC's qrels and runs, tables with tabs, MovieLens."""

from collections.abc import Iterator, Sequence

from moverank.indexer.errors import ReadError
from moverank.indexer.progress import silent
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.sources import find_sources
from moverank.indexer.readers.streams import DAMAGED, Meter, opened

_ITERATION, _RUN, _FILM = 4, 6, 24  # columns of a line of qrels, of a run, of u.item

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
"""The flags at the end of each line of MovieLens 100k's u.item (Harper & Konstan 2016)."""


def read_qrels(path: str) -> dict[str, dict[str, int]]:
    """Return the grades by query and document of lines `query 0 document grade`, gzipped or not.

    Columns stand apart by tabs, or else by blanks. Raises ReadError with file and line.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, columns in _lines(path):
        if len(columns) != _ITERATION or not columns[3].lstrip("-").isdecimal():
            raise ReadError(
                f"{path}:{number}: a judgment needs the form `query 0 document grade`, the grade a whole number"
            )
        query, _, key, grade = columns
        if grades.setdefault(query, {}).setdefault(key, int(grade)) != int(grade):
            raise ReadError(f"{path}:{number}: {key!r} has two different grades for the query {query!r}: leave one out")
    if not grades:
        raise ReadError(f"{path}: holds no judgment")
    return grades


def read_candidates(path: str) -> dict[str, list[str]]:
    """Return each query's candidates in the order of their ranks, or of their lines where none are given.

    A line is `query document [rank ...]`, perhaps under a head that begins with `query`, or one of a TREC run:
    `query Q0 document rank score name`. Raises ReadError with file and line.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for number, columns in _lines(path):
        if number == 1 and columns[0].lower() in ("query", "query_id", "qid"):
            continue
        run = len(columns) == _RUN and columns[1].upper() == "Q0"
        picked = [columns[0], *columns[2:4]] if run else columns
        if len(picked) < 2 or (len(picked) > 2 and not picked[2].isdecimal()):
            raise ReadError(
                f"{path}:{number}: a candidate needs the form `query document rank`, the rank a whole number"
            )
        ranked = found.setdefault(picked[0], [])
        if any(key == picked[1] for _, key in ranked):
            raise ReadError(f"{path}:{number}: {picked[1]!r} is a candidate of {picked[0]!r} already: leave one out")
        ranked.append((int(picked[2]) if len(picked) > 2 else len(ranked), picked[1]))
    if not found:
        raise ReadError(f"{path}: holds no candidate")
    return {query: [key for _, key in sorted(ranked, key=lambda each: each[0])] for query, ranked in found.items()}


def _lines(path: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Go through the columns of every line that is not blank."""
    (source,) = find_sources([path])
    try:
        with opened(source, Meter(silent, None)) as stream:
            for number, line in enumerate(stream.texts(), start=1):
                if isinstance(line, BadRecord):
                    raise ReadError(f"{path}:{number}: {line.reason}")
                text = line.strip("\r\n")
                if text.strip():
                    yield number, [column.strip() for column in text.split("\t")] if "\t" in text else text.split()
    except DAMAGED as error:
        raise ReadError(f"{path}: the gzip data are damaged or cut short: {error}") from error


def read_labels(path: str) -> dict[str, frozenset[str]]:
    """Return the labels by key of lines `key<TAB>label,label`, or of MovieLens's `u.item`, whose genres are flags.

    Raises ReadError with file and line.
    """
    found: dict[str, frozenset[str]] = {}
    (source,) = find_sources([path])
    with opened(source, Meter(silent, None)) as stream:
        for number, line in enumerate(stream.lines(), start=1):
            # MovieLens is Latin-1, where every byte is a letter.
            film = (line or b"").decode("latin-1").strip("\r\n").split("|")
            if len(film) == _FILM:
                key, labels = film[0], [genre for genre, flag in zip(GENRES, film[5:], strict=True) if flag == "1"]
            else:
                key, labels = _labelled(path, number, line or b"")
            if key:
                found[key] = found.get(key, frozenset()) | frozenset(labels)
    if not found:
        raise ReadError(f"{path}: holds no label")
    return found


def _labelled(path: str, number: int, line: bytes) -> tuple[str, list[str]]:
    """Read one line of keys and labels; an empty key stands for a blank line."""
    try:
        key, tab, labels = line.decode().strip("\r\n").partition("\t")
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}:{number}: byte {error.start + 1} of the line is not UTF-8") from error
    if key.strip() and not tab:
        raise ReadError(f"{path}:{number}: labels need the form `key<TAB>label,label`, or that of MovieLens's u.item")
    return key.strip(), [label.strip() for label in labels.split(",") if label.strip()]
