"""Multi-label classification by neighbours: leave-one-out, macro F1 (Trapp et al. 2017, section 5.2)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


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
