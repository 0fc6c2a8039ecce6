"""Classification by the nearest neighbours, as in Kusner et al. 2015, section 5.2.

Also multi-label classification by leave-one-out and macro F1 (Trapp et al. 2017, section 5.2), splits of documents, and
the cross-validated choice of a setting: each query gets the setting that is best on the other folds.
"""

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
    the votes wins. While there is none, the two farthest neighbours are dropped, as in the authors' code. Among labels
    with equal votes, the label of the nearest neighbour wins; the authors' code takes the first label. Raises
    EvaluationError unless `k` is from 1 to K.
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
    """Return the share of documents whose label in `truth` (m,) differs from the prediction.

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


def predict_labels(labels: NDArray[np.bool_], neighbours: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Return for each document the labels (n, l) that at least half of its `k` nearest neighbours have.

    `labels` (n, l) are the labels of the documents; `neighbours` (n, K) are the nearest other documents, -1 where there
    is none. Raises EvaluationError unless `k` is from 1 to K.
    """
    if not 1 <= k <= neighbours.shape[1]:
        raise EvaluationError(f"k must be from 1 to {neighbours.shape[1]}, the neighbours there are, not {k}")
    nearest = neighbours[:, :k]
    present = nearest >= 0
    votes = np.einsum("nk,nkl->nl", present.astype(np.int64), labels[nearest].astype(np.int64))
    majority: NDArray[np.bool_] = (2 * votes >= present.sum(axis=1)[:, None]) & (votes > 0)
    return majority


def macro_f1(truth: NDArray[np.bool_], predictions: NDArray[np.bool_]) -> float:
    """Return the mean over labels of F1 = 2 tp / (2 tp + fp + fn), 0 for a label that neither side contains.

    `truth` and `predictions` are (n, l). scikit-learn's f1_score with average="macro" and zero_division=0 returns the
    same. Raises EvaluationError if the shapes differ.
    """
    if truth.shape != predictions.shape or truth.ndim != 2 or not truth.shape[1]:
        raise EvaluationError(
            f"truth and predictions must be of one shape (n, l), not {truth.shape} and {predictions.shape}"
        )
    correct = (truth & predictions).sum(axis=0)
    total = truth.sum(axis=0) + predictions.sum(axis=0)
    return float(np.mean(np.where(total > 0, 2 * correct / np.maximum(total, 1), 0.0)))


def improvement(figure: float, baseline: float) -> float:
    """Return `figure` / `baseline` - 1. Raises EvaluationError for a baseline of 0 or less."""
    if baseline <= 0:
        raise EvaluationError("the baseline's figure is 0: an improvement relative to it is undefined")
    return figure / baseline - 1


def folds(queries: int, count: int, seed: int = 0) -> NDArray[np.int64]:
    """Return the fold (q,) of each of q = `queries` queries: `count` folds of nearly equal size, drawn by `seed`.

    With a `count` of 0 each query is a fold. Raises EvaluationError for any other `count` that is not from 2 to q.
    """
    if count == 0:
        count = queries
    if not 2 <= count <= queries:
        raise EvaluationError(f"{queries} queries can be divided into 2 to {queries} folds, not {count}")
    fold: NDArray[np.int64] = np.empty(queries, np.int64)
    fold[np.random.default_rng(seed).permutation(queries)] = np.arange(queries) % count
    return fold


def best_setting(figures: NDArray[np.float64]) -> int:
    """Return the setting with the highest mean of `figures` (s, q); of means equal to 12 decimals, the first."""
    return int(np.argmax(np.round(figures.mean(axis=1), 12)))


def cross_validated_settings(figures: NDArray[np.float64], fold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each query (q,) the setting whose mean over the queries of all other folds is the highest.

    `figures` (s, q) belong to s settings, and `fold` (q,) are the folds of the queries; see `best_setting`. Raises
    EvaluationError if the shapes do not match, or if there is only one fold.
    """
    if figures.ndim != 2 or fold.shape != figures.shape[1:] or not figures.size:
        raise EvaluationError(f"figures (s, q) need a fold for each query, not {figures.shape} and {fold.shape}")
    choice = np.empty(len(fold), np.int64)
    for own in np.unique(fold):
        others = figures[:, fold != own]
        if not others.shape[1]:
            raise EvaluationError("all queries are in one fold: there are no others to choose by")
        choice[fold == own] = best_setting(others)
    return choice


TRAIN_SHARE, FIT_SHARE, TIMES = 0.7, 0.8, 5
"""Kusner et al. 2015, section 5: 70/30 splits, five times, and an 80/20 split of the training part to choose k."""

_MARKS = {"train": True, "training": True, "test": False, "testing": False}


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The rows of the training and of the test set, increasing, int64. Raises EvaluationError for an empty set."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not (len(self.train) and len(self.test)):
            raise EvaluationError("a split needs a document to train on and one to test: there are too few")

    def validation_split(self, share: float = FIT_SHARE, seed: int = 0) -> "Split":
        """Split the training set again: a `share` to fit a setting, drawn by `seed`, and the rest to validate it."""
        inner = draw_split(len(self.train), share, seed)
        return Split(self.train[inner.train], self.train[inner.test])


def draw_split(n: int, share: float, seed: int) -> Split:
    """Draw a training set, a `share` of `n` documents, by `seed`; the rest is the test set.

    Raises EvaluationError unless the share is between 0 and 1 and both sets have a document.
    """
    if not 0 < share < 1:
        raise EvaluationError(f"the share to train on must be between 0 and 1, not {share}")
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    cut = round(n * share)
    return Split(np.sort(order[:cut]), np.sort(order[cut:]))


def random_splits(n: int, share: float = TRAIN_SHARE, times: int = TIMES, seed: int = 0) -> list[Split]:
    """Draw `times` splits of `n` documents with training sets of a `share`, by the seeds `seed`, `seed` + 1, ..."""
    return [draw_split(n, share, seed + turn) for turn in range(times)]


def predefined_split(marks: Sequence[str | None]) -> Split:
    """Return the split by the `marks` of the documents; a document marked None is in neither set.

    Raises EvaluationError for any other mark than "train", "training", "test" and "testing"; case is ignored.
    """
    unknown = sorted({mark for mark in marks if mark is not None and mark.lower() not in _MARKS})
    if unknown:
        raise EvaluationError(f"a document's split must be train or test, not {unknown[0]!r}")
    sides = [None if mark is None else _MARKS[mark.lower()] for mark in marks]
    rows = {side: [row for row, own in enumerate(sides) if own is side] for side in (True, False)}
    return Split(np.array(rows[True], np.int64), np.array(rows[False], np.int64))
