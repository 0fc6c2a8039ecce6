"""Choosing a setting without looking at what it is judged by: the best on the other queries is tried on each."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


def folds(queries: int, count: int, seed: int = 0) -> NDArray[np.int64]:
    """Deal queries into `count` folds of nearly the same size, (queries,); 0 stands for a fold of its own for each."""
    if count == 0:
        count = queries
    if not 2 <= count <= queries:
        raise EvaluationError(f"{queries} queries can be dealt into 2 to {queries} folds, not {count}")
    dealt: NDArray[np.int64] = np.empty(queries, np.int64)
    dealt[np.random.default_rng(seed).permutation(queries)] = np.arange(queries) % count
    return dealt


def best_setting(figures: NDArray[np.float64]) -> int:
    """Return which of s settings has the highest mean of figures (s, q); of equal ones, to 12 decimals, the first."""
    return int(np.argmax(np.round(figures.mean(axis=1), 12)))


def chosen_settings(figures: NDArray[np.float64], fold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each query (q,) the setting whose mean over the queries of all other folds is the highest.

    `figures` (s, q) are those of s settings; see `best_setting`.
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
