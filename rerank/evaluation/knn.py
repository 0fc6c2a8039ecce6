"""Classification by the nearest neighbours, as Kusner et al. 2015 did it (section 5.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

KS = tuple(range(1, 20))
"""How many neighbours may vote."""


def predict(votes: NDArray[np.int64], k: int, labels: int) -> NDArray[np.int64]:
    """Return the labels (m,) that the k nearest vote for; `votes` (m, K >= k) are their labels, nearest first.

    A vote -1 is an empty place: whoever has fewer neighbours lets those vote, and without any has the answer -1.
    A majority of at least half of the votes is sure. Where there is none, the two farthest are left out, until there
    is one: the fall-back of the authors' own code. Of labels with as many votes the nearest neighbour's is taken, where
    that code took the first label.
    """
    if not 1 <= k <= votes.shape[1]:
        raise EvaluationError(f"k must be from 1 to {votes.shape[1]}, the neighbours there are, not {k}")
    answers = np.full(len(votes), -1, np.int64)
    asked = np.count_nonzero(votes[:, :k] >= 0, axis=1)
    open_ = np.flatnonzero(asked > 0)
    while len(open_):
        counts, best = _count(votes[open_, :k], asked[open_], labels)
        sure = (2 * counts >= asked[open_]) | (asked[open_] <= 2)
        answers[open_[sure]] = best[sure]
        open_ = open_[~sure]
        asked[open_] -= 2
    return answers


def _count(
    votes: NDArray[np.int64], asked: NDArray[np.int64], labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most votes (m,) that a label has among the first `asked` (m,), and the nearest such label (m,)."""
    m, k = votes.shape
    voting = np.arange(k) < asked[:, None]
    totals = np.zeros((m, labels + 1), np.int64)
    np.add.at(totals, (np.repeat(np.arange(m), k), np.where(voting, votes, labels).ravel()), 1)
    own = np.where(voting, totals[np.arange(m)[:, None], votes], 0)
    place = own.argmax(axis=1)
    return own[np.arange(m), place], votes[np.arange(m), place]


def error(votes: NDArray[np.int64], truth: NDArray[np.int64], k: int, labels: int) -> float:
    """Return the share of documents whose label (m,) the k nearest miss."""
    return float(np.mean(predict(votes, k, labels) != truth))


def choose_k(votes: NDArray[np.int64], truth: NDArray[np.int64], labels: int, ks: Sequence[int] = KS) -> int:
    """Return the k with the smallest error on a validation part, of equal ones the smallest."""
    usable = [k for k in ks if k <= votes.shape[1]]
    if not usable:
        raise EvaluationError(f"there are only {votes.shape[1]} neighbours: none of the k wanted can be tried")
    return min(usable, key=lambda k: error(votes, truth, k, labels))


@dataclass(frozen=True, slots=True)
class KnnError:
    """Errors of several splits with the k chosen for each; `deviation` is the sample's, 0 for a single split."""

    errors: tuple[float, ...]
    ks: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Return the mean error."""
        return float(np.mean(self.errors))

    @property
    def deviation(self) -> float:
        """Return the standard deviation over the splits."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0
