"""The nearest pairs of many bags by the exact Word Mover's Distance.

RWMD over near words, by an inverted file, excludes nearly all pairs. The cascade searches the remaining pairs of each
bag, with the limit as the largest distance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.near_words import NearWords, PairBounds
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import StageCounts
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import single_threaded_blas

_CELLS = 2**17  # bounds that are computed by one call
# For each pair wanted, of those with the smallest bounds: how many are kept, and how many are solved at first, so that
# the limit is small from the beginning.
_KEPT_PER_PAIR, _SOLVED_PER_PAIR = 4, 2

_Rows = NDArray[np.int64]
_Floats = NDArray[np.float64]


class PairsOfRow(NamedTuple):
    """The pairs of one `row` with later rows, `others` (m,), and their distances (m,); `counts` of all later rows."""

    row: int
    others: _Rows
    distances: _Floats
    counts: StageCounts


@dataclass(slots=True, eq=False)
class Limit:
    """The largest distance of a pair that is wanted: at most `value`, and with `k`, a little above the k-th smallest.

    So pairs whose distances equal the k-th up to rounding are all found, and the caller chooses among them.
    """

    value: float
    k: int | None = None
    best: _Floats | None = None

    def add(self, distances: _Floats) -> None:
        """Take the distances (m,) of new pairs into account."""
        if self.k is not None:
            known = distances if self.best is None else np.append(self.best, distances)
            self.best = np.sort(known)[: self.k]
            if len(self.best) == self.k:
                self.value = min(self.value, _raised(float(self.best[-1])))


def _raised(distance: float) -> float:
    """Return a limit that no distance that equals `distance` up to rounding exceeds."""
    return distance + 1e-9 * distance + 1e-12


class _BoundedPairs(NamedTuple):
    """Pairs (p,) of `rows` and later rows, `others`, in the order of the rows, and lower `bounds` of their distances.

    There is no other pair whose bound is below `complete_below`.
    """

    rows: _Rows
    others: _Rows
    bounds: _Floats
    complete_below: float = np.inf

    @classmethod
    def joined(cls, parts: "list[_BoundedPairs]") -> "_BoundedPairs":
        """Return the pairs of all parts, whose rows are in order."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.others for part in parts)]),
            np.concatenate([np.empty(0), *(part.bounds for part in parts)]),
            min((part.complete_below for part in parts), default=np.inf),
        )

    def take(self, pairs: NDArray[np.intp]) -> "_BoundedPairs":
        """Return only some of the pairs, in increasing order."""
        return self._replace(rows=self.rows[pairs], others=self.others[pairs], bounds=self.bounds[pairs])

    def least(self, count: int) -> "_BoundedPairs":
        """Return at most `count` of the pairs, those with the smallest bounds."""
        if len(self.rows) <= count:
            return self
        kept = self.take(np.sort(np.argpartition(self.bounds, count - 1)[:count]))
        return kept._replace(complete_below=float(kept.bounds.max()))

    def by_row(self, first: int, n: int) -> Iterator[tuple[int, _Rows]]:
        """Yield each row from `first` to `n` - 1 with its others."""
        ends = np.searchsorted(self.rows, np.arange(first, n + 1))
        for row in range(first, n):
            yield row, self.others[ends[row - first] : ends[row - first + 1]]


class NearPairs:
    """Finds the pairs of `bags` (n) over word `vectors` (v, d) that are within a limit; threads share it.

    Words that are not `known` (v,) (None: all are known) have a vector of zeros. Each gets a vector that is orthogonal
    to all others and has the average length of the known vectors. So the ground cost stays Euclidean. `near_words` has
    the arguments of `NearWords.of`, and may return what it returned before for the same words. Only pairs with one of
    the first `count` bags are sought; None: all pairs.
    """

    def __init__(
        self,
        bags: Bags,
        vectors: NDArray[np.float32],
        known: NDArray[np.bool_] | None = None,
        near_words: Callable[..., NearWords] = NearWords.of,
        count: int | None = None,
    ) -> None:
        self._count, of_bags = len(bags) if count is None else count, bags.starts[-1 if count is None else count]
        used, words = np.unique(bags.words, return_inverse=True)
        self._bags, self._vectors = Bags(bags.starts, words.astype(np.int32), bags.weights), vectors[used]
        self._norms = vector_norms(self._vectors)
        self._known = None if known is None else known[used]
        self._kept: _BoundedPairs | None = None
        has_vector = np.ones(len(used), bool) if self._known is None else self._known
        self._far = float(self._norms[has_vector].mean()) if has_vector.any() else 1.0
        sought = np.isin(np.arange(len(used)), self._bags.words[:of_bags])
        self._lower = PairBounds(self._bags, near_words(self._vectors, has_vector, self._far, sought))

    def smallest_distance_of(self, k: int) -> float:
        """Return an upper bound of the k-th smallest distance of a pair, infinity if there are fewer pairs.

        It is a little above the k-th smallest among the distances of the pairs with the smallest bounds, which are kept
        for `run`: there they are solved again, among others, and rounding may differ.
        """
        self._kept = kept = self._least(_KEPT_PER_PAIR * k)
        if len(kept.bounds) < k:
            return float("inf")
        promising = np.sort(np.argsort(kept.bounds, kind="stable")[: _SOLVED_PER_PAIR * k])
        work = partial(self._distances, within=float("inf"))
        solved = map_ahead(work, kept.take(promising).by_row(0, self._count))
        return _raised(float(np.sort(np.concatenate([found.distances for _, found in solved]))[k - 1]))

    def run(self, first: int, limit: Limit) -> Iterator[PairsOfRow]:
        """Yield the pairs of each row from `first` on, in order, with distances not above the current limit."""

        def work(item: tuple[int, _Rows]) -> PairsOfRow:
            return self._distances(item, limit.value)

        near: Iterator[tuple[int, _Rows]]
        if self._kept is not None and limit.value < self._kept.complete_below:
            within = np.flatnonzero(self._kept.bounds <= limit.value)
            near = self._kept.take(within).by_row(first, self._count)
        else:
            near = ((row, others) for row, others, _ in self._near(first, limit))
        for _, found in map_ahead(work, near):
            limit.add(found.distances)
            yield found

    def _least(self, count: int) -> "_BoundedPairs":
        """Return `count` pairs with the smallest bounds, all pairs if there are fewer."""
        limit, kept, found = Limit(np.inf), list[_BoundedPairs](), 0
        for row, others, bounds in self._near(0, limit):
            if len(others):
                kept.append(_BoundedPairs(np.full(len(others), row), others, bounds))
                found += len(others)
            if found > 2 * count:
                kept, found = [_BoundedPairs.joined(kept).least(count)], count
                limit.value = kept[0].complete_below
        return _BoundedPairs.joined(kept).least(count)

    def _near(self, first: int, limit: Limit) -> Iterator[tuple[int, _Rows, _Floats]]:
        """Yield each row from `first` on, the later rows (m,) whose bounds are within the limit, and these bounds."""
        size = max(1, _CELLS // max(1, len(self._bags)))
        blocks = ((start, min(start + size, self._count)) for start in range(first, self._count, size))
        for (start, stop), lower in map_ahead(lambda block: self._lower.of_rows(*block, limit.value), blocks):
            for row in range(start, stop):
                others = row + 1 + np.flatnonzero(lower[row - start, row + 1 :] <= limit.value)
                yield row, others, lower[row - start, others]

    def _distances(self, item: tuple[int, _Rows], within: float) -> PairsOfRow:
        row, others = item
        if not len(others):
            return PairsOfRow(row, others, np.empty(0), StageCounts())
        bag, bags, vectors, norms = self._bags[row], self._bags.take(others), self._vectors, self._norms
        if self._known is not None:
            bag, bags, vectors = self._with_unknown(bag, bags, self._known)
            norms = vector_norms(vectors)
        query = QueryBag(bag, vectors[bag.words])
        with single_threaded_blas():
            found = nearest(query, bags, vectors, len(others), within=within, norms=norms)
        wanted = found.distances <= within
        return PairsOfRow(row, others[found.rows[wanted]], found.distances[wanted], found.counts)

    def _with_unknown(self, bag: Bag, bags: Bags, known: NDArray[np.bool_]) -> tuple[Bag, Bags, NDArray[np.float32]]:
        """Return `bag` and `bags` over their own words, and the vectors of these words, including unknown ones.

        Only the unknown words of `bag` need a direction each: other unknown words are equally far from all words of
        `bag`, so that they share one direction.
        """
        words = np.unique(np.concatenate([bag.words, bags.words]))
        own = np.searchsorted(words, bag.words)
        unknown = own[~known[bag.words]]
        dim = self._vectors.shape[1]
        vectors = np.zeros((len(words), dim + len(unknown) + 1), np.float32)
        vectors[:, :dim] = self._vectors[words]
        vectors[~known[words], -1] = self._far
        vectors[unknown, -1] = 0
        vectors[unknown, dim + np.arange(len(unknown))] = self._far
        places = np.searchsorted(words, bags.words).astype(np.int32)
        return Bag(own.astype(np.int32), bag.weights), Bags(bags.starts, places, bags.weights), vectors
