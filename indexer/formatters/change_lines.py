"""Changes to a collection as lines of text."""

from collections.abc import Iterator, Mapping
from typing import Any

from moverank.indexer.documents import Changes
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.formatters.percentage import percentage


def changes_line(changes: Changes, seconds: float) -> str:
    """Return the changes made by a run, which took `seconds`, in one line."""
    names = ("added", "updated", "removed", "unchanged", "rejected", "kept")
    counts = [f"{count:,} {name}" for name in names if (count := getattr(changes, name))]
    wordless = f"; {changes.wordless:,} without any known word, never ranked" if changes.wordless else ""
    rate = f", {changes.documents / seconds:,.0f} documents/s" if changes.documents > 1 and seconds > 0.05 else ""
    covered = "" if changes.coverage is None else f"; {percentage(changes.coverage)} of all words have a vector"
    figures = f"{seconds:.2f} s{rate}; revision {changes.revision}{covered}"
    return f"{', '.join(counts) or 'no document found'}{wordless} ({figures})"


def refit_lines(info: Mapping[str, Any], seconds: float, *, changed: bool) -> Iterator[str]:
    """Yield what a refit did, which took `seconds`; `info` is that of the collection, `changed`: also its vectors."""
    if changed:
        covered = "" if info["coverage"] is None else f"; {percentage(info['coverage'])} of all words have a vector"
        yield printable(
            f"word vectors of {info['embedding']}: {info['vectors']:,} words, {info['dim']} dimensions{covered}"
        )
    yield f"{info['first_stage']} fitted to {info['documents']:,} documents ({seconds:.2f} s)"
