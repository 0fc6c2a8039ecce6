"""The scores that another engine gave to its candidates."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.search.query import Prior
from moverank.indexer.values.arguments import items
from moverank.indexer.values.queries import Scores


def engine_scores(scores: Scores | None, keys: Sequence[str], ids: NDArray[np.int64]) -> Prior | None:
    """Return the scores by document id; `keys` and `ids` (n,) belong to the candidates, id 0 to no document.

    Raises UsageError unless there is a number, None or nan for each candidate.
    """
    if scores is None:
        return None
    values = [scores.get(key) for key in keys] if isinstance(scores, Mapping) else list(items("scores", scores))
    if len(values) != len(keys):
        raise UsageError(f"give a score for each of the {len(keys)} candidates, not {len(values)}")
    return numbers_of(values, ids, "the scores of the engine")


def numbers_of(values: Sequence[Any], ids: NDArray[np.int64], name: str) -> Prior:
    """Return the numbers among `values` (n,) by id, and of several numbers of one id the largest.

    None and nan are left out; other values raise UsageError, which calls them `name`.
    """
    try:
        numbers = np.array([nan if value is None else float(value) for value in values])
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name} must be numbers: {error}") from error
    if np.isinf(numbers).any():
        raise UsageError(f"{name} must be finite numbers")
    rows = np.flatnonzero(~np.isnan(numbers) & (ids > 0))
    order = rows[np.lexsort((-numbers[rows], ids[rows]))]
    distinct, first = np.unique(ids[order], return_index=True)
    return Prior(distinct, numbers[order][first])
