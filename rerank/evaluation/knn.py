"""Classification by the nearest neighbours, as in Kusner et al. 2015, section 5.2."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

KS = tuple(range(1, 20))
"""The values of k that `choose_k` tries."""


def predict(votes: NDArray[np.int64], k: int, labels: int) -> NDArray[np.int64]:
    """Return the labels (m,) that the k nearest neighbours vote for.

    `votes` (m, K) are the labels of each document's neighbours, from 0 to `labels` - 1, nearest first, and -1 where
    there is no neighbour; a document without any has the prediction -1. Of the first `k`, a label with at least half of
    the votes wins. While there is none, the two farthest neighbours are dropped, as in the authors' code. Of labels
    with equal votes that of the nearest neighbour wins; their code takes the first label. Raises EvaluationError unless
    `k` is from 1 to K.
    """
    return deciding_votes(votes, k, labels)[0]


def deciding_votes(votes: NDArray[np.int64], k: int, labels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels (m,) of `predict`, and how many of the nearest neighbours (m,) were left when they won."""
    if not 1 <= k <= votes.shape[1]:
        raise EvaluationError(f"k must be from 1 to {votes.shape[1]}, the neighbours there are, not {k}")
    predictions = np.full(len(votes), -1, np.int64)
    voters = np.count_nonzero(votes[:, :k] >= 0, axis=1)
    undecided = np.flatnonzero(voters > 0)
    while len(undecided):
        counts, best = _count(votes[undecided, :k], voters[undecided], labels)
        decided = (2 * counts >= voters[undecided]) | (voters[undecided] <= 2)
        predictions[undecided[decided]] = best[decided]
        undecided = undecided[~decided]
        voters[undecided] -= 2
    return predictions, voters


def _count(
    votes: NDArray[np.int64], voters: NDArray[np.int64], labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most votes (m,) of a label among the first `voters` (m,) of votes (m, k), and its label (m,)."""
    m, k = votes.shape
    voting = np.arange(k) < voters[:, None]
    totals = np.zeros((m, labels + 1), np.int64)
    np.add.at(totals, (np.repeat(np.arange(m), k), np.where(voting, votes, labels).ravel()), 1)
    own = np.where(voting, totals[np.arange(m)[:, None], votes], 0)
    nearest = own.argmax(axis=1)
    return own[np.arange(m), nearest], votes[np.arange(m), nearest]


def error_rate(votes: NDArray[np.int64], truth: NDArray[np.int64], k: int, labels: int) -> float:
    """Return the share of documents whose label in `truth` (m,) is not the predicted one.

    For `votes` (m, K), `k`, `labels` and the errors see `predict`.
    """
    return float(np.mean(predict(votes, k, labels) != truth))


def choose_k(votes: NDArray[np.int64], truth: NDArray[np.int64], labels: int, ks: Sequence[int] = KS) -> int:
    """Return the smallest k of `ks` with the least error on a validation set of `votes` (m, K) and `truth` (m,).

    `labels` is the number of labels; see `error_rate`. Raises EvaluationError if all `ks` are larger than K.
    """
    usable = [k for k in ks if k <= votes.shape[1]]
    if not usable:
        raise EvaluationError(f"there are only {votes.shape[1]} neighbours: fewer than any k to choose from")
    return min(usable, key=lambda k: error_rate(votes, truth, k, labels))


@dataclass(frozen=True, slots=True)
class KnnError:
    """The errors of several splits, and the k chosen for each."""

    errors: tuple[float, ...]
    ks: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Return the mean error."""
        return float(np.mean(self.errors))

    @property
    def deviation(self) -> float:
        """Return the sample standard deviation over the splits, 0 for a single split."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0
