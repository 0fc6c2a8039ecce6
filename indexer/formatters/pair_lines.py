"""Pairs of documents, and clusters of them, as lines of text, of CSV, and as JSON objects."""

from collections.abc import Iterator
from typing import Any

from moverank.indexer.formatters.csv_tables import csv_line
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.search.pairs import Pair, Pairs

_KEY = 16  # columns


def lines(found: Pairs, *, clusters: bool, aligned: bool) -> Iterator[str]:
    """Yield a line for each pair, distance and keys, or for each document of a cluster; `aligned` for a terminal."""
    if clusters:
        titles = _titles(found)
        for number, keys in enumerate(found.clusters, start=1):
            for key in keys:
                yield _line([f"{number}", key, titles[key]], aligned=aligned)
        return
    for pair in found.pairs:
        yield _line([f"{pair.distance:.4f}", *pair.keys, " | ".join(pair.titles) + _differing(pair)], aligned=aligned)


def csv_lines(found: Pairs, *, clusters: bool) -> Iterator[str]:
    """Yield a header, then a line for each pair, or for each document of a cluster."""
    if clusters:
        titles = _titles(found)
        yield csv_line(["cluster", "key", "title"])
        for number, keys in enumerate(found.clusters, start=1):
            yield from (csv_line([number, key, titles[key]]) for key in keys)
        return
    yield csv_line(["distance", "key", "other", "title", "other_title", "unknown_words", "other_unknown_words"])
    for pair in found.pairs:
        yield csv_line([pair.distance, *pair.keys, *pair.titles, *map(" ".join, pair.unknown_words)])


def pair_objects(found: Pairs) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each pair."""
    for pair in found.pairs:
        yield {
            "key": pair.keys[0],
            "other": pair.keys[1],
            "distance": pair.distance,
            "titles": list(pair.titles),
            "unknown_words": list(map(list, pair.unknown_words)),
        }


def cluster_objects(found: Pairs) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each cluster."""
    for number, keys in enumerate(found.clusters, start=1):
        yield {"cluster": number, "size": len(keys), "keys": list(keys)}


def summary_line(found: Pairs) -> str:
    """Return what was compared and found."""
    if found.why_empty:
        return found.why_empty
    counts = found.counts
    return (
        f"{len(found.pairs):,} of {found.compared:,} pairs by {found.ranked_by}, all others are farther: "
        f"{counts.candidates:,} passed WCD, {counts.solved:,} were solved"
    )


def _differing(pair: Pair) -> str:
    """Return the words without a vector by which two documents differ, as a mark at the end of a line."""
    if not any(pair.unknown_words):
        return ""
    one, other = (" ".join(words) or "-" for words in pair.unknown_words)
    return f" (words without a vector differ: {one} | {other})"


def _titles(found: Pairs) -> dict[str, str]:
    return {key: title for pair in found.pairs for key, title in zip(pair.keys, pair.titles, strict=True)}


def _line(cells: list[str], *, aligned: bool) -> str:
    shown = [printable(cell) for cell in cells]
    if not aligned:
        return "\t".join(shown)
    *first, last = shown
    return "  ".join([first[0].rjust(6), *(f"{cell:<{_KEY}}" for cell in first[1:]), last]).rstrip()
