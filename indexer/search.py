"""From a query to the nearest documents: first stage, rerank, and what is proven of the result."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from indexer.segment import Segment
from indexer.view import LiveSegment, View
from rerank.bag import Bag
from rerank.bounds import wcd_floor
from rerank.encoders.centroid import centroids
from rerank.ranking import Distance, StageCounts
from rerank.query import Query
from rerank.reranker import nearest

DEFAULT_DEPTH = 20_000
"""How many candidates the first stage hands over where nobody says: smaller collections are searched exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A query's words: texts, ids in the store (h,) int64 (0: no document ever had it), weights and vectors (h, d)."""

    texts: tuple[str, ...]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    vectors: NDArray[np.float32]

    def over(self, segment: Segment) -> Query:
        """Give the words the ids that a segment has for them; those that it does not have get ids beyond its own."""
        v = len(segment.word_ids)
        places = np.searchsorted(segment.word_ids, self.ids)
        there = np.isin(self.ids, segment.word_ids)
        words = np.where(there, places, v + np.arange(len(self.ids))).astype(np.int32)
        order = np.argsort(words)
        return Query(Bag(words[order], self.weights[order]), self.vectors[order])

    def centroid(self) -> NDArray[np.float32]:
        """Return the mean (d,) of the word vectors."""
        mean: NDArray[np.float32] = (self.weights @ self.vectors.astype(np.float64)).astype(np.float32)
        return mean


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is wanted: `k` documents among the `depth` nearest by first stage (None: all), by a distance.

    `own` says that `gamma` and weights are those that the first stage was made with, so that its distance is WCD.
    `allowed` (n,) are the only ids that may be found, None for all; `without` is one that may not.
    """

    k: int
    depth: int | None
    distance: Distance
    gamma: float
    own: bool
    allowed: NDArray[np.int64] | None = None
    without: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Document ids (k,) with their distances, nearest first, and what is proven of them."""

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    certified: bool
    scope: Literal["collection", "candidates"]
    counts: StageCounts


def search(view: View, words: Words, request: Request, stage_gamma: float) -> Outcome:
    """Find the nearest documents of a view; `stage_gamma` is the gamma that the first stage's centroids have."""
    chosen = [_allowed_rows(part, request) for part in view.segments]
    total = sum(map(len, chosen))
    floor = None
    if request.depth is not None and request.depth < total:
        chosen, floor = _candidates(view, words, chosen, request.depth, stage_gamma)
    ids, distances, counts = _nearest(view, words, chosen, request)
    proven = floor is None or bool(
        request.own and request.distance != "rwmd" and len(distances) == request.k and floor >= distances[-1]
    )
    return Outcome(ids, distances, proven, "collection" if proven else "candidates", counts)


def _allowed_rows(part: LiveSegment, request: Request) -> NDArray[np.int64]:
    """Return the rows that may be found."""
    live = part.live
    if request.allowed is not None:
        live = live & np.isin(part.segment.ids, request.allowed)
    if request.without is not None:
        live = live & (part.segment.ids != request.without)
    return np.flatnonzero(live)


def _candidates(
    view: View, words: Words, chosen: list[NDArray[np.int64]], depth: int, gamma: float
) -> tuple[list[NDArray[np.int64]], float]:
    """Cut the chosen rows down to the `depth` nearest by centroid.

    Returns the rows of each segment, and a floor of the WMD of every row that was cut off: 0 where nothing is known.
    """
    centroid = words.centroid()
    found = [_stage(part, rows, centroid, depth, gamma) for part, rows in zip(view.segments, chosen, strict=True)]
    squares = np.concatenate([squared for _, squared in found])
    kept = np.argsort(squares, kind="stable")[:depth]
    origin = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    rows = np.concatenate([rows for rows, _ in found])
    exact = all(part.stage is None or part.stage.exact for part in view.segments)
    floor = 0.0
    if exact and len(kept):
        longest = max(float(part.norms.max(initial=0)) for part in view.segments)
        last = squares[kept[-1:]].astype(np.float32)
        norm = np.float32(np.linalg.norm(centroid))
        floor = float(wcd_floor(last, np.array([longest], np.float32), norm, len(centroid))[0])
    return [np.sort(rows[kept[origin[kept] == i]]) for i in range(len(found))], floor


def _stage(
    part: LiveSegment, rows: NDArray[np.int64], centroid: NDArray[np.float32], depth: int, gamma: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return up to `depth` of a segment's rows with their squared distances from the query's centroid.

    The tail has no index: it is short, so every distance is computed.
    """
    if part.stage is None or len(rows) <= depth:
        means = centroids(part.bags(rows, gamma), part.segment.vectors)
        return rows, np.square(means - centroid).sum(axis=1)
    allowed = np.zeros(len(part.segment.ids), bool)
    allowed[rows] = True
    found = part.stage.nearest(centroid, depth, lambda ids: allowed[np.searchsorted(part.segment.ids, ids)])
    return np.searchsorted(part.segment.ids, found.ids), found.squares


def _nearest(
    view: View, words: Words, chosen: list[NDArray[np.int64]], request: Request
) -> tuple[NDArray[np.int64], NDArray[np.float64], StageCounts]:
    """Rerank the chosen rows of each segment, and join the results."""
    ids, distances, counts = [np.empty(0, np.int64)], [np.empty(0)], StageCounts()
    within = np.inf
    for part, rows in zip(view.segments, chosen, strict=True):
        if not len(rows):
            continue
        bags = part.bags(rows, request.gamma)
        query = words.over(part.segment)
        found = nearest(query, bags, part.segment.vectors, request.k, request.distance, within, part.norms)
        ids.append(part.segment.ids[rows[found.rows]])
        distances.append(found.distances)
        counts += found.counts
        if len(found.distances) == request.k:
            within = min(within, float(found.distances[-1]))
    every, apart = np.concatenate(ids), np.concatenate(distances)
    best = np.lexsort((every, apart))[: request.k]
    return every[best], apart[best], counts
