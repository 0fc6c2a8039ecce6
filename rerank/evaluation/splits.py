"""Splits of documents into a training set and a test set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

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
    """Return the split by the `marks` of the documents; those marked None are in neither set.

    Raises EvaluationError for any other mark than "train", "training", "test" and "testing"; case is ignored.
    """
    unknown = sorted({mark for mark in marks if mark is not None and mark.lower() not in _MARKS})
    if unknown:
        raise EvaluationError(f"a document's split must be train or test, not {unknown[0]!r}")
    sides = [None if mark is None else _MARKS[mark.lower()] for mark in marks]
    rows = {side: [row for row, own in enumerate(sides) if own is side] for side in (True, False)}
    return Split(np.array(rows[True], np.int64), np.array(rows[False], np.int64))
