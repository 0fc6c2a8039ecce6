"""A resolved query, and its numeric outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.occurrences import WordSpans
from moverank.indexer.search.spellings import Respelled
from moverank.indexer.values.ranking_spec import RankingSpec, ScorerChoice
from moverank.rerank.bags.bag import Bag, Bags, lookup
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder, encode
from moverank.rerank.ranking import StageCounts, TermScale
from moverank.rerank.scorers import WordVectors

NamedValues = tuple[tuple[str, float], ...]

PLACES = 10
"""The number of first hits whose order is always exact."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """All words of a query."""

    ids: NDArray[np.int64]  # (h,) in the store; 0: in no document
    counts: NDArray[np.float64]  # (h,) > 0
    word_vectors: WordVectors  # of the words that have one
    texts: tuple[str, ...]  # (h,)


@dataclass(frozen=True, slots=True, eq=False)
class QueryWords:
    """A query's words with a vector, and all its words for scorers; the vector that is given for it."""

    texts: tuple[str, ...]  # (h,)
    ids: NDArray[np.int64]  # (h,) in the store; 0: in no document
    weights: NDArray[np.float64]  # (h,)
    vectors: NDArray[np.float32]  # (h, d)
    length: float  # the number of tokens of these words
    all_texts: tuple[str, ...] = ()  # of all words; empty if only bags are compared
    terms: Mapping[float, QueryTerms] = field(default_factory=dict)  # all words, by the gamma of a scorer
    unknown: tuple[str, ...] | None = None  # words without a vector, see `Ranking`; None for a stored document
    ignored: tuple[str, ...] | None = None  # words without effect, see `Ranking`; None for a stored document
    respelled: Respelled = field(default_factory=dict)  # the stored words in the place of misspelt ones
    spans: Callable[[], WordSpans] = dict  # the places of the words, found when they are needed; none by default
    vector: NDArray[np.float32] | None = None  # (d,) for given vectors of documents, in the form that is compared
    key: str | None = None  # of a stored document, whose words may be a query in other collections

    @classmethod
    def none(cls, dim: int) -> "QueryWords":
        """Return no words, of vectors of `dim` dimensions."""
        return cls((), np.empty(0, np.int64), np.empty(0), np.empty((0, dim), np.float32), 0.0)

    def over(self, word_ids: NDArray[np.int64]) -> QueryBag:
        """Return the bag over positions in `word_ids` (v,), increasing; words not in it get positions beyond."""
        v = len(word_ids)
        positions, present = lookup(self.ids, word_ids)
        words = np.where(present, positions, v + np.arange(len(self.ids))).astype(np.int32)
        order = np.argsort(words)
        return QueryBag(Bag(words[order], self.weights[order]), self.vectors[order])

    def encoded(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return the vector (dim,) that `encoder` computes for these words."""
        # Words in no document all have id 0, but are distinct.
        ids = np.where(self.ids > 0, self.ids, -1 - np.arange(len(self.ids)))
        order = np.argsort(ids)
        bag = Bag(np.arange(len(ids), dtype=np.int32), self.weights[order])
        documents = Documents(Bags.of([bag]), np.array([self.length]), ids[order], self.vectors[order])
        vector: NDArray[np.float32] = encode(encoder, documents)[0]
        return vector


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Values of a numeric field: ids of documents (m,) int64, increasing, and their values (m,)."""

    ids: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def none(cls) -> "Prior":
        """Return no values."""
        return cls(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """Words, and how to search for them.

    A scorer alone counts as a sum if the `whole` ranking is requested. Beyond `placed`, hits may be ordered by lower
    bounds.
    """

    words: QueryWords
    k: int
    depth: int | None  # the number of candidates; None: all documents
    ranking: RankingSpec
    bounded: bool  # bags are weighted as for the first stage: its distance is WCD, a lower bound
    prove: bool = False  # compare all other documents after the candidates
    allowed: NDArray[np.int64] | None = None  # (n,) the only ids that may be hits; None: all
    without: int | None = None  # an excluded id
    within: float = inf  # the largest distance of hits
    budget: float | None = None  # seconds after which the search ends
    joined: ScorerChoice | None = None  # a scorer whose best documents are candidates, too
    stop: Callable[[], bool] | None = None  # ends the search once it returns True
    partial: bool = True  # a search that ends early returns the hits found so far; False: it raises OutOfTime
    priors: Mapping[str, Prior] = field(default_factory=dict)  # the values of the fields that the ranking names
    engine_scores: Prior | None = None  # another engine's scores of documents, for the term `vector`
    whole: bool = False  # also return all other documents that may be hits, in `Outcome.others`
    placed: NDArray[np.int64] | None = None  # (m,) ids with exact positions, besides `PLACES` first hits; None: all
    why_empty: str | None = None  # why no document is allowed, if none is
    percentiles: bool = False  # hits have percentiles
    largest_share: float = inf  # of the documents that are above a hit: the list ends before hits beyond it
    spelling: bool = True  # misspelt words become stored ones

    def may_hit(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which (n,) of the documents `ids` (n,) may be hits."""
        allowed = np.ones(len(ids), bool) if self.allowed is None else np.isin(ids, self.allowed)
        return allowed if self.without is None else allowed & (ids != self.without)

    @property
    def needs_bag(self) -> bool:
        """Return whether the query must have a word with a vector."""
        return not self.ranking.scorers or self.depth is not None

    @property
    def needs_terms(self) -> bool:
        """Return whether the counts of all words are needed."""
        return bool(self.ranking.scorers or self.joined)

    @property
    def gammas_of_scorers(self) -> set[float]:
        """Return the gammas by which scorers weigh the parts of documents; a joined scorer takes the gamma of bags."""
        own = {term.gamma or 0.0 for term in self.ranking.scorers}
        return own | ({self.ranking.gamma} if self.joined else set())


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """Documents that are no hits. No bound is below the value of the last hit."""

    ids: NDArray[np.int64]  # (m,)
    bounds: NDArray[np.float64]  # (m,) lower bounds of the documents' values, increasing
    exact: NDArray[np.bool_]  # (m,) whether a bound is the value itself

    @classmethod
    def none(cls) -> "Others":
        """Return no documents."""
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0, bool))

    def plus(self, ids: NDArray[np.int64], bounds: NDArray[np.float64], exact: NDArray[np.bool_]) -> "Others":
        """Return these documents and more, in no order."""
        return Others(
            np.append(self.ids, ids), np.append(self.bounds, bounds), np.append(self.exact, exact).astype(bool)
        )

    def beside(self, hits: NDArray[np.int64], last: float) -> "Others":
        """Return the documents that are not among `hits` (k,), in increasing order; `last` is the last hit's value."""
        rows = np.flatnonzero(~np.isin(self.ids, hits))
        bounds = np.maximum(self.bounds[rows], last)
        order = np.lexsort((self.ids[rows], bounds))
        return Others(self.ids[rows[order]], bounds[order], self.exact[rows[order]])


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Documents, best first, and their certificate; see `Ranking`.

    A sum orders documents by `totals`, a scorer by `scores`; scores of which lower ones are better are `distances`.
    """

    ids: NDArray[np.int64]  # (k,)
    distances: NDArray[np.float64]  # (k,), nan where there is none
    certified: bool
    scope: Literal["collection", "candidates"]
    counts: StageCounts
    largest_error: float
    seconds: float
    scores: NDArray[np.float64] | None = None  # (k,)
    totals: NDArray[np.float64] | None = None  # (k,)
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # values of the terms of a sum, by name
    costs: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # shares of the totals, by name
    terms: tuple[TermScale, ...] = ()  # how the terms count
    percentiles: NDArray[np.float64] | None = None  # (k, 3) `Percentile` of each document, if the query requests them
    others: Others = field(default_factory=Others.none)  # the other documents, if the query requests them
    # (u,) lower bounds of the values of documents that were not solved
    unsolved_bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    floor: float = inf  # a lower bound of the values of documents that were no candidates; -inf if none is known

    def take(self, rows: NDArray[np.int64]) -> "Outcome":
        """Return the documents at `rows` (m,) only, with the same certificate."""
        return replace(
            self,
            ids=self.ids[rows],
            distances=self.distances[rows],
            scores=None if self.scores is None else self.scores[rows],
            totals=None if self.totals is None else self.totals[rows],
            parts={name: values[rows] for name, values in self.parts.items()},
            costs={name: values[rows] for name, values in self.costs.items()},
            percentiles=None if self.percentiles is None else self.percentiles[rows],
        )

    def terms_of(self, position: int) -> tuple[NamedValues, NamedValues]:
        """Return the `parts` and the `costs` of a document by its position; see `Hit`."""
        parts, costs = (
            tuple((name, float(values[position])) for name, values in named.items())
            for named in (self.parts, self.costs)
        )
        return parts, costs

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the values (k,) that ranked the documents; smaller is better."""
        if self.totals is not None:
            return self.totals
        return self.distances if self.scores is None else -self.scores
