"""Cross-validated choice of a setting: each query gets the setting that is best on the other folds."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


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
    """Return the setting with the highest mean of `figures` (s, q); the first one of those equal to 12 decimals."""
    return int(np.argmax(np.round(figures.mean(axis=1), 12)))


def chosen_settings(figures: NDArray[np.float64], fold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each query (q,) the setting whose mean over the queries of all other folds is the highest.

    `figures` (s, q) are those of s settings, and `fold` (q,) are the folds of the queries; see `best_setting`. Raises
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
