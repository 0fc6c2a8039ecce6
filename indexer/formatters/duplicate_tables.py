"""Documents that are removed as copies of kept ones: objects, rows, and tables of sizes and of the farthest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moverank.indexer.formatters.csv_tables import Cell
from moverank.indexer.formatters.escaping import isolated
from moverank.indexer.formatters.lines import difference, some_words
from moverank.indexer.formatters.terminal import flow_table
from moverank.indexer.search.near_documents import Deduplication, Duplicate

_FARTHEST = 10
"""How many of the removed documents that are farthest from their kept one are shown."""
_INDENT = (0, 0, 1, 8)


def duplicate_objects(found: Deduplication, *, flows: bool) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each removed document."""
    for one in found.removed:
        values = {name: value for name, value in one.to_dict().items() if name != "beginnings"}
        yield values | ({"flows": values.get("flows", [])} if flows else {})


def duplicate_cells(found: Deduplication) -> Iterator[Sequence[Cell]]:
    """Yield a header, then a row for each removed document."""
    names = "distance key duplicate_of title duplicate_of_title unknown_words other_unknown_words"
    yield [*names.split(), "differences", "other_differences"]
    for one in found.removed:
        words = map(" ".join, one.unknown_words)
        differences = map(", ".join, one.differences)
        yield [one.distance, one.key, one.of, one.title, one.of_title, *words, *differences]


def duplicates_view(found: Deduplication, *, flows: bool) -> RenderableType:
    """Return the numbers of kept documents by their copies, and the farthest removed documents, farthest first.

    `flows`: with their flows. Near documents that are kept since they state something else follow, nearest first.
    """
    return Group(*_removed(found, flows=flows), *_differing(found))


def _differing(found: Deduplication) -> list[RenderableType]:
    if not found.differing:
        return []
    nearest = found.differing[:_FARTHEST]
    shown = (
        f"the nearest {len(nearest)} of {len(found.differing):,} documents that are kept since they state otherwise:"
    )
    return [Text(), Text(shown, style="dim"), _table(nearest)]


def _removed(found: Deduplication, *, flows: bool) -> list[RenderableType]:
    if not found.removed:
        return []
    sizes = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("copies", "kept documents", "removed"):
        sizes.add_column(name, justify="right")
    for copies, groups in sorted(Counter(len(own) for _, own in found.groups).items()):
        sizes.add_row(f"{copies:,}", f"{groups:,}", f"{copies * groups:,}")
    farthest = found.removed[::-1][:_FARTHEST]
    shown = Text(f"the farthest {len(farthest)} of {len(found.removed):,} removed documents:", style="dim")
    if flows:
        tables = (Group(_table([one]), Padding(flow_table(one.flows), _INDENT, expand=False)) for one in farthest)
        return [sizes, Text(), shown, *tables]
    return [sizes, Text(), shown, _table(farthest)]


def _table(removed: tuple[Duplicate, ...] | list[Duplicate]) -> Table:
    """Return removed documents beside the kept ones that they are copies of."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("distance", justify="right")
    for name in ("document", "kept", "title", "title of the kept one", "no vector", "differs in"):
        table.add_column(name, overflow="fold")
    for one in removed:
        words = "; ".join(isolated(some_words(own)) or "-" for own in one.unknown_words) if one.differs else ""
        apart = isolated(difference(one.differences)) if any(one.differences) else ""
        names = map(isolated, (one.key, one.of, *one.beginnings))
        table.add_row(f"{one.distance:.4f}", *map(Text, names), Text(words), Text(apart))
    return table


def duplicates_summary(found: Deduplication, *, remove: bool) -> str:
    """Return the numbers of kept and removed documents and their proof, in one line; `remove`: it was requested."""
    if found.why_empty:
        return found.why_empty
    removed, documents, counts = len(found.removed), len(found.kept) + len(found.removed), found.counts
    differ = sum(one.differs for one in found.removed)
    unless = " unless they state otherwise" if found.differing else ""
    marked = f"; {differ:,} differ from it in words without a vector (--unknown far counts these)" if differ else ""
    if found.differing:
        number = f"{len(found.differing):,} near {'one is' if len(found.differing) == 1 else 'ones are'}"
        marked += f"; {number} kept for another negation, number or limiting word (--differing removes them)"
    work = f"{counts.candidates:,} pairs passed the first bound, {counts.solved:,} were solved{marked}"
    near = f"within {found.within:g} by {found.ranked_by}"
    if not removed:
        return f"no two of {documents:,} documents are {near}{unless}: {work}"
    proof = f"each is {near} of a kept one, no two kept ones are{unless}: {work}"
    if found.changes:
        return f"{removed:,} of {documents:,} documents are removed (revision {found.changes.revision}); {proof}"
    action = "" if remove else "; nothing is removed: the same command with --remove does it"
    return f"{removed:,} of {documents:,} documents would be removed; {proof}{action}"
