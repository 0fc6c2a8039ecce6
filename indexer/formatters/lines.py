"""Results as lines: pairs of documents and clusters of them, reranked candidates."""

import json
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from moverank.indexer.formatters.csv_tables import Cell
from moverank.indexer.formatters.document_lines import padded
from moverank.indexer.formatters.escaping import isolated, printable
from moverank.indexer.reading.inputs.candidate_lists import CandidateList
from moverank.indexer.search.near_documents import Pairs
from moverank.rerank.evaluation.measures import run_field
from moverank.rerank.ranking import Hit, Ranking

_KEY = 16  # columns
_WORDS = 5  # words of a document in a line
_PLACES = ("highlights", "part_starts", "passage")


def pair_lines(found: Pairs, *, clusters: bool, aligned: bool) -> Iterator[str]:
    """Yield a line for each pair, distance and keys, or for each document of a cluster; `aligned` for a terminal."""
    if clusters:
        titles, words = _titles(found), found.unknown_words
        for number, keys in enumerate(found.clusters, start=1):
            for key in keys:
                marks = [f"no vector: {some_words(words[key])}"] if words[key] else []
                yield _line([f"{number}", key, titles[key], *marks], aligned=aligned)
        return
    for pair in found.pairs:
        sides = zip(pair.keys, pair.unknown_words, strict=True)
        marks = [f"no vector: {'; '.join(f'{some_words(words)} in {key}' for key, words in sides if words)}"]
        cells = [f"{pair.distance:.4f}", *pair.keys, " | ".join(pair.beginnings), *(marks if pair.differ else [])]
        if any(pair.differences):
            cells.append(f"differ in {difference(pair.differences)}")
        yield _line(cells, aligned=aligned)


def pair_cells(found: Pairs, *, clusters: bool) -> Iterator[Sequence[Cell]]:
    """Yield a header, then a row for each pair, or for each document of a cluster."""
    if clusters:
        titles, words = _titles(found), found.unknown_words
        yield ["cluster", "key", "title", "unknown_words"]
        for number, keys in enumerate(found.clusters, start=1):
            for key in keys:
                yield [number, key, titles[key], " ".join(words[key])]
        return
    names = "distance key other title other_title unknown_words other_unknown_words"
    yield [*names.split(), "differences", "other_differences"]
    for pair in found.pairs:
        differences = map(", ".join, pair.differences)
        yield [pair.distance, *pair.keys, *pair.titles, *map(" ".join, pair.unknown_words), *differences]


def pair_objects(found: Pairs) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each pair."""
    for pair in found.pairs:
        yield {name: value for name, value in pair.to_dict().items() if name != "beginnings"}


def cluster_objects(found: Pairs) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each cluster."""
    words = found.unknown_words
    for number, keys in enumerate(found.clusters, start=1):
        unknown = {key: list(words[key]) for key in keys if words[key]}
        yield {"cluster": number, "size": len(keys), "keys": list(keys), "unknown_words": unknown}


def summary_line(found: Pairs) -> str:
    """Return the numbers of compared documents and found pairs, in one line."""
    if found.why_empty:
        return found.why_empty
    counts, differ = found.counts, sum(pair.differ for pair in found.pairs)
    marked = f"; {differ:,} differ in words without a vector" if differ else ""
    apart = sum(any(pair.differences) for pair in found.pairs)
    marked += f"; {apart:,} in a negation, a number or a limiting word" if apart else ""
    return (
        f"{len(found.pairs):,} of {found.compared:,} pairs by {found.ranked_by}, all others are farther: "
        f"{counts.candidates:,} passed the first bound, {counts.solved:,} were solved{marked}"
    )


def _titles(found: Pairs) -> dict[str, str]:
    return {key: title for pair in found.pairs for key, title in zip(pair.keys, pair.beginnings, strict=True)}


def difference(both: tuple[Sequence[str], Sequence[str]]) -> str:
    """Return what one of two documents states and the other does not."""
    return " / ".join(some_words(words) or "-" for words in both)


def some_words(words: Sequence[str]) -> str:
    """Return the first words of many, and how many more there are."""
    more = f" and {len(words) - _WORDS:,} more" if len(words) > _WORDS else ""
    return f"{', '.join(words[:_WORDS])}{more}"


def _line(cells: list[str], *, aligned: bool) -> str:
    if not aligned:
        return "\t".join(map(printable, cells))
    distance, *keys, last = cells
    return "  ".join([distance.rjust(6), *(padded(key, _KEY) for key in keys), isolated(last)]).rstrip()


def reranked_lines(candidates: CandidateList, ranking: Ranking, name: str) -> list[str]:
    """Return the lines of a query: of a run called `name`, or a single line of JSONL."""
    if candidates.record is None:
        query, tag = run_field(candidates.id), run_field(name)
        return [
            f"{query} Q0 {run_field(hit.key)} {rank} {hit.score:.9g} {tag}"
            for rank, hit in enumerate(ranking.hits, start=1)
        ]
    ranked = [_entry(candidates, hit) for hit in ranking.hits]
    about = {"certified": ranking.certified, "ranking": ranking.ranked_by}
    return [json.dumps({**candidates.record, "candidates": ranked, **about}, ensure_ascii=False)]


def _entry(candidates: CandidateList, hit: Hit) -> dict[str, Any]:
    """Return a candidate as it was read, with its new score, its distance or total, and its fault."""
    value: dict[str, Any] = {"distance": None if isnan(hit.distance) else hit.distance}
    if hit.total is not None:
        value["total"] = hit.total
    if hit.text is not None:
        value["text"] = hit.text
    value |= {name: one for name, one in hit.to_dict().items() if name in _PLACES}
    flags = {"exact": hit.exact} | ({"wordless": True} if hit.wordless else {})
    place = hit.candidate or 0
    fault = candidates.faults.get(place) or candidates.unscored.get(place)
    problem = {"problem": fault} if fault else {}
    return {**candidates.entries[place], "score": hit.score, **value, **flags, **problem}
