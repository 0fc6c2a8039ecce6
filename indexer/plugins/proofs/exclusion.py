"""Chooses the numbers u of the query's words whose dual values exclude all documents that are no hits.

The dual value of any u bounds every document, so the fewer rows of u exclude all, the faster a proof is verified. The
sum of the dual values of many documents is that of their mean bag: the u that is best for the mean bag of the documents
that remain excludes most of them. The potentials of the exact distance of a single document exclude that one, and
others like it.
"""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.plugins.proofs.verify import Proof, dual_values, lower_bounds, lower_costs
from moverank.indexer.values.search_options import Progress
from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.ground_cost import exact_cost
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.errors import TransportError
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.thread_pool import parallel_for

_Moves = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
_Rows = NDArray[np.int64]

_SAMPLE = 4096  # documents of a mean bag
_CELLS = 2**26  # costs in memory at a time
_SOLVED = 128  # documents after which the costs of the words that remain are computed again
_STEPS = 15  # of Sinkhorn's scaling


def query_bag(p: Proof) -> Bag:
    """Return the bag of the query."""
    return Bag(p.query_words, p.query_weights)


def document_bag(p: Proof, document: int) -> Bag:
    """Return the bag of a document."""
    own = slice(*p.bag_starts[document : document + 2])
    return Bag(p.bag_words[own], p.bag_weights[own])


def solved(p: Proof, document: int) -> tuple[NDArray[np.float64], _Moves]:
    """Return numbers (h,) whose dual value is the distance of a document, and the masses and positions of its moves.

    The potentials of the words between which mass moves are extended to all words: with f(x) = min_j (C_xj - v_j), no
    two values of f differ by more than the cost of their words, which is a metric, so that mass on a word of both bags
    adds nothing.
    """
    query, target = query_bag(p), document_bag(p, document)
    plan, rest = solve_bags(query, target, p.vectors[query.words], p.vectors[target.words])
    moves = np.nonzero(plan.mass > 0)
    mass = np.append(rest.common[2], plan.mass[moves])
    ends = (np.append(rest.common[0], rest.sources[moves[0]]), np.append(rest.common[1], rest.targets[moves[1]]))
    if not len(rest.targets):
        return np.zeros(len(query)), (mass, *ends)
    costs = exact_cost(p.vectors[query.words], p.vectors[target.words[rest.targets]])
    return (costs - plan.v).min(axis=1), (mass, *ends)


def _transformed(costs: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lower bounds (w,) of min_i (C_ij - u_i) for words with `costs` (w, h), as a verifier computes them."""
    v = np.empty(len(costs))
    parallel_for(lambda first, last: kernels.c_transform(first, last, costs, u, v), len(v), small=4096)
    return np.nextafter(v, -np.inf)


class Exclusion:
    """Rows of potentials, each with the documents of `p` that it bounds.

    The first row is zero: its value is the document's side of RWMD. `progress` is called as documents are excluded.
    """

    def __init__(self, p: Proof, progress: Progress) -> None:
        self._p, self._progress = p, progress
        self.potentials = [np.zeros(len(p.query_words))]
        self.potential_of = np.zeros(p.n, np.int32)

    def add(self, u: NDArray[np.float64], documents: _Rows) -> None:
        """Let `u` (h,) bound some documents."""
        self.potential_of[documents] = len(self.potentials)
        self.potentials.append(u)

    def exclude(self, rows: _Rows, limit: float) -> None:
        """Find rows by which the bounds of the documents `rows` are at least `limit`; TransportError if that fails."""
        bounds = lower_bounds(self._p, self.potentials[0], rows)
        rows, bounds = rows[bounds < limit], bounds[bounds < limit]
        if len(rows):
            u = self._mean_potentials(rows)
            found = lower_bounds(self._p, u, rows)
            self.add(u, rows[found >= limit])
            bounds = np.maximum(bounds, found)
        self._exclude_singly(rows, bounds, limit)

    def _portion(self, rows: _Rows, most: int) -> _Rows:
        """Return the first of `rows`, at least one and at most `most`, that have so few words that costs fit."""
        p = self._p
        sizes = np.cumsum(p.bag_starts[rows[:most] + 1] - p.bag_starts[rows[:most]]) * len(p.query_words)
        return rows[: max(1, int(np.searchsorted(sizes, _CELLS)))]

    def _mean_potentials(self, rows: _Rows) -> NDArray[np.float64]:
        """Return near-optimal potentials (h,) of the mean bag of documents that are spread over `rows`."""
        p, mean = self._p, np.zeros(self._p.w)
        spread = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.int64))]
        for row in self._portion(spread, _SAMPLE).tolist():
            bag = document_bag(p, row)
            mean[bag.words] += bag.weights
        words = np.flatnonzero(mean)
        costs = exact_cost(p.vectors[p.query_words], p.vectors[words])
        _, v = kernels.near_potentials(costs, p.query_weights, mean[words] / mean.sum(), _STEPS)
        potentials: NDArray[np.float64] = (costs - v).min(axis=1)
        return potentials

    def _exclude_singly(self, rows: _Rows, bounds: NDArray[np.float64], limit: float) -> None:
        """Exclude documents by the potentials of single ones, those with the smallest of their `bounds` first."""
        while len(left := np.flatnonzero(bounds < limit)):
            check_time()
            hardest = left[np.argsort(bounds[left], kind="stable")]
            self._progress("excluding documents", self._p.n - len(left), self._p.n, "documents")
            portion = np.sort(self._portion(hardest, len(hardest)))
            bounds[portion] = self._exclude_some(rows[portion], bounds[portion], limit)

    def _exclude_some(self, rows: _Rows, bounds: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
        """Solve some documents, and return the `bounds` of all `rows` after it."""
        p, v, bounds = self._p, np.zeros(self._p.w), bounds.copy()
        words = np.unique(np.concatenate([document_bag(p, row).words for row in rows.tolist()]))
        costs = lower_costs(p, words)
        for _ in range(_SOLVED):
            left = np.flatnonzero(bounds < limit)
            if not len(left):
                break
            hardest = left[np.argmin(bounds[left])]
            u, _ = solved(p, int(rows[hardest]))
            v[words] = _transformed(costs, u)
            bounds[left] = np.maximum(bounds[left], dual_values(p, u, v, rows[left]))
            if bounds[hardest] < limit:
                raise TransportError("the distance of a document was not found exactly enough for a proof")
            self.add(u, rows[left[bounds[left] >= limit]])
        return bounds
