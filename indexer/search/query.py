"""What is asked of a collection, and what it answers, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import Blend, ScorerChoice
from moverank.indexer.search.term_scores import QueryTerms
from moverank.indexer.snapshot.segment import Segment
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.ranking import Distance, StageCounts

EXACT_UP_TO = 2_000_000
"""Where nobody says how deep, collections of so many documents are searched exactly: mostly within a second."""

DEFAULT_DEPTH = 20_000
"""How many candidates the first stage hands over in a larger one."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A query's words: texts, ids in the store (h,) int64 (0: no document ever had it), weights and vectors (h, d).

    `length` is how many tokens they stand for. These are the words with a vector; `all_texts` and `terms` are all of
    them, for scorers: missing where only bags are compared.
    """

    texts: tuple[str, ...]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    vectors: NDArray[np.float32]
    length: float
    all_texts: tuple[str, ...] = ()
    terms: QueryTerms | None = None

    def counted(self) -> QueryTerms:
        """Return all words with their counts."""
        if self.terms is None:
            raise ValueError("these words were made for bags only")
        return self.terms

    def over(self, segment: Segment) -> QueryBag:
        """Give the words the ids that a segment has for them; those that it does not have get ids beyond its own."""
        v = len(segment.word_ids)
        places = np.searchsorted(segment.word_ids, self.ids)
        there = np.isin(self.ids, segment.word_ids)
        words = np.where(there, places, v + np.arange(len(self.ids))).astype(np.int32)
        order = np.argsort(words)
        return QueryBag(Bag(words[order], self.weights[order]), self.vectors[order])

    def encoded(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return the vector (dim,) that an encoder makes of the words."""
        # Words that no document has are different ones all the same.
        ids = np.where(self.ids > 0, self.ids, -1 - np.arange(len(self.ids)))
        order = np.argsort(ids)
        bag = Bag(np.arange(len(ids), dtype=np.int32), self.weights[order])
        documents = Documents(Bags.of([bag]), np.array([self.length]), ids[order], self.vectors[order])
        vector: NDArray[np.float32] = encoder.encode(documents)[0]
        return vector


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is wanted: `k` documents among the `depth` nearest by first stage (None: all), by a distance.

    `scorer` ranks instead of the distance. `joined`: the scorer whose best are candidates, too. `blend`: a scorer that
    has a say in the order of the hits.

    `prove` goes on with all others when the candidates are done. `own` says that `gamma` and weights are those that the
    first stage was made with, so that its distance is WCD. `allowed` (n,) are the only ids that may be found, None for
    all; `without` is one that may not. After `budget` seconds the search ends with what it has.
    """

    k: int
    depth: int | None
    distance: Distance
    gamma: float
    own: bool
    prove: bool = False
    allowed: NDArray[np.int64] | None = None
    without: int | None = None
    budget: float | None = None
    scorer: ScorerChoice | None = None
    joined: ScorerChoice | None = None
    blend: Blend | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Document ids (k,) with their distances, nearest first, and what is proven of them; see `Ranking`.

    Where a scorer ranked them or had a say, `scores` (k,) say why they are in this order, and `parts` what they were
    joined from. `distances` are nan where there are none.
    """

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    certified: bool
    scope: Literal["collection", "candidates"]
    counts: StageCounts
    largest_error: float
    seconds: float
    scores: NDArray[np.float64] | None = None
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
