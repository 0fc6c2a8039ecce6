"""Several labels for one document, by its neighbours: leave-one-out, macro F1 (Trapp et al. 2017, section 5.2)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


def predict_labels(labels: NDArray[np.bool_], places: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Return for each document (n, l) the labels that at least half of its k nearest others have.

    `labels` (n, l) says which a document has, `places` (n, K >= k) are its nearest others, -1 where there is none.
    """
    if not 1 <= k <= places.shape[1]:
        raise EvaluationError(f"k must be from 1 to {places.shape[1]}, the neighbours there are, not {k}")
    near = places[:, :k]
    there = near >= 0
    votes = np.einsum("nk,nkl->nl", there.astype(np.int64), labels[near].astype(np.int64))
    majority: NDArray[np.bool_] = (2 * votes >= there.sum(axis=1)[:, None]) & (votes > 0)
    return majority


def macro_f1(truth: NDArray[np.bool_], answers: NDArray[np.bool_]) -> float:
    """Return the mean over labels of F1 = 2 tp / (2 tp + fp + fn); 0 for a label that was neither there nor found.

    Of shape (n, l) both: scikit-learn's f1_score with average="macro" and zero_division=0.
    """
    if truth.shape != answers.shape or truth.ndim != 2 or not truth.shape[1]:
        raise EvaluationError(f"truth and answers must be of one shape (n, l), not {truth.shape} and {answers.shape}")
    found = (truth & answers).sum(axis=0)
    wanted = truth.sum(axis=0) + answers.sum(axis=0)
    return float(np.mean(np.where(wanted > 0, 2 * found / np.maximum(wanted, 1), 0.0)))


def improvement(figure: float, baseline: float) -> float:
    """Return F1 / F1 of the baseline - 1; EvaluationError where the baseline is 0."""
    if baseline <= 0:
        raise EvaluationError("the baseline's figure is 0: nothing is so many times better than that")
    return figure / baseline - 1
