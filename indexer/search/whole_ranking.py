"""Rankings that contain every candidate: the best, those that were pruned, and those without a known word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from moverank.indexer.search.query import Outcome
from moverank.rerank.falling_scores import falling_scores
from moverank.rerank.ranking import Hit, Ranking


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is shown of a candidate: its `index` among all, key, title, label, metadata, and text if requested."""

    index: int
    key: str
    title: str = ""
    label: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None

    def hit(self, distance: float, score: float, **others: Any) -> Hit:
        """Return a hit with a distance, a score, and other fields by name."""
        about = self.key, distance, self.title, self.label
        return Hit(*about, scored=score, metadata=self.metadata, candidate=self.index, text=self.text, **others)


class _Place(NamedTuple):
    """A candidate, its position in the outcome, first those of the hits, and the value that ranks it."""

    candidate: Candidate
    position: int
    value: float


def whole_ranking(
    outcome: Outcome, ranked: Mapping[int, Sequence[Candidate]], missing: Sequence[Candidate] = ()
) -> Ranking:
    """Return the ranking of all candidates: those of each document id, `ranked`, and those that are `missing`."""
    others = outcome.others
    values = np.concatenate([outcome.values, others.bounds]).tolist()
    ids = np.concatenate([outcome.ids, others.ids]).tolist()
    places = [
        _Place(candidate, position, value)
        for position, (id_, value) in enumerate(zip(ids, values, strict=True))
        for candidate in ranked[id_]
    ]
    wordless = [one for id_ in ranked.keys() - set(ids) for one in ranked[id_]] + list(missing)
    scores = falling_scores(np.array([place.value for place in places]), len(wordless)).tolist()
    hits = [_hit(outcome, place, score) for place, score in zip(places, scores, strict=False)]
    proof = (outcome.certified, outcome.counts, outcome.largest_error)
    return replace(_with_wordless(hits, wordless, scores[len(hits) :], *proof), terms=outcome.terms)


def in_old_order(candidates: Sequence[Candidate], problem: str) -> Ranking:
    """Return the candidates in the order given, as wordless, since nothing can rank them: see the `problem`."""
    scores = falling_scores(np.empty(0), len(candidates)).tolist()
    return replace(_with_wordless([], candidates, scores, False), problem=problem)


def _with_wordless(
    hits: Sequence[Hit], wordless: Sequence[Candidate], scores: Sequence[float], certified: bool, *proof: Any
) -> Ranking:
    last = [
        one.hit(np.nan, score, exact=False, wordless=True)
        for one, score in zip(sorted(wordless, key=lambda one: one.index), scores, strict=True)
    ]
    return Ranking((*hits, *last), certified, "candidates", *proof)


def _hit(outcome: Outcome, place: _Place, score: float) -> Hit:
    candidate, position, value = place
    later = position - len(outcome.ids)
    if later >= 0:
        exact = bool(outcome.others.exact[later])
        if outcome.totals is None:
            return candidate.hit(value, score, exact=exact)
        return candidate.hit(np.nan, score, total=value, exact=exact)
    parts, costs = outcome.terms_of(position)
    total = None if outcome.totals is None else value
    return candidate.hit(float(outcome.distances[position]), score, parts=parts, total=total, costs=costs)
