"""RWMD over near words: lower bounds of the distances of many pairs of bags, without a cost matrix for each bag.

A word that is not among the near words of another costs at least as much as the farthest of them. So a bag's side of
RWMD is the cost of its words if all are far, less what near words in the other bag save; an inverted file adds up the
savings, and pairs without near words are never visited. Savings are subtracted from sums of at most `radius`, so the
margin of the bound is absolute: see `rerank.distance.bounds`.

Bags are compared with each other, or with bags of other words, such as a stream of documents with stored queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.bounds import ABSOLUTE_MARGIN, SUM_MARGIN, bag_means
from moverank.rerank.distance.ground_cost import UNIT_ROUNDOFF, cost_floor, product_margins, vector_norms
from moverank.rerank.distance.word_blocks import MATRIX_BYTES
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded_blas

_NEAR = 16  # near words of each word: more of them raise the bounds, and take longer
_AXES = 64  # principal components by which the near words in another vocabulary are found: more raise the bounds
_MANY = 1000  # words of another vocabulary, for fewer of which all components take no more time
_SAMPLE = 4096  # words that determine the components, or are projected together
_TOGETHER = 512  # words whose near words' costs are computed together
_KEPT = 200_000  # words whose near words are kept
_PORTION = 1 << 25  # costs that a kernel reads between two checks of the time


@dataclass(frozen=True, slots=True, eq=False)
class NearWords:
    """The near words of words (w,) among others (v,), as compressed sparse rows.

    Word i has the slice `starts[i]:starts[i + 1]` of `words` (e,) and `costs` (e,), floors of the ground cost. Word j
    of the others costs at least `radius[j]` (v,) to any word that it is not near.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    costs: NDArray[np.float32]
    radius: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        vectors: NDArray[np.float32],
        known: NDArray[np.bool_],
        far: float,
        sought: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Return the near words of words with `vectors` (v, d) among themselves, each increasing by cost.

        Each word is the first of its own near words, at cost 0. Words that are not `known` (v,) have vectors of length
        `far` instead, orthogonal to all others. Only words `sought` (v,), None: all, are compared with all words;
        other words are near these alone, with the radius 0.
        """
        v, wanted = len(known), np.ones(len(known), bool) if sought is None else sought
        radius = np.zeros(v)
        places = np.append(np.flatnonzero(known & wanted), np.flatnonzero(known & ~wanted))
        compared = places[: int((known & wanted).sum())]
        found, costs, radius[compared] = NearWordsOf(vectors[places]).nearest(vectors[compared], own=True)
        if len(places) < v:
            shrink = 1 - float(product_margins(vectors.shape[1])[0])
            norms = vector_norms(vectors[places])
            apart = shrink * np.sqrt(np.square(norms, dtype=np.float64) + far**2)
            radius[places] = np.minimum(radius[places], apart)
            radius[~known] = min(apart.min(initial=np.inf), shrink * np.sqrt(2) * far)
        own = np.arange(v)
        one, other = np.repeat(compared, costs.shape[1]), places[found.ravel()]
        rows, columns = np.concatenate([one, other, own]), np.concatenate([other, one, own])
        both = np.concatenate([costs.ravel(), costs.ravel(), np.zeros(v, np.float32)])
        _, once = np.unique(rows * v + columns, return_index=True)
        order = once[np.lexsort((both[once], rows[once]))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=v))])
        return cls(starts, columns[order].astype(np.int32), both[order], radius)


def _call(keep: Callable[..., None], lists: tuple[Any, ...], first: int, last: int) -> None:
    """Call one of the kernels for a range of words."""
    keep(first, last, *lists)


Lists = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]]  # words, costs and radius of each word


class NearWordsOf:
    """Finds which of the words with `vectors` (w, d) are near other words, and keeps what it has found.

    They are found by distances in the space of the first principal components, with the length of the rest as one more
    component: these are never above the distances of the vectors.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors, self._centre, self._axes = vectors, np.zeros(vectors.shape[1]), None
        if len(vectors) >= _MANY and vectors.shape[1] > _AXES:
            sample = vectors[:: 1 + len(vectors) // _SAMPLE].astype(np.float64)
            self._centre = sample.mean(axis=0)
            sample -= self._centre
            with single_threaded_blas():
                self._axes = np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, -_AXES:])
        self._points = self._projected(vectors)
        self._norms = vector_norms(self._points)
        self._most = max(1, min(_NEAR + 1, len(vectors)))
        self._forget()

    def _forget(self) -> None:
        shape = 0, self._most
        self._place: dict[str, int] = {}
        self._kept: Lists = np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(0)

    def near(
        self, texts: Sequence[str], vectors: NDArray[np.float32], wanted: NDArray[np.int64] | None = None
    ) -> NearWords:
        """Return the near words of the words (w,) among words `texts` (v,) with `vectors` (v, d).

        Words that are neither `wanted` (m,) (None: all are) nor kept may have a radius of 0, and are near no word.
        """
        if len(self._place) > _KEPT:
            self._forget()
        asked = range(len(texts)) if wanted is None else wanted.tolist()
        new = [i for i in asked if texts[i] not in self._place]
        if new:
            (words, costs, radius), (more, their, own) = self._kept, self.nearest(vectors[new])
            self._kept = np.concatenate([words, more]), np.concatenate([costs, their]), np.concatenate([radius, own])
            self._place.update(zip((texts[i] for i in new), range(len(words), len(words) + len(new)), strict=True))
        places = np.array([self._place.get(text, -1) for text in texts], np.int64)
        known, least = places >= 0, np.zeros(len(texts))
        words, costs, radius = self._kept
        least[known] = radius[places[known]]
        lists = words[places[known]].ravel(), costs[places[known]].ravel().astype(np.float64)
        starts = self._most * np.concatenate([[0], np.cumsum(known)])
        starts, near, floors = kernels.transposed(starts, *lists, len(self._vectors))
        return NearWords(starts, near, floors.astype(np.float32), least)

    def nearest(self, vectors: NDArray[np.float32], *, own: bool = False) -> Lists:
        """Return the nearest of the words (v, k) of other words with `vectors` (v, d), cost floors (v, k), radius (v,).

        If `own`, the first words have these vectors: each is its own nearest, at cost 0.
        """
        v, points = len(vectors), self._projected(vectors)
        norms = vector_norms(points)
        words, costs = np.zeros((v, self._most), np.int32), np.full((v, self._most), np.inf, np.float32)
        if own:
            words[:, 0], costs[:, 0] = np.arange(v), 0
        size = max(1, MATRIX_BYTES // (4 * max(1, len(self._points))))
        for start in range(0, v, size):
            some = slice(start, start + size)
            floor = cost_floor(points[some], self._points, norms[some], self._norms)
            if own:
                np.fill_diagonal(floor[:, start:], np.inf)
            lists = floor, start, 0, words, costs
            parallel_for(
                partial(_call, kernels.keep_nearest_of_rows, lists), len(floor), most=1 + _PORTION // floor.shape[1]
            )
        # Components are rounded to float32: that moves a point by at most its length times the unit roundoff.
        moved = 2 * UNIT_ROUNDOFF * (norms.astype(np.float64) + self._norms.max(initial=0))
        return words, self._floors(vectors, words), np.maximum(SUM_MARGIN * costs[:, -1] - moved, 0)

    def _floors(self, vectors: NDArray[np.float32], words: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return cost floors (v, k) of other words with `vectors` (v, d) and their near `words` (v, k)."""
        floors = np.empty(words.shape, np.float32)
        for start in range(0, len(words), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            apart = self._vectors[words[some]] - vectors[some, None]
            floors[some] = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        return floors * np.float32(1 - (vectors.shape[1] + 8) * UNIT_ROUNDOFF)

    def _projected(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors (v, d) in the space of the components (v, k + 1)."""
        if self._axes is None:
            return vectors
        points = np.empty((len(vectors), _AXES + 1), np.float32)
        for start in range(0, len(vectors), _SAMPLE):
            own = vectors[start : start + _SAMPLE] - self._centre
            with single_threaded_blas():
                inside = own @ self._axes
                own -= inside @ self._axes.T
            points[start : start + _SAMPLE] = np.column_stack([inside, np.linalg.norm(own, axis=1)])
        return points


def common_words(bags: Bags, v: int, share: float) -> NDArray[np.int64]:
    """Return the union, over `bags`, of the commonest of the `v` words that have this `share` of a bag's mass."""
    rank = np.empty(v, np.int64)
    rank[np.argsort(-np.bincount(bags.words, bags.weights, v), kind="stable")] = np.arange(v)
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.starts))
    order = np.lexsort((rank[bags.words], rows))
    weights = bags.weights[order]
    before = np.cumsum(weights) - weights - rows  # each bag sums to 1
    return np.unique(bags.words[order[before < share]]).astype(np.int64)


class PairBounds:
    """Lower bounds of the distances of `bags` (n,) from `others` (m,), whose words have `near` words among theirs.

    Without `others`, `bags` are compared with each other.
    """

    def __init__(self, bags: Bags, near: NearWords, others: Bags | None = None) -> None:
        rows, self._later = (bags, True) if others is None else (others, False)
        self._rows, self._near = (rows.starts, rows.words, rows.weights), (near.starts, near.words, near.costs)
        self._radius = near.radius
        self._postings = kernels.transposed(bags.starts, bags.words, bags.weights, len(near.radius))
        self._far = SUM_MARGIN * bag_means(bags, near.radius) - ABSOLUTE_MARGIN * near.radius.max(initial=0.0)

    def of_rows(self, first: int, last: int, limit: float) -> NDArray[np.float64]:
        """Return the bounds (last - first, n) of the rows from `first` to `last`.

        Without others, only bounds of later bags are set, and the second side of RWMD is skipped where the first
        exceeds `limit`. With others, the bounds are the side of `bags`.
        """
        lower = np.empty((last - first, len(self._far)))
        given = self._rows, self._near, self._radius, self._postings, self._far, self._later
        kernels.pair_bounds(first, last, *given, limit, lower)
        return lower
