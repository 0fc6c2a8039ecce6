"""Which documents are learnt from and which are tried: the splits of an experiment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

TRAIN_SHARE, FIT_SHARE, TIMES = 0.7, 0.8, 5
"""Kusner et al. 2015, section 5: 70/30 five times, and 80/20 of the training part to choose k."""

_MARKS = {"train": True, "training": True, "test": False, "testing": False}


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows of documents to learn from and to be tried, increasing, int64."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not (len(self.train) and len(self.test)):
            raise EvaluationError("a split needs documents on both sides: there are too few")

    def halved(self, share: float = FIT_SHARE, seed: int = 0) -> "Split":
        """Split the training part again, to choose a setting on the smaller side."""
        inner = drawn(len(self.train), share, seed)
        return Split(self.train[inner.train], self.train[inner.test])


def drawn(n: int, share: float, seed: int) -> Split:
    """Draw a share of n documents to learn from; the same seed draws the same."""
    if not 0 < share < 1:
        raise EvaluationError(f"the share to learn from must be between 0 and 1, not {share}")
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    cut = round(n * share)
    return Split(np.sort(order[:cut]), np.sort(order[cut:]))


def random_splits(n: int, share: float = TRAIN_SHARE, times: int = TIMES, seed: int = 0) -> list[Split]:
    """Draw several splits of n documents, each by a seed of its own."""
    return [drawn(n, share, seed + turn) for turn in range(times)]


def predefined(marks: Sequence[str | None]) -> Split:
    """Return the split that the documents themselves name; those that name neither side take no part.

    Raises EvaluationError for a name that is neither "train" nor "test".
    """
    unknown = sorted({mark for mark in marks if mark is not None and mark.lower() not in _MARKS})
    if unknown:
        raise EvaluationError(f"a document's split must be train or test, not {unknown[0]!r}")
    sides = [None if mark is None else _MARKS[mark.lower()] for mark in marks]
    rows = {side: [row for row, own in enumerate(sides) if own is side] for side in (True, False)}
    return Split(np.array(rows[True], np.int64), np.array(rows[False], np.int64))
