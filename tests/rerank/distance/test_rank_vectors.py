"""Sets of any vectors are ranked by the earth mover's distance that POT computes."""

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import BagError, VectorWeights, rank_vectors
from tests.rerank.problems import VECTORS, make_vectors

Floats = NDArray[np.float64]


def _brute_force(query: NDArray[np.float32], document: NDArray[np.float32], weights: tuple[Floats, Floats]) -> float:
    cost = cdist(query.astype(np.float64), document.astype(np.float64))
    own, other = (each / each.sum() for each in weights)
    return float(ot.emd2(own, other, cost, numItermax=1_000_000))


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(VECTORS),
    sizes=st.lists(st.integers(0, 9), max_size=12),
    k=st.one_of(st.none(), st.integers(1, 14)),
    weighted=st.booleans(),
)
def test_rank_vectors_is_brute_force(seed: int, kind: str, sizes: list[int], k: int | None, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    empty = np.empty((0, 5), np.float32)
    query, *documents = (make_vectors(rng, size, 5, kind, 1.0) if size else empty for size in (4, *sizes))
    weights = [rng.uniform(0.1, 1, len(one)) if weighted else np.ones(len(one)) for one in (query, *documents)]
    given_weights = VectorWeights(weights[0], weights[1:]) if weighted else None
    ranking = rank_vectors(query, documents, given_weights, k)
    expected = {
        i: _brute_force(query, one, (weights[0], weights[i + 1])) for i, one in enumerate(documents) if len(one)
    }
    hits = ranking.hits
    assert ranking.certified
    assert sorted(hit.candidate or 0 for hit in hits) == list(range(len(documents)))
    exact = min(len(expected), k or len(expected))
    tolerance = 1e-9 * float(1 + np.abs(query).max())
    assert [hit.distance for hit in hits[:exact]] == pytest.approx(
        sorted(expected.values())[:exact], rel=1e-9, abs=tolerance
    )
    for hit in hits[:exact]:
        assert hit.exact
        assert hit.distance == pytest.approx(expected[hit.candidate or 0], rel=1e-9, abs=tolerance)
    for hit in hits[exact : len(expected)]:
        assert hit.distance <= expected[hit.candidate or 0] + tolerance
    assert all(hit.wordless and not hit.exact for hit in hits[len(expected) :])
    assert np.all(np.diff(np.array([hit.score for hit in hits], np.float32)) < 0)


def test_a_weight_of_zero_is_no_vector() -> None:
    document = np.array([[1.0, 0.0], [9.0, 9.0]])
    ranking = rank_vectors([[0.0, 0.0]], [document], ([1.0], [[2.0, 0.0]]))
    assert ranking.hits[0].distance == 1.0


@pytest.mark.parametrize(
    ("query", "documents", "weights", "message"),
    [
        ([], [[[1.0]]], None, "the query has no vector"),
        ([[1.0]], [[[1.0, 2.0]]], None, "the query has 1 dimensions, document 0 2"),
        ([1.0], [], None, "the query must be a matrix"),
        ([[float("nan")]], [], None, "vector 0 of the query has a number that is not finite"),
        ([["a"]], [], None, "the query must be a matrix of numbers"),
        ([[1.0]], [[[1.0]]], ([1.0], []), "give weights for each of the 1 documents, not for 0"),
        ([[1.0]], [[[1.0]]], ([1.0], [[-1.0]]), "the weights of document 0 must be 1 finite numbers of 0 or more"),
        ([[1.0]], [[[1.0]]], ([0.0], [[1.0]]), "one of the weights of the query must be above 0"),
    ],
)
def test_invalid_vectors_are_named(query: object, documents: list[object], weights: object, message: str) -> None:
    with pytest.raises(BagError, match=message):
        rank_vectors(query, documents, weights)  # type: ignore[arg-type]


def test_k_must_be_one_or_more() -> None:
    with pytest.raises(BagError, match="k must be 1 or more, not 0"):
        rank_vectors([[1.0]], [[[1.0]]], k=0)
