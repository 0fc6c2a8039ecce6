import numpy as np
import pytest
from hypothesis import given

from moverank.rerank.distance.explain import Stage, WhyNot, bounds_of
from tests import naive
from tests.rerank.problems import Problem, problems

BOUNDS = {"wcd": 0.1, "rwmd": 0.4, "dual": 0.5, "sinkhorn": 0.6}


@given(problems())
def test_no_lower_bound_is_above_the_distance(problem: Problem) -> None:
    query = problem.query
    for bag in problem.bags:
        bounds = bounds_of(query, bag, problem.vectors)
        whole = naive.wmd(query.bag, query.vectors, bag, problem.vectors)
        assert list(bounds) == ["wcd", "rwmd_document", "rwmd_query", "rwmd", "dual", "sinkhorn"]
        assert all(bound <= whole + problem.rounding for bound in bounds.values())
        sides = naive.rwmd_sides(query.bag, query.vectors, bag, problem.vectors)
        largest = float(np.abs(problem.vectors).max()) + float(np.abs(query.vectors).max())
        assert bounds["rwmd"] == pytest.approx(max(sides), rel=1e-3, abs=0.02 * largest)


@pytest.mark.parametrize(
    ("kth", "candidate", "hit", "stage"),
    [
        (0.3, True, False, "rwmd"),
        (0.4, True, False, "dual"),
        (0.45, True, False, "dual"),
        (0.55, True, False, "sinkhorn"),
        (0.65, True, False, "solved"),
        (0.3, False, False, "first stage"),
        (0.9, True, True, "hit"),
        (float("inf"), True, True, "hit"),
    ],
)
def test_the_stage_is_the_first_bound_above_the_last_hit(kth: float, candidate: bool, hit: bool, stage: Stage) -> None:
    assert WhyNot.of(3, kth, 0.7, BOUNDS, candidate=candidate, hit=hit).stage == stage
