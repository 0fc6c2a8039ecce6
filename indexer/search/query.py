"""A resolved query, and its numeric outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import ScorerChoice
from moverank.indexer.search.peers import ALONE, Peers
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.distance.best_first import never_stop
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder, encode
from moverank.rerank.ranking import StageCounts, TermScale
from moverank.rerank.scorers import WordVectors

NamedValues = tuple[tuple[str, float], ...]

PLACES = 10
"""The number of first hits whose order is always exact."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """All words of a query: ids in the store (h,) int64 (0: in no document), counts (h,) > 0, and texts.

    `word_vectors` are the vectors of those that have one.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    word_vectors: WordVectors
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class QueryWords:
    """A query's words with a vector: texts, ids in the store (h,) int64 (0: in no document), weights, vectors (h, d).

    `length` is the number of their tokens. `all_texts` are the texts of all words, and `terms` their counts by the
    gamma of a scorer; empty if only bags are compared. `unknown` and `ignored` are words of a text that have no vector,
    and that have no effect: see `Ranking`; None for a stored document.
    """

    texts: tuple[str, ...]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    vectors: NDArray[np.float32]
    length: float
    all_texts: tuple[str, ...] = ()
    terms: Mapping[float, QueryTerms] = field(default_factory=dict)
    unknown: tuple[str, ...] | None = None
    ignored: tuple[str, ...] | None = None

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
class PortableQuery:
    """The `words` of the document `key`, by their texts, and its `vector`, as a query in other collections."""

    key: str
    words: QueryWords
    vector: NDArray[np.float32] | None


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
    """Words, and how to search for them: the `k` best by `ranking`, among `depth` candidates (None: all documents).

    `joined` is a scorer whose best documents are candidates, too. `priors` are the values of the fields that the
    ranking names, `engine_scores` those that another engine gave to documents, for the term `vector`. `whole`:
    also return all other documents that may be hits, with what is known of them, in `Outcome.others`; a scorer alone
    then counts as a sum. `prove`: compare all other documents after the candidates. `bounded`: the bags are weighted as
    those of the first stage, so that its distance is WCD, a lower bound. `allowed` (n,) are the only ids that may be
    hits, None for all; `without` is an excluded id. Hits are not farther than `within`. After `budget` seconds the
    search ends with the hits found so far, and likewise once `stop` returns True. `vector` (d,) is that for given
    vectors of documents, as they are compared. `placed` (m,) are the ids whose positions among the hits must be exact,
    with the first `PLACES` hits: the order of the others may be that of lower bounds. None: all positions. `peers` are
    the searches of other shards, if the collection is one. `why_empty`: why no document is allowed, if none is.
    """

    words: QueryWords
    k: int
    depth: int | None
    ranking: RankingSpec
    bounded: bool
    prove: bool = False
    allowed: NDArray[np.int64] | None = None
    without: int | None = None
    within: float = inf
    budget: float | None = None
    joined: ScorerChoice | None = None
    stop: Callable[[], bool] = never_stop
    priors: Mapping[str, Prior] = field(default_factory=dict)
    engine_scores: Prior | None = None
    whole: bool = False
    vector: NDArray[np.float32] | None = None
    placed: NDArray[np.int64] | None = None
    why_empty: str | None = None
    peers: Peers = ALONE

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
        """Return the gammas by which scorers weigh the parts of documents; the joined one takes that of bags."""
        own = {term.gamma or 0.0 for term in self.ranking.scorers}
        return own | ({self.ranking.gamma} if self.joined else set())


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """Documents that are no hits: `ids` (m,), lower `bounds` (m,) of what ranks them, increasing, and where `exact`.

    No bound is below the value of the last hit.
    """

    ids: NDArray[np.int64]
    bounds: NDArray[np.float64]
    exact: NDArray[np.bool_]

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
        """Return those that are not among `hits` (k,), whose last value is `last`, in increasing order."""
        rows = np.flatnonzero(~np.isin(self.ids, hits))
        bounds = np.maximum(self.bounds[rows], last)
        order = np.lexsort((self.ids[rows], bounds))
        return Others(self.ids[rows[order]], bounds[order], self.exact[rows[order]])


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Document ids (k,) with their distances, best first, and their certificate; see `Ranking`.

    If a sum ranked them, `totals` (k,) determine the order. If a scorer did, `scores` (k,) do, unless lower scores are
    better: these are `distances`. Missing distances are nan. `parts` are the values of the terms of a sum by name,
    `costs` their shares of the totals, and `terms` how they count. `others` are the other documents, if the query
    requests them. `unsolved_bounds` (u,) and `floor` are lower bounds of what ranks the
    documents that were not solved, and those that were no candidates: -inf if nothing is known of these.
    """

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    certified: bool
    scope: Literal["collection", "candidates"]
    counts: StageCounts
    largest_error: float
    seconds: float
    scores: NDArray[np.float64] | None = None
    totals: NDArray[np.float64] | None = None
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    costs: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    terms: tuple[TermScale, ...] = ()
    others: Others = field(default_factory=Others.none)
    unsolved_bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    floor: float = inf

    def terms_of(self, position: int) -> tuple[NamedValues, NamedValues]:
        """Return the `parts` and the `costs` of a document by its position; see `Hit`."""
        parts, costs = (
            tuple((name, float(values[position])) for name, values in named.items())
            for named in (self.parts, self.costs)
        )
        return parts, costs

    @property
    def values(self) -> NDArray[np.float64]:
        """Return what ranked the documents (k,), smaller being better."""
        if self.totals is not None:
            return self.totals
        return self.distances if self.scores is None else -self.scores
