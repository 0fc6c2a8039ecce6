"""A certified sum returns the same as brute force through POT, whatever its weights."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moverank import BagError
from moverank.rerank.distance import cascade, word_blocks
from moverank.rerank.distance.mutual_proximity import KINDS, ProximityKind, mutual_proximity
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.weighted_sum import Sides, WeightedSum, plain
from moverank.rerank.ranking import DISTANCES, Distance, largest_error
from moverank.rerank.runtime.deadline import stopping
from tests import naive
from tests.rerank.problems import Problem, check_counts, many_bags, problems
from tests.samples import examples

pytestmark = pytest.mark.usefixtures("few_documents")


def _random_sum(rng: np.random.Generator, n: int, kind: str, scale: float) -> WeightedSum:
    """Return a sum of `n` documents: with or without WMD and sides, offsets as large as a distance, and ties."""
    transport = rng.uniform(0.2, 2, n) if kind != "sides" else np.zeros(n)
    used = rng.integers(0, 2, 3) if kind != "offset" else np.zeros(3)
    document, query, rwmd = (weight * rng.uniform(0, 1, n) for weight in used)
    return WeightedSum(transport, document, query, rwmd, scale * rng.integers(0, 4, n) / 4)


def _with_proximity(problem: Problem, total: WeightedSum, kind: ProximityKind, rng: np.random.Generator) -> WeightedSum:
    """Replace WMD by 1 - MP; the distances from the sample are near those of the problem, and some do not count."""
    query = problem.query
    typical = max(naive.wmd(query.bag, query.vectors, problem.bags[0], problem.vectors), 1e-9)
    own, documents = (typical * rng.uniform(0.2, 2, shape) for shape in (7, (len(problem.bags), 7)))
    own[0] = documents[0, 1] = np.nan
    return replace(total, proximity=mutual_proximity(kind, own, documents))


def _brute_force(problem: Problem, total: WeightedSum) -> list[float]:
    query, values = problem.query, []
    for row, bag in enumerate(problem.bags):
        query_side, document_side = naive.rwmd_sides(query.bag, query.vectors, bag, problem.vectors)
        moved = naive.wmd(query.bag, query.vectors, bag, problem.vectors)
        if total.proximity:  # whose own formula is compared in test_mutual_proximity
            moved = float(total.proximity.costs(np.array([row]), np.array([moved]))[0])
        values.append(
            total.transport[row] * moved
            + total.document_side[row] * document_side
            + total.query_side[row] * query_side
            + total.rwmd[row] * max(document_side, query_side)
            + total.offset[row]
        )
    return values


def _check(problem: Problem, total: WeightedSum, k: int, rounding: float = 0.0) -> None:
    found = nearest(problem.query, problem.packed, problem.vectors, k, total=total)
    expected = _brute_force(problem, total)
    tolerance = rounding + 10 * problem.rounding + 1e-12 * (1 + float(total.offset.max()))
    np.testing.assert_allclose(found.distances, sorted(expected)[:k], rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(np.array(expected)[found.rows], found.distances, rtol=1e-9, atol=tolerance)
    assert len(set(found.rows.tolist())) == min(k, len(problem.bags))
    assert not len(found.unsolved_bounds)
    check_counts(found.counts, len(problem.bags), transport=total.has_transport)


@given(problems(), st.integers(1, 15), st.sampled_from(["all", "sides", "offset"]), st.integers(0, 2**32))
def test_a_certified_sum_is_brute_force(problem: Problem, k: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = float(np.linalg.norm(problem.vectors, axis=1).max())
    _check(problem, _random_sum(rng, len(problem.bags), kind, scale), k)


@given(problems(), st.integers(1, 15), st.sampled_from(KINDS), st.booleans(), st.integers(0, 2**32))
def test_certified_mutual_proximity_is_brute_force(
    problem: Problem, k: int, kind: ProximityKind, alone: bool, seed: int
) -> None:
    # Distances of almost no mass have no digits left, and the distribution functions are as steep as these are close.
    assume(min(bag.weights.min() for bag in (problem.query.bag, *problem.bags)) > 1e-9)
    rng, n = np.random.default_rng(seed), len(problem.bags)
    total = plain("wmd", n) if alone else _random_sum(rng, n, "all", 1.0)
    rounding = 1e-6 if problem.rounding else 0.0  # the distribution functions are steep where distances hardly differ
    _check(problem, _with_proximity(problem, total, kind, rng), k, rounding)


@examples(0.5)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["normal", "lattice", "zeros"]),
    st.sampled_from([1, 5, 119, 500]),
    st.sampled_from(["all", "sides", "offset"]),
    st.sampled_from([None, 30, 4]),
)
def test_a_certified_sum_of_many_documents_is_brute_force(
    seed: int, vectors: str, k: int, kind: str, words: int | None
) -> None:
    problem = many_bags(seed, vectors)
    with pytest.MonkeyPatch.context() as patch:
        if words:
            patch.setattr(cascade, "QUANTISED_BYTES", 64 * 30)
            patch.setattr(word_blocks, "MATRIX_BYTES", 4 * len(problem.query.bag) * words)
        _check(problem, _random_sum(np.random.default_rng(seed), len(problem.bags), kind, 2.0), k)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5, 40])
def test_mutual_proximity_of_many_documents_is_brute_force_and_prunes(kind: ProximityKind, k: int) -> None:
    problem, rng = many_bags(11, "normal"), np.random.default_rng(11)
    total = _with_proximity(problem, plain("pwmd", len(problem.bags)), kind, rng)
    _check(problem, total, k)
    assert nearest(problem.query, problem.packed, problem.vectors, k, total=total).counts.solved < len(problem.bags)


def test_components_are_those_of_the_hits() -> None:
    problem = many_bags(3, "normal")
    n = len(problem.bags)
    total = plain("wmd", n).plus("cover", np.full(n, 0.5), np.linspace(0, 1, n))
    found = nearest(problem.query, problem.packed, problem.vectors, 7, total=total)
    for row, components in zip(found.rows.tolist(), found.components.tolist(), strict=True):
        bag, query = problem.bags[row], problem.query
        query_side, document_side = naive.rwmd_sides(query.bag, query.vectors, bag, problem.vectors)
        exact = naive.wmd(query.bag, query.vectors, bag, problem.vectors)
        assert components == pytest.approx([exact, document_side, query_side], rel=1e-9)


def test_offsets_prune_documents_before_their_problems_are_solved() -> None:
    problem = many_bags(4, "normal", n=2000)
    rows = np.arange(2000)
    total = plain("wmd", 2000).plus("cover", np.zeros(2000), np.where(rows % 100 == 0, 0.0, 100.0))
    counts = nearest(problem.query, problem.packed, problem.vectors, 10, total=total).counts
    assert counts.rwmd >= 1980 - 16 - 10  # some are solved before the limit is known
    assert counts.solved <= 30


def test_the_error_of_a_search_that_is_stopped_is_bounded() -> None:
    problem = many_bags(5, "normal", n=300)
    total = _random_sum(np.random.default_rng(1), 300, "all", 1.0)
    with stopping(lambda: True):
        found = nearest(problem.query, problem.packed, problem.vectors, 5, total=total, partial=True)
    kth = sorted(_brute_force(problem, total))[4]
    error = largest_error(found.distances, found.unsolved_bounds, 5)
    assert found.distances[-1] - kth <= error + 1e-9


def test_bounds_of_the_parts_bound_the_total() -> None:
    transport, document, query, rwmd, offset = (np.array([weight]) for weight in (0.3, 0.1, 0.7, 0.2, 1e9))
    total = WeightedSum(transport, document, query, rwmd, offset)
    row, low = np.zeros(1, np.int64), Sides(np.array([0.1]), np.array([0.1]))
    high = Sides(*(np.nextafter(side, 1) for side in low))
    assert total.total(row, np.array([0.1]), low) <= total.total(row, np.array([0.1]), high)


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan])
def test_weights_below_0_are_refused(weight: float) -> None:
    with pytest.raises(BagError, match="finite numbers of 0 or more"):
        WeightedSum.zeros(2).plus("wmd", np.full(2, weight), np.zeros(2))


def test_wcd_is_no_part_of_a_sum() -> None:
    with pytest.raises(BagError, match="wcd is no part"):
        plain("wcd", 3)


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "wcd"])
def test_a_sum_of_one_distance_is_that_distance(distance: Distance) -> None:
    problem = many_bags(6, "normal")
    one = nearest(problem.query, problem.packed, problem.vectors, 9, distance)
    same = nearest(problem.query, problem.packed, problem.vectors, 9, total=plain(distance, 120))
    assert one.rows.tolist() == same.rows.tolist()
    np.testing.assert_array_equal(one.distances, same.distances)
