"""The nearest pairs are those of brute force through POT."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import near_pairs
from moverank.rerank.distance.near_pairs import Limit, NearPairs
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.ranking import Nearest
from tests import naive
from tests.rerank.problems import make_bag, make_vectors
from tests.samples import examples


def _input(seed: int, n: int, kind: str) -> tuple[Bags, np.ndarray, dict[tuple[int, int], float]]:
    """Return bags, of which some are equal, their word vectors, and the distances of all pairs."""
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, 30, 6, kind, 1.0)
    bags = [make_bag(rng, 30, "normal", 8) for _ in range(n)]
    bags[n // 2 :: 5] = bags[0 : len(bags[n // 2 :: 5])]
    distances = {
        (i, j): naive.wmd(bags[i], vectors[bags[i].words], bags[j], vectors) for j in range(n) for i in range(j)
    }
    return Bags.of(bags), vectors, distances


def _found(search: NearPairs, first: int, limit: Limit) -> dict[tuple[int, int], float]:
    return {
        (each.row, other): distance
        for each in search.run(first, limit)
        for other, distance in zip(each.others.tolist(), each.distances.tolist(), strict=True)
    }


@examples(0.5)
@given(st.integers(0, 2**32), st.sampled_from(["normal", "lattice", "zeros"]), st.floats(0, 1), st.booleans())
def test_all_pairs_within_a_distance_are_found(seed: int, kind: str, share: float, blocks: bool) -> None:
    bags, vectors, distances = _input(seed, 24, kind)
    within = float(np.quantile([*distances.values()], share)) + 1e-7
    with pytest.MonkeyPatch.context() as patch:
        if blocks:
            patch.setattr(near_pairs, "_CELLS", 60)
        found = _found(NearPairs(bags, vectors), 0, Limit(within))
    expected = {pair: distance for pair, distance in distances.items() if distance <= within}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-7)


@examples(0.5)
@given(st.integers(0, 2**32), st.sampled_from(["normal", "lattice", "zeros"]), st.floats(0, 1), st.integers(0, 24))
def test_pairs_of_the_first_bags_are_found(seed: int, kind: str, share: float, count: int) -> None:
    bags, vectors, distances = _input(seed, 24, kind)
    within = float(np.quantile([*distances.values()], share)) + 1e-7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_pairs, "_CELLS", 60)
        found = _found(NearPairs(bags, vectors, count=count), 0, Limit(within))
    expected = {pair: distance for pair, distance in distances.items() if distance <= within and pair[0] < count}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("k", [1, 7, 60, 276, 1000])
@pytest.mark.parametrize("kind", ["normal", "zeros"])
def test_the_nearest_pairs_are_found(kind: str, k: int) -> None:
    bags, vectors, distances = _input(5, 24, kind)
    search, expected = NearPairs(bags, vectors), sorted(distances.values())[:k]
    start = search.smallest_distance_of(k)
    assert start >= expected[-1] - 1e-7
    assert np.isinf(start) == (k > len(distances))
    limit = Limit(start, k)
    found = sorted(_found(search, 0, limit).values())[:k]
    assert found == pytest.approx(expected, abs=1e-7)
    if k < 100:
        assert limit.value == pytest.approx(expected[-1], abs=1e-7)
    rest = {pair: distance for pair, distance in distances.items() if pair[0] >= 9 and distance <= expected[-1] + 1e-7}
    assert _found(search, 9, Limit(expected[-1] + 1e-7)).keys() == rest.keys()


@pytest.mark.parametrize("kept", [1, 2, 9])
def test_kept_pairs_are_completed(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether all pairs within the limit are among those kept, or the bounds are computed again."""
    monkeypatch.setattr(near_pairs, "_KEPT_PER_PAIR", kept)
    bags, vectors, distances = _input(8, 30, "lattice")
    for k in (5, 40, 200):
        search = NearPairs(bags, vectors)
        limit = Limit(search.smallest_distance_of(k), k)
        expected = {
            pair: distance for pair, distance in distances.items() if distance < sorted(distances.values())[k - 1]
        }
        assert _found(search, 0, limit).keys() >= {pair for pair in expected if expected[pair] < limit.value - 1e-9}


def test_no_pair_is_lost_where_rounding_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair may have another last bit when it is solved again, among other pairs."""
    bags, vectors, distances = _input(3, 24, "normal")
    search = NearPairs(bags, vectors)
    limit, solve = Limit(search.smallest_distance_of(30), 30), nearest

    def rounded_up(*arguments: Any, **named: Any) -> Nearest:
        found = solve(*arguments, **named)
        return replace(found, distances=np.nextafter(found.distances, np.inf))

    monkeypatch.setattr(near_pairs, "nearest", rounded_up)
    found = sorted(_found(search, 0, limit).values())[:30]
    assert found == pytest.approx(sorted(distances.values())[:30], abs=1e-7)


@pytest.mark.slow
def test_few_problems_are_solved() -> None:
    bags, vectors, distances = _input(6, 120, "normal")
    search = NearPairs(bags, vectors)
    limit = Limit(search.smallest_distance_of(20), 20)
    solved = sum(each.counts.solved for each in search.run(0, limit))
    assert solved < len(distances) / 20


def test_without_bags_there_are_no_pairs() -> None:
    search = NearPairs(Bags.of([]), np.zeros((0, 3), np.float32))
    assert np.isinf(search.smallest_distance_of(1))
    assert not _found(search, 0, Limit(1.0))
