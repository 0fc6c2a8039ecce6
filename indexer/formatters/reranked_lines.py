"""Reranked candidates in the form in which they were read: a TREC run, or JSONL."""

import json
from math import isnan
from typing import Any

from moverank.indexer.readers.candidate_lists import CandidateList
from moverank.rerank.evaluation.judgments import run_field
from moverank.rerank.ranking import Hit, Ranking


def reranked_lines(candidates: CandidateList, ranking: Ranking, name: str) -> list[str]:
    """Return the lines of a query: those of a run called `name`, or one of JSONL."""
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
    """Return a candidate as it was read, with its new score, its distance or total, and what is wrong with it."""
    value: dict[str, Any] = {"distance": None if isnan(hit.distance) else hit.distance}
    if hit.total is not None:
        value["total"] = hit.total
    if hit.text is not None:
        value["text"] = hit.text
    flags = {"exact": hit.exact} | ({"wordless": True} if hit.wordless else {})
    place = hit.candidate or 0
    fault = candidates.faults.get(place) or candidates.unscored.get(place)
    problem = {"problem": fault} if fault else {}
    return {**candidates.entries[place], "score": hit.score, **value, **flags, **problem}
