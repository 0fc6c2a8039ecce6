import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.distance.best_first import Wanted, best_first
from moverank.rerank.errors import OutOfTime
from moverank.rerank.runtime.deadline import stopping


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 12), st.booleans())
def test_the_result_is_that_of_sorting_all_distances(seed: int, n: int, k: int, limited: bool) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 6, n).astype(float)  # with ties
    lower = distances * rng.uniform(0, 1, n)
    within = float(np.median(distances)) if limited else np.inf
    computed: list[int] = []

    def distance(row: int) -> float:
        computed.append(row)
        return float(distances[row])

    (rows, found), count = best_first(np.arange(n), lower, distance, Wanted(k, within=within))
    order = np.argsort(distances, kind="stable")[:k]
    inside = int(np.count_nonzero(distances[order] <= within))
    assert found[:inside].tolist() == distances[order][:inside].tolist()
    assert limited or found.tolist() == distances[order].tolist()
    assert distances[rows].tolist() == found.tolist()
    assert count == len(computed) == len(set(computed))


def test_only_rows_that_can_be_nearest_are_computed_and_ties_keep_their_order() -> None:
    distances, lower = [3.0, 1.0, 1.0, 9.0], np.array([0.5, 0.2, 0.3, 2.0])
    (rows, found), count = best_first(np.arange(4), lower, lambda row: distances[row], Wanted(2))
    assert (rows.tolist(), found.tolist(), count) == ([1, 2], [1.0, 1.0], 3)


def test_a_stopped_search_has_k_distances() -> None:
    distances, lower = [3.0, 2.0, 1.0], np.zeros(3)
    with stopping(lambda: True):
        (rows, _), count = best_first(np.arange(3), lower, lambda row: distances[row], Wanted(2, partial=True))
        with pytest.raises(OutOfTime):
            best_first(np.arange(3), lower, lambda row: distances[row], Wanted(2))
    assert (sorted(rows.tolist()), count) == ([0, 1], 2)


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("solved", [0, 1])
def test_a_search_without_time_for_a_problem_has_the_rows_before_if_there_are_any(solved: int, partial: bool) -> None:
    def distance(row: int) -> float:
        if row >= solved:
            raise OutOfTime
        return 1.0

    if solved and partial:
        assert best_first(np.arange(3), np.zeros(3), distance, Wanted(2, partial=True))[0][0].tolist() == [0]
        return
    with pytest.raises(OutOfTime):
        best_first(np.arange(3), np.zeros(3), distance, Wanted(2, partial=partial))
