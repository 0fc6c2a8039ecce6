"""Sentences about results, shared by the terminal and the pages of the server."""

from typing import TYPE_CHECKING

from moverank.rerank.ranking import Ranking

if TYPE_CHECKING:  # it would import numpy
    from moverank.rerank.distance.why_not import WhyNot


def verdict(ranking: Ranking, proof: str = "--exact") -> str:
    """Return what is proven of a ranking; `proof` is the name of the option that proves it."""
    counts = ranking.counts
    better = "nearer" if all(hit.total is None for hit in ranking.hits) else "better"
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
        return f"Certified: no other document is {better}"
    if ranking.scope == "collection":
        return f"Not certified: time limit reached; the last hit is at most {ranking.largest_error:.4f} too far"
    return f"Not certified: exact among {counts.candidates:,} candidates; {proof} proves it for all documents"


def work_done(ranking: Ranking, seconds: float) -> str:
    """Return the work that a ranking took."""
    return f"{ranking.counts.candidates:,} compared, {ranking.counts.solved:,} solved, {seconds:.2f} s"


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
