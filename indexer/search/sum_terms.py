"""The terms of a sum: their values of documents, the statistics that scale them, and their costs of hits.

Terms that are no distances of bags are known for every document after one pass. Their scale, and the unit of distances,
depend on all documents that are searched: of one collection, or of all shards.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.search.encoded_documents import cosine_distances, encoder_distances, vector_distances
from moverank.indexer.search.query import Outcome, Prior, Query
from moverank.indexer.search.sampled_distances import QueryProximity
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import SAMPLE
from moverank.indexer.values.ranking_spec import COSINE, PRIOR, VECTOR, RankingSpec, ScorerChoice, Term
from moverank.rerank.bags.bag import lookup
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.relaxed import exact_wcd, rwmd_floor
from moverank.rerank.distance.weighted_sum import WeightedSum
from moverank.rerank.ranking import TermScale

_Floats = NDArray[np.float64]

_LEAST = 1e-10
"""The cost of the largest score: only copies of the query cost 0, so they come first."""


_NEAR = 0.35
"""The distance up to which a document is a near copy of the query, as a share of the largest in the sample."""


@dataclass(frozen=True, slots=True, eq=False)
class TermStatistics:
    """The statistics of documents' values that set the scale of a term; smaller values are better."""

    low: float = np.inf  # the smallest of the values that set the scale
    high: float = -np.inf  # the largest of the values that set the scale
    farthest: float = -np.inf  # the largest value of any document
    sampled: _Floats = field(default_factory=lambda: np.empty((0, 2)))  # (s, 2) digests, increasing, and values

    @classmethod
    def of(cls, values: _Floats, every: _Floats | None = None) -> Self:
        """Return the statistics of `values` (m,) that set the scale, among `every` value (n,), by default the same."""
        farthest = (values if every is None else every).max(initial=-np.inf)
        return cls(float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)), float(farthest))

    @classmethod
    def merged(cls, shards: Iterable[Self]) -> Self:
        """Return the statistics of the documents of all shards."""
        own = list(shards)
        sampled = np.concatenate([one.sampled for one in own])
        sampled = sampled[np.argsort(sampled[:, 0], kind="stable")[:SAMPLE]]
        low, high = min(one.low for one in own), max(one.high for one in own)
        return cls(low, high, max(one.farthest for one in own), sampled)

    @property
    def median(self) -> float:
        """Return the median of the sample, rounded to three digits: it is a unit, no bound; 1 if it is 0.

        Copies and near copies of the query are left out: their number has no effect on the order of other documents.
        """
        values = self.sampled[:, 1]
        others = values[values >= _NEAR * values.max(initial=0.0)]
        typical = float(np.median(others)) if len(others) else 0.0
        return float(f"{typical:.3g}") or 1.0

    def shares(self, values: _Floats, equal: float) -> _Floats:
        """Return the positions (n,) of values in the range, from 0 to 1; `equal` if the range is one value."""
        if self.high > self.low:
            return (values - self.low) / (self.high - self.low)
        return np.full(len(values), equal)


QueryStatistics = tuple[TermStatistics, ...]
"""The statistics of the distances of bags, then of each other term."""


def merged_statistics(shards: Iterable[QueryStatistics]) -> QueryStatistics:
    """Return the statistics of a query in all shards."""
    return tuple(TermStatistics.merged(own) for own in zip(*shards, strict=True))


def _of_sample(view: View, ids: NDArray[np.int64], distances: _Floats) -> _Floats:
    """Return digests and distances (s, 2) of the sampled documents, `ids` (s,)."""
    content, digests = view.sampled_content, ids.astype(np.float64)
    if content is not None:
        order = np.argsort(content.ids)
        digests = content.digests[order][np.searchsorted(content.ids[order], ids)].astype(np.float64)
    return np.column_stack([digests, distances])


def distance_statistics(view: View, query: Query) -> TermStatistics:
    """Return the RWMD of the documents in a sample: its median is the typical distance, the unit of distances.

    The same documents are sampled whatever the filter and the depth are, so that totals do not depend on these.
    """
    sampled, distances = view.sampled_bags(query.ranking.gamma, query.ranking.weights), np.empty(0)
    if len(sampled.bags):
        distances = rwmd_floor(query.words.over(sampled.word_ids), sampled.bags, sampled.vectors, sampled.norms)
    return TermStatistics(sampled=_of_sample(view, sampled.ids, distances))


@dataclass(frozen=True, slots=True, eq=False)
class KnownTerm:
    """A term of a sum, and its costs of documents."""

    term: Term
    ids: NDArray[np.int64]  # (n,), increasing
    costs: _Floats  # (n,) of 0 or more; smaller is better
    values: _Floats  # (n,), as they are shown
    # (n,) whether a document shares a word with the query; None: the term does not compare words
    related: NDArray[np.bool_] | None = None
    unit: float | None = None  # see `TermScale`
    best: float | None = 0.0  # see `TermScale`
    largest: float = 0.0  # the largest cost of any document

    def weighted(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the weighted costs (m,) of the documents `ids` (m,); a document without a cost gets the largest."""
        return self.term.weight * self._of(ids, self.costs, self.largest)

    def is_related(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of the documents `ids` (m,) shares a word with the query."""
        related = np.ones(len(self.ids)) if self.related is None else self.related.astype(np.float64)
        return self._of(ids, related, 0.0) > 0

    def shown(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the values (m,) of the documents `ids` (m,), nan for a document without one."""
        return self._of(ids, self.values, np.nan)

    def _of(self, ids: NDArray[np.int64], values: _Floats, missing: float) -> _Floats:
        """Return the `values` (m,) of the documents `ids` (m,), or `missing`."""
        rows, present = lookup(ids, self.ids)
        found = np.full(len(ids), missing)
        found[present] = values[rows[present]]
        return found


class Scale(NamedTuple):
    """How a term charges values: `costs` of values (n,), and its `unit` and `best` value; see `TermScale`."""

    costs: Callable[[_Floats], _Floats]
    unit: float | None = None
    best: float | None = 0.0
    largest: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class UnscaledTerm:
    """A term of a sum before its scale is known."""

    term: Term
    ids: NDArray[np.int64]  # (n,)
    values: _Floats  # (n,); smaller is better
    shown: _Floats  # (n,), the `values` of `KnownTerm`
    own: TermStatistics  # of these documents
    scale: Callable[[TermStatistics], Scale] = lambda _: Scale(lambda values: values)  # by all documents' statistics
    related: NDArray[np.bool_] | None = None  # (n,), see `KnownTerm`

    def scaled(self, statistics: TermStatistics) -> KnownTerm:
        """Return the term as it is charged by the statistics of all documents."""
        costs, unit, best, largest = self.scale(statistics)
        if largest is None:
            farthest = statistics.farthest
            largest = max(0.0, float(costs(np.array([farthest]))[0])) if np.isfinite(farthest) else 0.0
        return KnownTerm(self.term, self.ids, costs(self.values), self.shown, self.related, unit, best, largest)


def unscaled_terms(view: View, query: Query) -> list[UnscaledTerm]:
    """Return the terms of the query's ranking that are no distance of bags."""
    terms = []
    for term in query.ranking.terms:
        scorer, encoder = term.scorer, term.encoder
        if scorer is not None:
            terms.append(_scored(view, query, term, scorer))
        elif encoder is not None:
            terms.append(_distances(term, *encoder_distances(view, query, encoder)))
        elif term.name == COSINE:
            terms.append(_cosines(view, query, term))
        elif term.name == VECTOR and query.engine_scores is not None:
            terms.append(_prior(query.engine_scores, term, "linear"))
        elif term.name == VECTOR:
            terms.append(_by_vectors(view, query, term))
        elif term.name == PRIOR:
            options = dict(term.options)
            terms.append(_prior(query.priors[options["field"]], term, options.get("scale", "log")))
    return terms


def known_terms(view: View, query: Query) -> list[KnownTerm]:
    """Return the terms that are no distance of bags, scaled by the documents of the view alone."""
    return [term.scaled(term.own) for term in unscaled_terms(view, query)]


def _distances(term: Term, ids: NDArray[np.int64], distances: _Floats) -> UnscaledTerm:
    """Return a term whose distances are their own costs."""
    return UnscaledTerm(term, ids, distances, distances, TermStatistics.of(distances))


def _cosines(view: View, query: Query, term: Term) -> UnscaledTerm:
    """Return the term `cosine`, whose unit is the median of the sample."""
    ids, distances = cosine_distances(view, query)
    sampled = np.isin(ids, view.sample)
    own = replace(TermStatistics.of(distances), sampled=_of_sample(view, ids[sampled], distances[sampled]))

    def scale(statistics: TermStatistics) -> Scale:
        unit = statistics.median
        return Scale(lambda values: values / unit, unit)

    return UnscaledTerm(term, ids, distances, distances, own, scale)


def _scored(view: View, query: Query, term: Term, scorer: ScorerChoice) -> UnscaledTerm:
    """Return a scorer's term: a distance is its own cost; a score costs 0 at its largest and 1 at its least.

    The largest score excludes the query itself and its copies, which cost 0: a stored query ranks the others as an
    equal text does. Documents that share no word with the query have the least score, if the scorer has one.
    """
    gamma = term.gamma or 0.0
    terms = query.words.terms[gamma]
    scored = view.scores.score(scorer, gamma, terms)
    order = np.argsort(scored.ids, kind="stable")
    ids, nearness = scored.ids[order], scored.nearness[order]
    related = None if scored.unrelated is None else nearness > scored.unrelated
    if scorer.kind.ascending:
        return replace(_distances(term, ids, np.maximum(-nearness, 0.0)), shown=-nearness, related=related)
    others = -nearness[~view.scores.same(scorer, gamma, terms)[order] & (ids != query.without)]
    own = TermStatistics.of(others, -nearness)
    return UnscaledTerm(term, ids, -nearness, nearness, own, partial(_scale_of_scores, scored.unrelated), related)


def _scale_of_scores(unrelated: float | None, statistics: TermStatistics) -> Scale:
    """Return the scale of negated scores: the score of `unrelated` documents costs 1; None: the largest value does."""
    if unrelated is not None:
        statistics = replace(statistics, high=-unrelated)

    def costs(values: _Floats) -> _Floats:
        return np.where(values < statistics.low, 0.0, np.maximum(statistics.shares(values, 1.0), _LEAST))

    return Scale(costs, *_range(statistics))


def _by_vectors(view: View, query: Query, term: Term) -> UnscaledTerm:
    """Return the term of the first stage's vectors: a distance is its own cost; a product costs as a score does."""
    ids, distances = vector_distances(view, query)
    if view.space is None or not view.space.products:
        return _distances(term, ids, distances)

    def scale(statistics: TermStatistics) -> Scale:
        return Scale(lambda values: statistics.shares(values, 0.0), *_range(statistics))

    return UnscaledTerm(term, ids, distances, -distances, TermStatistics.of(distances), scale)


def _prior(prior: Prior, term: Term, kind: str) -> UnscaledTerm:
    """Return the term of given numbers: 0 for the largest, 1 for the smallest and for documents without a number.

    Its scale raises UsageError if no document of any shard has a number in the field.
    """
    values = prior.values if kind == "linear" else np.sign(prior.values) * np.log1p(np.abs(prior.values))

    def scale(statistics: TermStatistics) -> Scale:
        if statistics.low > statistics.high and term.name == PRIOR:
            raise without_numbers(dict(term.options)["field"])
        return Scale(lambda values: statistics.shares(values, 1.0), *_range(statistics), largest=1.0)

    return UnscaledTerm(term, prior.ids, -values, prior.values, TermStatistics.of(-values), scale)


def _range(statistics: TermStatistics) -> tuple[float | None, float | None]:
    """Return the `unit` and the `best` of negated values; None for both if the values have no range."""
    low, high = statistics.low, statistics.high
    return (high - low, -low) if high > low else (None, None)


def without_numbers(name: str) -> UsageError:
    """Return the error of a ranking by a field in which no document has a number."""
    return UsageError(f"no document has a number in the field {name!r}")


def offsets(parts: list[KnownTerm], ids: NDArray[np.int64]) -> _Floats:
    """Return the sums (m,) of the weighted costs of the documents `ids` (m,)."""
    total = np.zeros(len(ids))
    for part in parts:
        total += part.weighted(ids)
    return total


def related_ids(parts: list[KnownTerm]) -> NDArray[np.int64]:
    """Return the ids, increasing, of the documents that share a word with the query, by any of the scorers."""
    found = [part.ids[part.related] for part in parts if part.related is not None]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


class Charged(NamedTuple):
    """A term's `values` of hits (k,), nan where there is none, and its `costs` (k,); see `TermScale`."""

    values: _Floats
    costs: _Floats
    unit: float | None
    best: float | None


def charged_by(
    outcome: Outcome, query: Query, parts: list[KnownTerm], distances: Mapping[Term, Charged] | None = None
) -> Outcome:
    """Return an outcome with its `parts`, `costs` and `terms`; `distances` are the charges of distances of bags.

    A distance of bags that is not given costs nothing: the query has no word with a vector.
    """
    ids = outcome.ids
    nothing = Charged(np.full(len(ids), np.nan), np.zeros(len(ids)), None, None)
    charged = dict.fromkeys(query.ranking.terms, nothing) | dict(distances or {})
    for part in parts:
        charged[part.term] = Charged(part.shown(ids), part.weighted(ids), part.unit, part.best)
    terms, values, costs = list[TermScale](), dict[str, _Floats](), dict[str, _Floats]()
    for scale, own in zip(scales_of(query), charged.values(), strict=True):
        terms.append(replace(scale, unit=own.unit, best=own.best))
        values[scale.part], costs[scale.part] = own.values, own.costs
    return replace(outcome, parts=values, costs=costs, terms=tuple(terms))


def scales_of(query: Query) -> tuple[TermScale, ...]:
    """Return the terms of a ranking that is no sum, whose values are not scaled.

    Terms with the same name are distinguished by their options.
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


@dataclass(frozen=True, slots=True, eq=False)
class SumWeights:
    """A `ranking` by a sum, its `known` parts, which are no distances, and the query's `typical` distance, the unit.

    Distances are divided by the typical one: vectors of any length give the same sum, in which an unrelated document
    costs 1, as for scores. A distance with `mu` is multiplied by s = n / (n + mu) for a document of n tokens, and 1 - s
    is added: short documents are drawn to the typical distance, as Dirichlet smoothing draws them to the collection
    (Zhai & Lafferty 2001). A document without a bag is at the typical distance. Mutual `proximity` has its own scale,
    from 0 to 1.
    """

    ranking: RankingSpec
    known: list[KnownTerm]
    typical: float
    proximity: QueryProximity | None = None

    @classmethod
    def of(cls, view: View, query: Query, known: list[KnownTerm], typical: float) -> Self:
        """Return the weights for a query."""
        return cls(query.ranking, known, typical, QueryProximity.of(view, query))

    def of_rows(self, part: LiveSegment, rows: NDArray[np.int64], query: QueryBag) -> WeightedSum:
        """Return the weights of `rows` (m,) of a segment, for the bag of the `query` over its vocabulary."""
        total = WeightedSum.zeros(len(rows))
        if self.proximity:
            total = replace(total, proximity=self.proximity.of_rows(part, rows))
        for term in self.ranking.distances:
            weights, rest = self._line(term, part, rows)
            if term.name == "wcd":
                rest = rest + weights * self._wcd(part, rows, query)
                total = total.plus("wmd", np.zeros(len(rows)), rest)
            else:
                total = total.plus(term.distance, weights, rest)
        return total.plus("wmd", np.zeros(len(rows)), offsets(self.known, part.segment.ids[rows]))

    def _line(self, term: Term, part: LiveSegment, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        """Return the factors (m,) and the offsets (m,) that turn distances of `rows` (m,) into costs."""
        weights = np.full(len(rows), term.weight / (1.0 if term.proximity else self.typical))
        if not term.mu:
            return weights, np.zeros(len(rows))
        lengths = part.lengths[rows]
        shares = lengths / (lengths + term.mu)
        return weights * shares, term.weight * (1 - shares)

    def _wcd(self, part: LiveSegment, rows: NDArray[np.int64], query: QueryBag) -> _Floats:
        return exact_wcd(query, part.bags(rows, self.ranking.gamma, self.ranking.weights), part.segment.vectors)

    def without_bag(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the totals (m,) of documents without a bag, `ids` (m,)."""
        return sum(map(_far, self.ranking.distances)) + offsets(self.known, ids)

    def charged(self, view: View, query: Query, ids: NDArray[np.int64], components: _Floats) -> dict[Term, Charged]:
        """Return each distance's charges of the hits `ids` (k,); `components` (k, 3) as in `Nearest`."""
        transport, document, side = components.T
        values = {
            "wmd": transport,
            "pwmd": transport,
            "rwmd": np.maximum(document, side),
            "chamfer": document + side,
            "cover": side,
            "wcd": np.full(len(ids), np.nan),
        }
        costs = {term: np.full(len(ids), _far(term)) for term in self.ranking.distances}
        for part in view.segments:
            rows, found = lookup(ids, part.segment.ids)
            hits = np.flatnonzero(found)
            hits = hits[part.live[rows[hits]]]
            hits = hits[np.argsort(rows[hits])]  # `bags` takes rows in increasing order
            own = rows[hits]
            for term in self.ranking.distances:
                if term.name == "wcd":
                    values["wcd"][hits] = self._wcd(part, own, query.words.over(part.segment.word_ids))
                moved = values[term.name][hits]
                if term.proximity and self.proximity:
                    moved = self.proximity.of_rows(part, own).costs(np.arange(len(own)), moved)
                weights, rest = self._line(term, part, own)
                costs[term][hits] = weights * moved + rest
        return {
            term: Charged(values[term.name], costs[term], None if term.proximity else self.typical, 0.0)
            for term in self.ranking.distances
        }


def _far(term: Term) -> float:
    """Return the cost of a distance for a document without a bag; for Chamfer, both sides are typical."""
    return (2.0 if term.name == "chamfer" else 1.0) * term.weight
