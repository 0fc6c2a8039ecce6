"""The terms of a sum: those that are known for every document after one pass, and what each costs the hits."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.ranking_term import COSINE, PRIOR, VECTOR, ScorerChoice, Term
from moverank.indexer.search.encoded_documents import cosine_distances, encoder_distances, vector_distances
from moverank.indexer.search.peers import span
from moverank.indexer.search.query import Prior, Query
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import SAMPLE
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.ranking import TermScale

_Floats = NDArray[np.float64]

NO_DOCUMENT = np.iinfo(np.int64).max
"""An id that no document has."""

_LEAST = 1e-10
"""The cost of the largest score: a copy of the query comes first even where nothing else is compared."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownPart:
    """A term of a sum: documents' `ids` (n,), increasing, their `costs` (n,) of 0 or more, and the `values` shown.

    The smaller the cost, the better. `related` (n,) is whether a document shares a word with the query, None if the
    term does not compare words. `largest` is the largest cost of any document. For `unit` and `best` see `TermScale`.
    """

    term: Term
    ids: NDArray[np.int64]
    costs: _Floats
    values: _Floats
    related: NDArray[np.bool_] | None = None
    unit: float | None = None
    best: float | None = 0.0
    largest: float = 0.0

    def weighted(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the weighted costs (m,) of the documents `ids` (m,); one without a cost gets the largest."""
        return self.term.weight * self._of(ids, self.costs, self.largest)

    def is_related(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of the documents `ids` (m,) shares a word with the query."""
        related = np.ones(len(self.ids)) if self.related is None else self.related.astype(np.float64)
        return self._of(ids, related, 0.0) > 0

    def shown(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the values (m,) of the documents `ids` (m,), nan for a document without one."""
        return self._of(ids, self.values, np.nan)

    def _of(self, ids: NDArray[np.int64], values: _Floats, missing: float) -> _Floats:
        """Return those of `values` (n,) that belong to `ids` (m,)."""
        rows, present = lookup(ids, self.ids)
        found = np.full(len(ids), missing)
        found[present] = values[rows[present]]
        return found


def known_parts(view: View, query: Query) -> list[KnownPart]:
    """Return the terms of the query's ranking that are no distance of bags."""
    parts = []
    for term in query.ranking.terms:
        scorer, encoder = term.scorer, term.encoder
        if scorer is not None:
            parts.append(_scored(view, query, term, scorer))
        elif encoder is not None:
            ids, distances = encoder_distances(view, query, encoder)
            parts.append(KnownPart(term, ids, distances, distances))
        elif term.name == COSINE:
            ids, distances = cosine_distances(view, query)
            unit = _typical_of(view, query, ids, distances)
            parts.append(KnownPart(term, ids, distances / unit, distances, unit=unit))
        elif term.name == VECTOR and query.engine_scores is not None:
            parts.append(_prior(query, query.engine_scores, term, "linear"))
        elif term.name == VECTOR:
            parts.append(_by_vectors(view, query, term))
        elif term.name == PRIOR:
            options = dict(term.options)
            parts.append(_prior(query, query.priors[options["field"]], term, options.get("scale", "log")))
    if not parts:
        return []
    own = np.array([part.costs.max(initial=0.0) for part in parts])
    largest = query.peers.gathered(own).reshape(-1, len(parts)).max(axis=0)
    return [replace(part, largest=float(cost)) for part, cost in zip(parts, largest, strict=True)]


def _typical_of(view: View, query: Query, ids: NDArray[np.int64], distances: _Floats) -> float:
    """Return the median of the distances (n,) of the sampled documents among `ids` (n,); see `typical_distance`."""
    sampled = np.isin(ids, view.sample)
    return sample_median(view, query, ids[sampled], distances[sampled])


def sample_median(view: View, query: Query, ids: NDArray[np.int64], distances: _Floats) -> float:
    """Return the median of the `distances` (s,) of the sample's documents, `ids` (s,), or of the sample of all shards.

    It is rounded to three digits: it is a unit, no bound; 1 if it is 0.
    """
    content = view.sampled_content
    if content is not None:
        order = np.argsort(content.ids)
        digests = content.digests[order][np.searchsorted(content.ids[order], ids)]
        pairs = query.peers.gathered(np.column_stack([digests, distances]).ravel()).reshape(-1, 2)
        distances = pairs[np.argsort(pairs[:, 0], kind="stable")[:SAMPLE], 1]
    return rounded_median(distances)


def rounded_median(distances: _Floats) -> float:
    """Return the median of distances (s,), rounded to three digits: it is a unit, no bound; 1 if it is 0."""
    typical = float(f"{np.median(distances):.3g}") if len(distances) else 0.0
    return typical if typical > 0 else 1.0


def offsets(parts: list[KnownPart], ids: NDArray[np.int64]) -> _Floats:
    """Return the sums (m,) of the weighted costs of the documents `ids` (m,)."""
    total = np.zeros(len(ids))
    for part in parts:
        total += part.weighted(ids)
    return total


def related_ids(parts: list[KnownPart]) -> NDArray[np.int64]:
    """Return the ids, increasing, of the documents that share a word with the query, by any of the scorers."""
    found = [part.ids[part.related] for part in parts if part.related is not None]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def _scored(view: View, query: Query, term: Term, scorer: ScorerChoice) -> KnownPart:
    """Return a scorer's part: a distance is its own cost; a score costs 0 at its largest and 1 at its least.

    The largest is that of any document but the query itself and its copies, which cost 0: a query that is stored ranks
    the others as one that is not. The least is the score of documents that share no word with the query, where the
    scorer has one.
    """
    gamma = term.gamma or 0.0
    terms = query.words.terms[gamma]
    scored = view.scores.score(scorer, gamma, terms)
    order = np.argsort(scored.ids, kind="stable")
    ids, nearness = scored.ids[order], scored.nearness[order]
    related = None if scored.unrelated is None else nearness > scored.unrelated
    if scorer.kind.ascending:
        return KnownPart(term, ids, np.maximum(-nearness, 0.0), -nearness, related)
    others = nearness[~view.scores.same(scorer, gamma, terms)[order] & (ids != query.without)]
    worst, best = span(query.peers, float(others.min(initial=np.inf)), float(others.max(initial=-np.inf)))
    worst = worst if scored.unrelated is None else scored.unrelated
    costs = (best - nearness) / (best - worst) if best > worst else np.ones(len(ids))
    costs = np.where(nearness > best, 0.0, np.maximum(costs, _LEAST))
    return KnownPart(term, ids, costs, nearness, related, *_range(best, worst))


def _by_vectors(view: View, query: Query, term: Term) -> KnownPart:
    """Return the part of the first stage's vectors: a distance is its own cost; a product costs as a score does."""
    ids, distances = vector_distances(view, query)
    if view.space is None or not view.space.products:
        return KnownPart(term, ids, distances, distances)
    low, high = span(query.peers, float(distances.min(initial=np.inf)), float(distances.max(initial=-np.inf)))
    costs = (distances - low) / (high - low) if high > low else np.zeros(len(ids))
    return KnownPart(term, ids, costs, -distances, None, *_range(-low, -high))


def _prior(query: Query, prior: Prior, term: Term, scale: str) -> KnownPart:
    """Return the part of given numbers: 0 for the largest, 1 for the smallest and for documents without one.

    Raises UsageError if no document of any shard has a number in the field.
    """
    values = prior.values if scale == "linear" else np.sign(prior.values) * np.log1p(np.abs(prior.values))
    low, high = span(query.peers, float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)))
    if low > high and term.name == PRIOR:
        raise without_numbers(dict(term.options)["field"])
    costs = (high - values) / (high - low) if high > low else np.ones(len(values))
    # One more, which is no document: the largest cost is 1 even if it is not among the values.
    ids = np.append(prior.ids, NO_DOCUMENT)
    return KnownPart(term, ids, np.append(costs, 1.0), np.append(prior.values, np.nan), None, *_range(high, low))


def _range(best: float, worst: float) -> tuple[float | None, float | None]:
    """Return the `unit` and the `best` of values that cost 1 at the `worst`; None of both if these are no range."""
    return (best - worst, best) if best > worst else (None, None)


def without_numbers(name: str) -> UsageError:
    """Return the error of a ranking by a field in which no document has a number."""
    return UsageError(f"no document has a number in the field {name!r}")


class Charged(NamedTuple):
    """What a term charges hits: its `values` (k,), nan where there is none, and `costs` (k,); see `TermScale`."""

    values: _Floats
    costs: _Floats
    unit: float | None
    best: float | None


def charged_by(query: Query, parts: list[KnownPart], ids: NDArray[np.int64], *others: Mapping[Term, Charged]) -> Any:
    """Return `parts`, `costs` and `terms` of an outcome with the hits `ids` (k,); `others` are the distances of bags.

    A distance of bags that is not given costs nothing: the query has no word with a vector.
    """
    nothing = Charged(np.full(len(ids), np.nan), np.zeros(len(ids)), None, None)
    charged = dict.fromkeys(query.ranking.terms, nothing)
    for other in others:
        charged |= other
    for part in parts:
        charged[part.term] = Charged(part.shown(ids), part.weighted(ids), part.unit, part.best)
    terms = tuple(
        replace(scale, unit=own.unit, best=own.best)
        for scale, own in zip(scales_of(query), charged.values(), strict=True)
    )
    names = [scale.part for scale in terms]
    parts_of, costs = ({name: own[i] for name, own in zip(names, charged.values(), strict=True)} for i in (0, 1))
    return {"parts": parts_of, "costs": costs, "terms": terms}


def scales_of(query: Query) -> tuple[TermScale, ...]:
    """Return the terms of a ranking that is no sum, whose values are not scaled.

    A name without options is that of a single term only.
    """
    terms = query.ranking.terms
    by_engine = query.engine_scores is not None
    words = ["engine's score" if term.name == VECTOR and by_engine else term.words for term in terms]
    names = Counter(term.name for term in terms)
    parts = [str(term) if names[term.name] > 1 else term.name for term in terms]
    return tuple(
        TermScale(str(term), name if words.count(name) == 1 else f"{name} ({part})", part, term.weight, best=None)
        for term, name, part in zip(terms, words, parts, strict=True)
    )
