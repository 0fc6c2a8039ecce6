"""The certificate against brute force: documents hide behind bounds, and are compared with the list all the same."""

import math
from typing import NamedTuple

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.indexer.search.by_distance import certificate

_VALUES = st.integers(0, 12).map(lambda value: value / 4)  # of few different ones, so that many are equal


class _Hidden(NamedTuple):
    """A document that was not solved: its value, and how far below it the bound is."""

    value: float
    slack: float


_HIDDEN = st.lists(st.builds(_Hidden, _VALUES, st.sampled_from([0.0, 0.25, 1.0])), max_size=6)


@given(
    solved=st.lists(_VALUES, max_size=8),
    unsolved=_HIDDEN,
    uncompared=_HIDDEN,
    known=st.booleans(),
    k=st.integers(1, 6),
    within=st.just(math.inf) | _VALUES,
)
@example([], [], [_Hidden(1.0, 0.0)], False, 1, math.inf)
@example([0.5], [_Hidden(1.0, 0.0)], [], True, 2, 1.0)
@example([0.5], [], [_Hidden(1.0, 0.0)], True, 2, 1.0)
def test_proven_lists_are_the_best_and_errors_bound_the_truth(
    solved: list[float], unsolved: list[_Hidden], uncompared: list[_Hidden], known: bool, k: int, within: float
) -> None:
    hits = sorted(value for value in solved if value <= within)[:k]
    bounds = np.array([max(0.0, one.value - one.slack) for one in unsolved], float)
    floor = min([max(0.0, one.value - one.slack) for one in uncompared], default=math.inf)
    if uncompared and not known:
        floor = -math.inf
    proven, error = certificate(np.array(hits, float), bounds, floor, k, within)
    hidden = [one.value for one in (*unsolved, *uncompared)]
    best = sorted(value for value in (*solved, *hidden) if value <= within)[:k]
    if proven:
        assert error == 0
        assert hits == best
    assert error >= 0
    if not hidden:
        assert proven
    if floor > -math.inf and hits:
        assert hits[-1] - best[len(hits) - 1] <= error
    if floor > -math.inf and len(hits) < k and within < math.inf:
        assert all(within - value <= error for value in hidden)


def test_a_document_at_the_limit_may_be_missing() -> None:
    one = np.array([0.5])
    assert not certificate(one, np.empty(0), 1.0, 2, 1.0).proven
    assert not certificate(one, np.array([1.0]), math.inf, 2, 1.0).proven
    assert certificate(one, np.array([1.1]), 1.1, 2, 1.0).proven
    assert certificate(one, np.array([0.5]), 0.5, 1, 1.0).proven
