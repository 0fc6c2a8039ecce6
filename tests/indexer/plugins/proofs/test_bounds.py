"""The verifier's bounds hold in a precision that float64 does not have, and the prover's numbers make them tight."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.plugins.proofs.exclusion import Exclusion, solved
from moverank.indexer.plugins.proofs.verify import Proof, dual_values, lower_bounds, lower_costs, upper_bound
from moverank.indexer.values.search_options import silent
from tests import naive
from tests.rerank.problems import Problem, problems

_DIGITS = 10**30


def _proof(problem: Problem) -> Proof:
    """Return the documents and the query as a proof has them, without texts."""
    query, bags = problem.query, problem.packed
    v = len(problem.vectors)
    shared = query.bag.words < v
    vectors = np.concatenate([problem.vectors, query.vectors[~shared]])
    words = np.where(shared, query.bag.words, v + np.cumsum(~shared) - 1).astype(np.int32)
    return Proof(
        n=len(bags),
        w=v,
        d=vectors.shape[1],
        h=len(words),
        vectors=vectors,
        bag_starts=bags.starts,
        bag_words=bags.words,
        bag_weights=bags.weights,
        query_words=words,
        query_weights=query.bag.weights,
    )


def _largest(p: Proof) -> float:
    """Return the length of the longest vector: the unit of the tolerance, so that it is not 0."""
    largest = float(np.linalg.norm(p.vectors.astype(np.float64), axis=1).max())
    assume(largest > 0)
    return largest


def _exact_cost(one: NDArray[np.float32], other: NDArray[np.float32]) -> tuple[Fraction, Fraction]:
    """Return rational numbers just below and above the distance of two vectors, by whole numbers."""
    square = sum((Fraction(float(x)) - Fraction(float(y))) ** 2 for x, y in zip(one, other, strict=True))
    root = math.isqrt(square.numerator * square.denominator * _DIGITS**2)
    return Fraction(root, square.denominator * _DIGITS), Fraction(root + 1, square.denominator * _DIGITS)


def _shares(weights: NDArray[np.float64]) -> list[Fraction]:
    exact = [Fraction(weight) for weight in weights.tolist()]
    return [weight / sum(exact) for weight in exact]


@given(problems(), st.integers(0, 2**32), st.sampled_from([0.0, 1e-9, 1.0, 1e6]))
def test_lower_bounds_are_below_the_exact_dual_value(problem: Problem, seed: int, scale: float) -> None:
    p = _proof(problem)
    largest = _largest(p)
    u = np.random.default_rng(seed).standard_normal(p.h) * scale * largest
    exact = [[_exact_cost(p.vectors[word], p.vectors[own]) for own in p.query_words] for word in range(p.w)]
    lower = lower_costs(p, np.arange(p.w))
    assert all(Fraction(lower[i, j]) <= exact[i][j][1] for i in range(p.w) for j in range(p.h))
    near = [[float(cost[1]) for cost in row] for row in exact]
    np.testing.assert_allclose(lower, near, rtol=1e-9, atol=2e-30)
    of_words = [min(cost[1] - Fraction(x) for cost, x in zip(row, u.tolist(), strict=True)) for row in exact]
    of_query = sum(q * Fraction(x) for q, x in zip(_shares(p.query_weights), u.tolist(), strict=True))
    found = lower_bounds(p, u, np.arange(p.n))
    for row, bound in enumerate(found.tolist()):
        own = slice(*p.bag_starts[row : row + 2])
        of_bag = sum(d * of_words[word] for d, word in zip(_shares(p.bag_weights[own]), p.bag_words[own], strict=True))
        assert Fraction(bound) <= of_query + of_bag
        assert bound == pytest.approx(float(of_query + of_bag), abs=1e-11 * (largest + np.abs(u).max()) + 2e-30)


@given(problems())
def test_a_solved_document_is_bounded_from_both_sides(problem: Problem) -> None:
    p = _proof(problem)
    largest = _largest(p)
    for row, bag in enumerate(problem.bags):
        u, (mass, source, target) = solved(p, row)
        moves = {"plan_mass": mass, "plan_query": source, "plan_document": target}
        hit = Proof(**vars(p) | moves, m=1, hits=np.array([row]), plan_starts=np.array([0, len(mass)]))
        lower, upper = float(lower_bounds(p, u, np.array([row]))[0]), upper_bound(hit, 0)
        expected = naive.wmd(problem.query.bag, problem.query.vectors, bag, problem.vectors)
        assert lower <= upper <= lower + 1e-9 * largest
        assert lower - problem.rounding <= expected * (1 + 1e-12) + 1e-9 * largest
        assert upper + problem.rounding >= expected * (1 - 1e-12) - 1e-9 * largest
        assert mass.sum() == pytest.approx(1, rel=1e-9)


@pytest.mark.slow
@given(problems(), st.floats(0, 0.99))
def test_all_documents_beyond_a_limit_are_excluded(problem: Problem, share: float) -> None:
    p = _proof(problem)
    largest = _largest(p)
    distances = np.array(
        [naive.wmd(problem.query.bag, problem.query.vectors, bag, problem.vectors) for bag in problem.bags]
    )
    limit = share * float(distances.max()) - 1e-9 * largest
    rows = np.flatnonzero(distances >= limit + 1e-9 * largest)
    exclusion = Exclusion(p, silent)
    exclusion.exclude(rows, limit)
    for row in rows.tolist():
        u = exclusion.potentials[exclusion.potential_of[row]]
        assert lower_bounds(p, u, np.array([row]))[0] >= limit


@given(problems())
def test_dual_values_of_many_documents_are_those_of_each(problem: Problem) -> None:
    p = _proof(problem)
    u, v = np.linspace(-1, 1, p.h), np.linspace(1, -1, p.w)
    every = dual_values(p, u, v, np.arange(p.n))
    assert every.tolist() == [float(dual_values(p, u, v, np.array([row]))[0]) for row in range(p.n)]
