"""Results as JSON objects: the keys are a contract."""

from dataclasses import asdict
from math import isnan
from typing import Any

from moverank.indexer.documents import Changes
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Flow, Hit, Ranking


def changes_object(changes: Changes) -> dict[str, int]:
    """Return what a run did, by name."""
    return asdict(changes)


def ranking_object(ranking: Ranking, seconds: float, query: str | None = None) -> dict[str, Any]:
    """Return a ranking; `query` is the id that it answers, where there are several."""
    told: dict[str, Any] = {} if query is None else {"query": query}
    return told | {
        "hits": [_hit_object(rank, hit) for rank, hit in enumerate(ranking.hits, start=1)],
        "certified": ranking.certified,
        "scope": ranking.scope,
        "largest_error": ranking.largest_error,
        "counts": ranking.counts.as_dict(),
        "seconds": round(seconds, 6),
    }


def explanation_object(explanation: Explanation) -> dict[str, Any]:
    """Return a distance and its flows."""
    return {"distance": explanation.distance, "flows": [_flow_object(flow) for flow in explanation.flows]}


def why_not_object(why: WhyNot) -> dict[str, Any]:
    """Return where a document fell out; JSON has no infinity, so what there was nothing to beat is null."""
    return {"why_not": asdict(why) | {"kth": why.kth if why.kth < float("inf") else None}}


def _hit_object(rank: int, hit: Hit) -> dict[str, Any]:
    told: dict[str, Any] = {
        "rank": rank,
        "key": hit.key,
        "title": hit.title,
        "distance": None if isnan(hit.distance) else hit.distance,
        "score": hit.score,
        "label": hit.label,
        "snippet": hit.snippet,
    }
    if hit.parts:
        told["parts"] = {name: None if isnan(value) else value for name, value in hit.parts}
    return told | ({"flows": [_flow_object(flow) for flow in hit.flows]} if hit.flows else {})


def _flow_object(flow: Flow) -> dict[str, Any]:
    return asdict(flow)
