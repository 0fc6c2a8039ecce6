"""RWMD over near words: lower bounds of the distances of all pairs of bags, without a cost matrix for each bag.

A word that is not among the near words of another costs at least as much as the farthest of them. So a bag's side of
RWMD is the cost of its words if all are far, less what near words in the other bag save; an inverted file adds up the
savings, and pairs without near words are never looked at. Savings are subtracted from sums of at most `radius`, so the
margin of the bound is absolute: see `rerank.distance.bounds`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.bounds import ABSOLUTE_MARGIN, SUM_MARGIN, bag_means
from moverank.rerank.distance.ground_cost import cost_floor, product_margins, vector_norms
from moverank.rerank.distance.word_blocks import MATRIX_BYTES
from moverank.rerank.runtime.thread_pool import parallel_for

_NEAR = 16  # near words of each word: more of them raise the bounds, and take longer
_PORTION = 1 << 25  # costs that a kernel reads between two checks of the time


@dataclass(frozen=True, slots=True, eq=False)
class NearWords:
    """The near words of each word as compressed sparse rows, increasing by cost: first the word itself, at cost 0.

    Word i has the slice `starts[i]:starts[i + 1]` of `words` (e,) and `costs` (e,), floors of the ground cost. To any
    other word it costs at least `radius[i]` (v,).
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
        """Return the near words of words with `vectors` (v, d).

        Words that are not `known` (v,) have vectors of length `far` instead, orthogonal to all others. Only those that
        are `sought` (v,) are compared with all words, None: all are; others are near them alone, with the radius 0.
        """
        v, wanted = len(known), np.ones(len(known), bool) if sought is None else sought
        places = np.append(np.flatnonzero(known & wanted), np.flatnonzero(known & ~wanted))
        norms = vector_norms(vectors[places])
        found, costs = _nearest(vectors[places], norms, int((known & wanted).sum()))
        radius, compared = np.zeros(v), places[: len(found)]
        radius[compared] = costs[:, -1]
        if len(places) < v:
            shrink = 1 - float(product_margins(vectors.shape[1])[0])
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


def _nearest(
    vectors: NDArray[np.float32], norms: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nearest words (count, k) of the first words, and their cost floors (count, k).

    All words have `vectors` (v, d) and `norms` (v,). Each is its own nearest. The costs of each pair of words are
    computed once, block by block.
    """
    from moverank.rerank.kernels.nearest_words import keep_nearest_of_columns, keep_nearest_of_rows

    v, start = len(vectors), 0
    words = np.zeros((count, max(1, min(_NEAR + 1, v))), np.int32)
    costs = np.full(words.shape, np.inf, np.float32)
    words[:, 0], costs[:, 0] = np.arange(count), 0
    while start < count:
        stop = min(count, start + max(1, MATRIX_BYTES // (4 * (v - start))))
        floor = cost_floor(vectors[start:], vectors[start:stop], norms[start:], norms[start:stop])
        rows, columns = floor.shape
        lists = floor, start, words, costs
        parallel_for(partial(_call, keep_nearest_of_rows, lists), count - start, most=max(1, _PORTION // columns))
        parallel_for(partial(_call, keep_nearest_of_columns, lists), columns, most=max(1, _PORTION // rows))
        start = stop
    return words, costs


def _call(keep: Callable[..., None], lists: tuple[Any, ...], first: int, last: int) -> None:
    """Call one of the kernels for a range of words."""
    keep(first, last, *lists)


class PairBounds:
    """Lower bounds of the distances of all pairs of `bags` (n,) over a vocabulary with `near` words."""

    def __init__(self, bags: Bags, near: NearWords) -> None:
        from moverank.rerank.kernels.counts import transposed

        self._bags, self._near = (bags.starts, bags.words, bags.weights), (near.starts, near.words, near.costs)
        self._radius, self._postings = near.radius, transposed(*self._bags, len(near.radius))
        self._far = SUM_MARGIN * bag_means(bags, near.radius) - ABSOLUTE_MARGIN * near.radius.max(initial=0.0)

    def of_rows(self, first: int, last: int, limit: float) -> NDArray[np.float64]:
        """Return the bounds (last - first, n) of the rows from `first` to `last`, of which those of later bags are set.

        The second side of RWMD is skipped where the first exceeds `limit`.
        """
        from moverank.rerank.kernels.nearest_words import pair_bounds

        lower = np.empty((last - first, len(self._far)))
        pair_bounds(first, last, self._bags, self._near, self._radius, self._postings, self._far, limit, lower)
        return lower
