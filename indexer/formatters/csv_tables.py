"""Tables for spreadsheets: lines of CSV (RFC 4180) with a header; the metadata have a column for each field."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from math import isnan
from typing import TYPE_CHECKING

from moverank.indexer.formatters.escaping import printable
from moverank.indexer.values.documents import Document, Metadata, values_by_field, whole_text
from moverank.rerank.ranking import Hit, Ranking

if TYPE_CHECKING:  # it loads SQLAlchemy
    from moverank.indexer.store import Entry

Cell = str | int | float | bool | None

_FORMULA = ("=", "+", "-", "@", "\t")
_HIT = ("rank", "key", "title", "label", "distance", "total", "score", "certified", "snippet")
_PERCENTILE = ("percentile", "percentile_low", "percentile_high")
_ENTRY = ("key", "title", "label", "parts", "wordless", "source", "file")
_DOCUMENT = ("key", "title", "label")


def csv_line(cells: Iterable[Cell]) -> str:
    """Return a row without its line end: numbers with all their digits, nothing for None and NaN.

    A text that a spreadsheet would compute as a formula, because it begins with =, +, - or @ and is no number, gets an
    apostrophe in front: strangers write texts, and a formula can send cells to another host. Line ends are kept, as
    cells are quoted; other control characters become spaces.
    """
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow([_text(cell) for cell in cells])
    return line.getvalue()[:-1]


def hit_table(answers: Sequence[tuple[str, Ranking]], *, several: bool) -> Iterator[str]:
    """Yield a row for each hit of each query; `several`: the first column is the query's id."""
    hits = [hit for _, ranking in answers for hit in ranking.hits]
    fields, full = metadata_fields(hit.metadata for hit in hits), any(hit.text is not None for hit in hits)
    shares = _PERCENTILE if any(hit.percentile for hit in hits) else ()
    more = (*shares, *(("text",) if full else ()))
    names = _named(fields, {"query", *_HIT, *shares, "text"})
    yield csv_line([*(("query",) if several else ()), *_HIT, *more, *names])
    for query, ranking in answers:
        for rank, hit in enumerate(ranking.hits, start=1):
            cells = [*([query] if several else []), rank, *_hit_cells(hit, certified=ranking.certified)]
            own = hit.percentile
            cells += ([own.share, own.low, own.high] if own else [None] * 3) if shares else []
            yield csv_line([*cells, *([hit.text] if full else []), *_values(hit.metadata, fields)])


def entry_table(entries: Iterable["Entry"], fields: Sequence[str]) -> Iterator[str]:
    """Yield a row for each document, without its text; `fields` are the fields of metadata to show."""
    yield csv_line([*_ENTRY, *_named(fields, set(_ENTRY))])
    for entry in entries:
        origin = entry.origin
        place = [None, None] if origin is None else [origin.source.place, origin.file]
        cells = [entry.key, entry.title, entry.label, entry.parts, entry.wordless, *place]
        yield csv_line([*cells, *_values(entry.metadata, fields)])


def document_table(documents: Iterable[Document], fields: Sequence[str]) -> Iterator[str]:
    """Yield a row for each document with its text, in which the parts are separated by empty lines."""
    yield csv_line([*_DOCUMENT, *_named(fields, {*_DOCUMENT, "text"}), "text"])
    for document in documents:
        text = whole_text(part.text for part in document.parts)
        yield csv_line([document.key, document.title, document.label, *_values(document.metadata, fields), text])


def metadata_fields(metadata: Iterable[Metadata]) -> list[str]:
    """Return the names of all fields of metadata, in the order in which they first occur."""
    return list(dict.fromkeys(name for one in metadata for name in values_by_field(one)))


def _named(fields: Iterable[str], columns: set[str]) -> list[str]:
    """Return the columns of `fields`; a field with the name of one of the `columns` is called metadata.NAME."""
    return [f"metadata.{name}" if name in columns else name for name in fields]


def _hit_cells(hit: Hit, *, certified: bool) -> list[Cell]:
    return [hit.key, hit.title, hit.label, hit.distance, hit.total, hit.score, certified, hit.snippet]


def _values(metadata: Metadata, fields: Iterable[str]) -> list[Cell]:
    """Return the values of some fields; commas separate the values of a list."""
    found = values_by_field(metadata)
    return [", ".join(found.get(name, ())) for name in fields]


def _text(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return repr(cell)
    text = "\n".join(map(printable, cell.split("\n"))) if not cell.isprintable() else cell
    return f"'{text}" if cell.startswith(_FORMULA) and not _is_number(cell) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
