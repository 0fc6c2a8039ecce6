"""Strictly falling scores of results, for hosts that sort by score."""

import numpy as np
from numpy.typing import NDArray

_WORDLESS = 1e-6
"""The scores of results without a known word are below this: the distance would have to be a million."""


def falling_scores(values: NDArray[np.float64], wordless: int) -> NDArray[np.float64]:
    """Return scores (n + w,) in (0, 1] of n results ranked by `values` (n,), increasing, and of `wordless` w others.

    The score of a value x, a distance or a total, is 1 / (1 + x). Of scores that are equal in float32, each later one
    is lowered by one float32 step: many hosts and trec_eval hold scores as float32, and break ties by other rules. The
    `wordless` results come last.
    """
    scores = strictly_falling(1.0 / (1.0 + values))
    top = min(_WORDLESS, float(np.float32(scores[-1]))) if len(scores) else _WORDLESS
    return np.concatenate([scores, top * np.arange(wordless, 0, -1) / (wordless + 1)])


def strictly_falling(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return decreasing `scores` (n,); a score that is not below the one before is lowered by a float32 step."""
    falling, before = scores.copy(), np.float32(np.inf)
    for i, score in enumerate(scores.astype(np.float32)):
        if score >= before:
            score = np.nextafter(before, np.float32(-np.inf))
            falling[i] = score
        before = score
    return falling
