"""Stored documents, and the words of a query that have no vector or no effect, as lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from moverank.indexer.formatters.escaping import isolated, printable
from moverank.indexer.values.documents import Metadata, Origin, values_by_field
from moverank.indexer.values.scope import UNKNOWN_SOURCE
from moverank.rerank.ranking import Ranking

if TYPE_CHECKING:
    from moverank.indexer.state.contents import Description
    from moverank.indexer.store import Entry
    from moverank.rerank.distance.explain import Explanation


_LONGEST_VALUE, _LONGEST_LINE = 40, 120
_KEY, _LEAST_TITLE = 16, 24  # columns


def metadata_line(metadata: Metadata) -> str:
    """Return metadata on one line in the form of conditions, `year=2019 tags=heating,wiring`, cut if they are long."""
    return _cut(_conditions(metadata, _LONGEST_VALUE), _LONGEST_LINE)


def _conditions(metadata: Metadata, longest: int | None = None) -> str:
    """Return metadata in the form of conditions, each value cut to at most `longest` characters, None for whole."""
    fields = values_by_field(metadata).items()
    shown = ((printable(name), [_cut(printable(value), longest) for value in values]) for name, values in fields)
    return "  ".join(f"{name}={','.join(values)}" for name, values in shown)


def entry_line(entry: "Entry", width: int | None) -> str:
    """Return key, title, label and metadata: in columns, cut to the `width` of a terminal, or whole between tabs.

    A document without any known word, which no search finds, is marked.
    """
    facts = _conditions(entry.metadata)
    about = "  ".join(filter(None, (facts, "(no known word)" if entry.wordless else "")))
    cells = [printable(text) for text in (entry.key, entry.title, entry.label or "")]
    if width is None:
        return "\t".join([*cells, about])
    key, title, label = cells
    longest = max(_LEAST_TITLE, 2 * width // 5)
    shown = (padded(key, _KEY), padded(_cut(title, longest), longest), f"[{isolated(label)}]" if label else "", about)
    return _cut("  ".join(filter(None, shown)).rstrip(), width)


def description_lines(description: "Description") -> Iterator[str]:
    """Yield the facts about a document, then the text of each part below its rank."""
    document = description.document
    yield f"{document.key}  {document.title}"
    facts = [] if document.label is None else [("label", document.label)]
    facts += [(name, ", ".join(values)) for name, values in values_by_field(document.metadata).items()]
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


def _cut(text: str, length: int | None) -> str:
    """Return a text cut to at most `length` columns, None for all of it; some characters take two columns."""
    if length is None or (len(text) <= length and text.isascii()):
        return text
    return text if cell_len(text) <= length else f"{set_cell_size(text, length - 1).rstrip()}…"


def padded(text: str, width: int) -> str:
    """Return a text for a terminal with spaces up to a width in columns."""
    shown = isolated(text)
    return shown + " " * max(0, width - cell_len(shown))


_SHOWN = 12  # words of a line; a query may be a whole text


def ranking_words(ranking: Ranking) -> Iterator[str]:
    """Yield a line for replaced words, one for words without a vector that still count, and one for ignored words."""
    yield from replaced_words(ranking.respelled_words)
    yield from uncompared_words(ranking)


def uncompared_words(ranking: Ranking) -> Iterator[str]:
    """Yield a line for words without a vector that still count, and one for ignored words."""
    unknown, ignored = ranking.unknown_words or (), ranking.ignored_words or ()
    if not (unknown or ignored):
        return
    from moverank.indexer.values.ranking_spec import parse_ranking  # likewise

    spec = parse_ranking(ranking.ranked_by)
    if not spec.compares_vectors:
        yield from _line("Ignored, in no document", ignored)
    elif not spec.counted:
        yield from _line("Ignored, without a vector", ignored)
    else:
        nowhere = set(ignored)
        yield from _line("Without a vector, compared only as words", [word for word in unknown if word not in nowhere])
        yield from _line("Ignored, without a vector and in no document", ignored)


def replaced_words(respelled: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a line for misspelt words of a query and the stored words in their place."""
    return _line("In no document, so replaced", [f"{word} → {' '.join(own)}" for word, own in respelled.items()])


def explanation_words(explanation: "Explanation") -> Iterator[str]:
    """Yield a line for replaced words of the query, and one for those that cannot be in a flow."""
    yield from replaced_words(explanation.respelled_words)
    yield from _line("Without a vector, in no flow", explanation.unknown_words)


def _line(what: str, words: Sequence[str]) -> Iterator[str]:
    if words:
        more = f" and {len(words) - _SHOWN:,} more" if len(words) > _SHOWN else ""
        yield printable(f"{what}: {', '.join(words[:_SHOWN])}{more}.")
