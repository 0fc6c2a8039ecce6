"""Sentences about results, shared by the terminal and the pages of the server."""

from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from moverank.rerank.ranking import Hit, Ranking, TermScale, numbers_by_name

if TYPE_CHECKING:  # it would import numpy
    from moverank.rerank.distance.why_not import WhyNot


def verdict(ranking: Ranking, proof: str = "--exact") -> str:
    """Return what is proven of a ranking; `proof` is the name of the option that proves it."""
    counts = ranking.counts
    better = "nearer" if all(measure(hit)[0] == "distance" for hit in ranking.hits) else "better"
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
    """Return the work that a ranking took."""
    return f"{ranking.counts.candidates:,} compared, {ranking.counts.solved:,} solved, {seconds:.2f} s"


_BETTER = {"total": "smaller is better", "distance": "smaller is nearer", "score": "larger is better"}


def measure(hit: Hit) -> tuple[str, float]:
    """Return what ranked a hit, "total", "distance" or "score", and its value."""
    if hit.total is not None:
        return "total", hit.total
    return ("distance", hit.distance) if hit.scored is None or not isnan(hit.distance) else ("score", hit.scored)


def legend(ranking: Ranking) -> str:
    """Return which number ranked the hits, and which way is better; "" if there are no hits."""
    if not ranking.hits:
        return ""
    name, _ = measure(ranking.hits[0])
    return f"Ranked by the {name}, {_BETTER[name]}"


def specified(ranking: Ranking) -> str:
    """Return the specification of a ranking; that of a sum by its terms, with their names."""
    if not ranking.hits or ranking.hits[0].total is None or not ranking.terms:
        return ranking.ranked_by
    return " + ".join(f"{scale.name} ({weighted(scale)})" for scale in ranking.terms)


def weighted(scale: TermScale) -> str:
    """Return the specification of a term with its weight."""
    return scale.term if scale.weight == 1 else f"{scale.weight:g}*{scale.term}"


class Share(NamedTuple):
    """How a term counts, its value for a document, None if it has none, and its share of the total."""

    scale: TermScale
    value: float | None
    cost: float


def shares(
    terms: Sequence[TermScale], parts: Iterable[tuple[str, float]], costs: Iterable[tuple[str, float]]
) -> Iterator[Share]:
    """Yield the terms of a total with their parts; none if it has none, as that of a candidate that was pruned."""
    values, shared = numbers_by_name(parts), dict(costs)
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
