"""Compiled kernels agree with their Python source, on problems that are hard for floating point."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from moverank.rerank.distance import bounds
from moverank.rerank.distance.cascade import QUANTISED_BYTES
from moverank.rerank.distance.ground_cost import cost_floor, exact_cost, vector_norms
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.kernels import arcs, costs, duals, sinkhorn, sums
from moverank.rerank.kernels.compiled import MINIMA
from moverank.rerank.kernels.costs import smaller
from moverank.rerank.runtime.thread_pool import single_threaded
from tests.rerank.problems import Problem, problems, rwmd

Result = list[NDArray[np.float64]]
_KERNELS = (arcs, sums, costs, duals, costs, sinkhorn)


def _quantised(problem: Problem) -> QuantisedCost:
    return QuantisedCost.of(problem.query, problem.vectors, vector_norms(problem.vectors), QUANTISED_BYTES)


def _all_bounds(problem: Problem, quantised: QuantisedCost) -> Result:
    bound_problem = bounds.Problem.of(problem.query, problem.packed, problem.vectors)
    rows = np.arange(len(problem.bags))
    sides = rwmd(bound_problem.bags, bound_problem.cost, bound_problem.query)
    floor = cost_floor(problem.vectors, problem.query.vectors).astype(np.float64)
    dual = bounds.one_pass_dual(bound_problem, rows, threshold=float(np.median(sides)))
    quantised_duals = [
        bounds.quantised_dual(quantised, bound_problem.query, bound_problem.bags, rows, threshold)
        for threshold in (-np.inf, np.inf)
    ]
    exact = exact_cost(problem.vectors, problem.query.vectors)
    lower_and_upper = bounds.sinkhorn(bound_problem, rows)
    arc_results = [indices.astype(np.float64) for indices in (*_promising(exact), *_missing(exact))]
    every_arc = tuple(np.indices(exact.shape).reshape(2, -1))
    by_arc = costs.exact_arcs(problem.vectors, problem.query.vectors, *every_arc).reshape(exact.shape)
    full_dual = bounds.one_pass_dual(bound_problem, rows)
    lengths = bounds.centroid_lengths(problem.packed, problem.vectors)
    expected = np.linalg.norm(centroids(problem.packed, problem.vectors), axis=1)
    np.testing.assert_allclose(lengths, expected, rtol=1e-4, atol=1e-6 * float(np.abs(problem.vectors).max()))
    return [
        floor,
        sides,
        lengths,
        dual,
        full_dual,
        *quantised_duals,
        exact,
        *lower_and_upper,
        *arc_results,
        by_arc - exact,
    ]


def _promising(cost: NDArray[np.float64]) -> Result:
    left, right = (np.full(size, 1 / size) for size in cost.shape)
    return list(arcs.promising_arcs(cost, cost.min(axis=1), np.zeros(cost.shape[1]), left, right, 2))


def _missing(cost: NDArray[np.float64]) -> Result:
    return list(arcs.missing_arcs(cost, np.full(len(cost), np.median(cost)), np.zeros(cost.shape[1]), 1e-12))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Return a function that runs another one uncompiled, in one thread, because `errstate` applies to one."""

    def run(compute: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch, np.errstate(all="ignore"), single_threaded():
            for module in _KERNELS:
                for name, compiled in list(vars(module).items()):
                    if hasattr(compiled, "py_func"):
                        patch.setattr(module, name, compiled.py_func)
            return compute()

    return run


@given(problems())
def test_compiled_and_interpreted_bounds_agree(
    interpreted: Callable[[Callable[[], Any]], Any], problem: Problem
) -> None:
    largest = 1 + float(np.abs(problem.vectors).max()) + float(np.abs(problem.query.vectors).max())
    close: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5 * largest}
    quantised, plainly = _quantised(problem), interpreted(lambda: _quantised(problem))
    for compiled, plain in zip(
        _all_bounds(problem, quantised), interpreted(lambda: _all_bounds(problem, quantised)), strict=True
    ):
        np.testing.assert_allclose(compiled, plain, **close)
    np.testing.assert_allclose(quantised.base, plainly.base, **close)
    np.testing.assert_allclose(quantised.nearest, plainly.nearest, **close)
    # An excess over the least cost that is a whole number of steps may be rounded down to the one before.
    assert np.abs(quantised.above.astype(int) - plainly.above).max(initial=0) <= 1


@njit(fastmath=MINIMA)
def _least(row):  # type: ignore[no-untyped-def]
    least = np.float32(np.inf)
    for x in row:
        least = smaller(least, x)
    return least


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=70))
def test_smaller_is_the_minimum(row: list[float]) -> None:
    assert _least(np.array(row, np.float32)) == min([*row, np.inf])
