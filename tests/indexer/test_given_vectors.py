"""The space of given vectors: metrics against scipy, and numbers that cannot be compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from moverank import Document, QueryVectorError
from moverank.indexer.values.given_vectors import LARGEST, Space, VectorMetric, numbers_fault, unpacked, vector_bytes
from tests.indexer.given import METRICS, costs, random_vectors

_MATRIX = arrays.arrays(np.float32, (6, 3), elements=st.floats(-100, 100, width=32).map(lambda x: round(x, 2)))


@pytest.mark.parametrize("metric", METRICS)
@given(_MATRIX)
def test_vectors_are_compared_as_scipy_compares_them(metric: VectorMetric, matrix: np.ndarray) -> None:
    space, query = Space(metric, 3), np.array([1.0, -2.0, 0.5], np.float32)
    usable, vectors = space.comparable(matrix)
    rows = np.arange(len(vectors))
    found = space.distances(space.costs(vectors, rows, space.of_query(query)))
    expected = costs([Document(str(i), vector=row) for i, row in enumerate(matrix)], query, metric)
    assert [str(i) for i in np.flatnonzero(usable)] == list(expected)
    assert found == pytest.approx(list(expected.values()), rel=1e-5, abs=1e-5)


def test_the_order_of_blocks_does_not_matter() -> None:
    space, vectors = Space("l2", 700), random_vectors(3000, dim=700)
    rows, query = np.arange(0, 3000, 2), vectors[1]
    found = space.costs(vectors, rows, query)
    wide = vectors[rows].astype(np.float64) - query
    assert found == pytest.approx((wide**2).sum(axis=1), rel=1e-12)


def test_extreme_numbers_do_not_overflow() -> None:
    largest = np.full((2, 4096), LARGEST, np.float32) * np.array([[1], [-1]], np.float32)
    for metric in METRICS:
        space = Space(metric, 4096)
        _, vectors = space.comparable(largest)
        assert np.all(np.isfinite(space.costs(vectors, np.arange(2), vectors[0])))
        assert np.all(np.isfinite(np.square(vectors - vectors[::-1]).sum(axis=1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e16, -1e16])
def test_numbers_that_cannot_be_compared_are_named(value: float) -> None:
    fault = numbers_fault(np.array([0, value], np.float32))
    assert fault is not None
    assert "at position 2" in fault
    assert numbers_fault(np.array([0, LARGEST], np.float32)) is None


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([1, 2], "has 2 numbers, those of the documents have 3"),
        ([1, 2, np.nan], "has nan at position 3"),
        ([1, 2, 1e300], "has inf at position 3"),
        ([0, 0, 0], "is zero"),
        ([], "is empty"),
        ([[1, 2, 3]], "not an array of shape"),
        (["a", "b", "c"], "must be a list of numbers"),
        ("abc", "must be a list of numbers"),
    ],
)
def test_an_unusable_vector_of_a_query_is_explained(vector: object, reason: str) -> None:
    with pytest.raises(QueryVectorError, match=reason):
        Space("cosine", 3).of_query(vector)  # type: ignore[arg-type]


def test_stored_vectors_are_little_endian_float32() -> None:
    assert vector_bytes((1.0, -2.0)) == b"\0\0\x80\x3f\0\0\0\xc0"
    assert unpacked([vector_bytes((1.0, -2.0)), vector_bytes((0.5, 0.0))], 2).tolist() == [[1, -2], [0.5, 0]]
    assert unpacked([], 2).shape == (0, 2)


def test_a_vector_of_a_document_is_any_sequence_of_numbers() -> None:
    one = Document("a", vector=[1, 0.1])
    assert one == Document("a", vector=np.array([1, 0.1])) == Document("a", vector=(1.0, float(np.float32(0.1))))
    assert one.vector == (1.0, float(np.float32(0.1)))
    assert one != Document("a")
    bad: tuple[object, ...] = ("12", 3, [None], [[1.0]], np.ones((2, 2)))
    for vector in bad:
        with pytest.raises(TypeError, match="the vector of document 'a' must be a list of numbers"):
            Document("a", vector=vector)  # type: ignore[arg-type]
