"""The neighbour graph, against brute force."""

import numpy as np
import pytest

from moverank import Collection
from tests.indexer.world import CollectionFactory, Twin, document, random_documents


def test_neighbours_equal_brute_force(collection: Collection) -> None:
    twin = Twin.of([*random_documents(70, seed=3), document("new", "ant bee cat")])
    collection.index([*twin.documents.values(), document("none", "zorp")])
    steps: list[int] = []
    graph = collection.neighbours(3, progress=lambda _task, done, _total, _unit: steps.append(done))
    assert sorted(graph.keys) == sorted(twin.documents)
    assert steps == list(range(1, 72))
    for position in range(0, 71, 9):
        key = graph.keys[position]
        expected = twin.distances(twin.documents[key])
        del expected[key]
        np.testing.assert_allclose(graph.distances[position], sorted(expected.values())[:3], rtol=1e-6, atol=1e-9)
        for other, distance in zip(graph.places[position].tolist(), graph.distances[position].tolist(), strict=True):
            assert distance == pytest.approx(expected[graph.keys[other]], rel=1e-6, abs=1e-9)


def test_missing_neighbours_are_minus_one_and_infinite(collection: Collection) -> None:
    collection.index([document("a", "ant"), document("b", "bee")])
    graph = collection.neighbours(3)
    assert graph.places.tolist() == [[1, -1, -1], [0, -1, -1]]
    assert np.isinf(graph.distances[:, 1:]).all()


def test_neighbours_have_the_word_weights_of_the_ranking(factory: CollectionFactory) -> None:
    """The default ranking weighs words by idf: the neighbours are near by the distances of `pairs`."""
    twin = Twin.of(random_documents(40, seed=5), "tfidf")
    with factory.filled(twin.documents.values(), rank="auto") as collection:
        graph, (nearest,) = collection.neighbours(1), collection.pairs(k=1).pairs
    for key, (distance,) in zip(graph.keys, graph.distances.tolist(), strict=True):
        expected = twin.distances(twin.documents[key])
        assert distance == pytest.approx(min(expected[other] for other in expected if other != key), rel=1e-6, abs=1e-9)
    assert graph.distances.min() == pytest.approx(nearest.distance, rel=1e-6, abs=1e-9)
