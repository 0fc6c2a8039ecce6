"""Sentences about results, changes, dry runs and shares, for the terminal and the pages of the server."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import floor, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from moverank.indexer.formatters.escaping import printable
from moverank.indexer.values.documents import Changes
from moverank.rerank.ranking import Hit, Passage, Percentile, Ranking, TermScale

if TYPE_CHECKING:
    from moverank.rerank.distance.explain import WhyNot


def percentage(share: float) -> str:
    """Return a share, 0 to 1, in percent, rounded down: 100 % means all of it."""
    tenths = floor(share * 1000 + 1e-9) / 10
    return f"{tenths:.0f} %" if tenths == int(tenths) else f"{tenths:.1f} %"


def verdict(ranking: Ranking, proof: str = "--exact") -> str:
    """Return how accurate a ranking is proven to be; `proof` is the name of the option that proves the rest."""
    counts = ranking.counts
    better = "nearer" if all(ranking_value(hit)[0] == "distance" for hit in ranking.hits) else "better"
    if ranking.missing_shards:
        names = ", ".join(ranking.missing_shards)
        return f"Not certified: no answer from {names}, whose documents are missing here"
    if ranking.why_empty:
        return ranking.why_empty[:1].upper() + ranking.why_empty[1:]
    if not counts.candidates:
        return "No document to compare: no other one that passes the filter has a word with a vector"
    if not ranking.hits:
        return "Nothing found: no candidate has a word of the query, or none is near enough"
    if ranking.certified:
        other = "other document" if ranking.group_by is None else f"document of another group by {ranking.group_by}"
        return f"Certified: no {other} is {better}"
    if ranking.scope == "collection":
        return f"Not certified: time limit reached; the last hit is at most {ranking.largest_error:.4f} too far"
    return f"Not certified: exact among {counts.candidates:,} candidates; {proof} proves it for all documents"


def work_done(ranking: Ranking, seconds: float) -> str:
    """Return the work of a ranking in words."""
    return f"{ranking.counts.candidates:,} compared, {ranking.counts.solved:,} solved, {seconds:.2f} s"


BETTER = {"total": "smaller is better", "distance": "smaller is nearer", "score": "larger is better"}
"""Whether larger or smaller values of a measure are better."""


def ranking_value(hit: Hit) -> tuple[str, float]:
    """Return the name of the value that ranked a hit, "total", "distance" or "score", and the value."""
    if hit.total is not None:
        return "total", hit.total
    return ("distance", hit.distance) if hit.scored is None or not isnan(hit.distance) else ("score", hit.scored)


def top_share(percentile: Percentile) -> str:
    """Return the share of the documents above a hit, "top 0.12 %", with its interval if it is an estimate."""
    share, low, high = (_two_digits(100 * value) for value in (percentile.share, percentile.low, percentile.high))
    return f"top {share} %" if percentile.low == percentile.high else f"top {share} % ({low} to {high} %)"


def _two_digits(value: float) -> str:
    """Return a number rounded to two digits, without an exponent."""
    return f"{Decimal(f'{value:.2g}'):f}"


def passage_note(passage: Passage) -> str:
    """Return where the passage of a hit is, and that it is proven to be nearest."""
    windows = "the only window" if passage.windows == 1 else f"the nearest of {passage.windows:,} windows"
    return f"Passage of part {passage.part}, distance {passage.distance:.4f}, {windows}"


def legend(ranking: Ranking) -> str:
    """Return the name of the number that ranked the hits, and whether larger is better; "" without hits."""
    if not ranking.hits:
        return ""
    name, _ = ranking_value(ranking.hits[0])
    return f"Ranked by the {name}, {BETTER[name]}"


def specified(ranking: Ranking) -> str:
    """Return the specification of a ranking; a sum is described by its terms, with their names."""
    if not ranking.hits or ranking.hits[0].total is None or not ranking.terms:
        return ranking.ranked_by
    return " + ".join(f"{scale.name} ({weighted(scale)})" for scale in ranking.terms)


def weighted(scale: TermScale) -> str:
    """Return the specification of a term with its weight."""
    return scale.term if scale.weight == 1 else f"{scale.weight:g}*{scale.term}"


class Share(NamedTuple):
    """How a term counts, its value for a document (None: it has none), and its share of the total."""

    scale: TermScale
    value: float | None
    cost: float


def shares(
    terms: Sequence[TermScale], parts: Iterable[tuple[str, float]], costs: Iterable[tuple[str, float]]
) -> Iterator[Share]:
    """Yield the terms of a total with their values and shares; a pruned candidate's total has no terms."""
    values, shared = {name: value for name, value in parts if not isnan(value)}, dict(costs)
    for scale in terms:
        if scale.part in shared:
            yield Share(scale, values.get(scale.part), shared[scale.part])


_EXCLUSIONS = {
    "first stage": "It is not among the candidates of the first stage: {proof} includes it",
    "rwmd": "RWMD, a lower bound, is above that already",
    "dual": "The dual bound is above that already",
    "sinkhorn": "Sinkhorn's lower bound is above that already",
    "solved": "No bound excludes it: its distance is larger, or equal and an earlier document is the hit",
    "hit": "It is one of the hits",
}


def exclusion(why: "WhyNot", proof: str = "--exact") -> str:
    """Return the stage that excluded a document; `proof` is the name of the option that compares all documents."""
    return _EXCLUSIONS[why.stage].format(proof=proof)


def changes_line(changes: Changes, seconds: float, *, learned: bool = False) -> str:
    """Return the changes made by a run, which took `seconds`, in one line.

    `learned`: the word vectors are trained on these texts, so that nearly each word has one.
    """
    names = ("added", "updated", "removed", "unchanged", "rejected", "kept")
    counts = [f"{count:,} {name}" for name in names if (count := getattr(changes, name))]
    if changes.duplicates:
        counts.append(f"{changes.duplicates:,} near-duplicate{'s' * (changes.duplicates > 1)} left out")
    wordless = f"; {changes.wordless:,} without any known word, never ranked by a distance" if changes.wordless else ""
    rate = f", {changes.documents / seconds:,.0f} documents/s" if changes.documents > 1 and seconds > 0.05 else ""
    covered = "" if changes.coverage is None else f"; {percentage(changes.coverage)} of all words have a vector"
    if covered and learned:
        covered += " learned from these texts"
    figures = f"{seconds:.2f} s{rate}; revision {changes.revision}{covered}"
    events = f"; {changes.events:,} event{'s' * (changes.events > 1)} of watches" if changes.events else ""
    return f"{', '.join(counts) or 'no document found'}{wordless}{events} ({figures})"


def refit_lines(info: Mapping[str, Any], seconds: float, *, language: bool, vectors: bool) -> Iterator[str]:
    """Yield the results of a refit, which took `seconds`; `info` describes the collection.

    `language`, `vectors`: what was changed.
    """
    if "shards" in info:  # whose refit changes the language alone
        yield f"language {info['language']} in {len(info['shards'])} shards ({seconds:.2f} s)"
        return
    if language:
        yield f"language {info['language']}: {info['words']:,} words without {info['stop_words']:,} stop words"
    if language or vectors:
        covered = "" if info["coverage"] is None else f"; {percentage(info['coverage'])} of all words have a vector"
        yield printable(
            f"word vectors of {info['embedding']}: {info['vectors']:,} words, {info['dim']} dimensions{covered}"
        )
    yield f"{info['first_stage']} fitted to {info['documents']:,} documents ({seconds:.2f} s)"


class Planned:
    """The keys of the documents that a run would change, by the kind of the change."""

    def __init__(self) -> None:
        self.keys: dict[str, list[str]] = {"added": [], "updated": [], "removed": []}

    def add(self, change: str, key: str) -> None:
        """Store the key of a document that would be "added", "updated" or "removed"."""
        self.keys[change].append(key)

    def lines(self) -> list[str]:
        """Return a line for each document."""
        return [f"{change:<8} {key}" for change, keys in self.keys.items() for key in keys]

    def object(self, changes: Changes) -> dict[str, Any]:
        """Return the `changes` that would be made, and the keys of the documents."""
        return {**changes.to_dict(), "dry_run": True, "keys": self.keys}
