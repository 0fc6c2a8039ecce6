"""Stored documents as lines of text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from moverank.indexer.documents import Metadata, Origin
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.metadata import flattened
from moverank.indexer.scope import UNKNOWN_SOURCE

if TYPE_CHECKING:  # they load SQLAlchemy
    from moverank.indexer.contents.description import Description
    from moverank.indexer.store import Entry

_LONGEST_VALUE, _LONGEST_LINE = 40, 120
_KEY, _TITLE = 16, 48  # columns


def metadata_line(metadata: Metadata) -> str:
    """Return metadata on one line in the form of conditions, `year=2019 tags=heating,wiring`, cut if they are long."""
    fields: dict[str, list[str]] = {}
    for name, value in flattened(metadata):
        fields.setdefault(name, []).append(_cut(printable(value), _LONGEST_VALUE))
    return _cut("  ".join(f"{printable(name)}={','.join(values)}" for name, values in fields.items()), _LONGEST_LINE)


def entry_line(entry: "Entry", *, aligned: bool) -> str:
    """Return key, title, label and metadata in columns: `aligned` for a terminal, else separated by tabs.

    A document without any known word, which no search finds, is marked.
    """
    facts = metadata_line(entry.metadata)
    about = "  ".join(filter(None, (facts, "(no known word)" if entry.wordless else "")))
    cells = [printable(text) for text in (entry.key, entry.title, entry.label or "")]
    if not aligned:
        return "\t".join([*cells, about])
    key, title, label = cells
    shown = (f"{key:<{_KEY}}", f"{_cut(title, _TITLE):<{_TITLE}}", f"[{label}]" if label else "", about)
    return "  ".join(filter(None, shown)).rstrip()


def document_lines(description: "Description") -> Iterator[str]:
    """Yield the facts about a document, then the text of each part below its rank."""
    document = description.document
    yield f"{document.key}  {document.title}"
    fields: dict[str, list[str]] = {}
    for name, value in flattened(document.metadata):
        fields.setdefault(name, []).append(value)
    facts = [] if document.label is None else [("label", document.label)]
    facts += [(name, ", ".join(values)) for name, values in fields.items()]
    if document.vector is not None:
        facts.append(("vector", f"{len(tuple(document.vector)):,} numbers"))
    facts += [("source", _place(description.origin)), ("words", _words(description))]
    facts.append(("revision", f"{description.revision:,}"))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        yield f"  {name:<{width}}  {value}"
    for part in document.parts:
        yield ""
        yield f"-- rank {part.rank} --"
        yield from part.text.splitlines()


def _place(origin: Origin | None) -> str:
    """Return the path of the file that a document was read from, as `remove --source` takes it."""
    return UNKNOWN_SOURCE if origin is None else origin.source.path_of(origin.file)


def _words(description: "Description") -> str:
    unknown: Sequence[str] = description.unknown_words
    without = f", {len(unknown):,} without a vector: {' '.join(unknown)}" if unknown else ""
    return f"{description.words:,}{without}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
