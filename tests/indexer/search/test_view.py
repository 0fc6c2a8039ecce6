"""Segments of a view: which rows are live, and their bags."""

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.search.view import View
from moverank.indexer.state.open_view import open_view
from tests.indexer.world import MakeCollection, Twin, document, random_documents, snapshot_above


def _opened(collection: Collection) -> View:
    with collection.reading() as reader:
        return open_view(reader, collection.path, collection.settings, collection.embedding)


def _live_count(view: View) -> int:
    return sum(int(part.live.sum()) for part in view.segments)


def test_without_a_snapshot_all_documents_are_the_tail(collection: Collection) -> None:
    assert _opened(collection).segments == ()
    collection.index([*random_documents(5), document("none", "zorp")])
    view = _opened(collection)
    assert (_live_count(view), view.revision, len(view.segments)) == (5, 1, 1)
    assert view.segments[0].first_stage is None


def test_rows_of_removed_and_changed_documents_are_not_live(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_above(monkeypatch, 5)
    collection.index(random_documents(9))
    collection.remove(["d0"])
    collection.index([document("d1", "ant"), document("d2", "zorp"), document("new", "bee")])
    base, tail = _opened(collection).segments
    assert base.live.tolist() == [False, False, False, True, True, True, True, True, True]
    assert (base.first_stage is None, tail.first_stage is None) == (False, True)
    assert tail.live.tolist() == [True, True]
    assert tail.segment.word_ids.tolist() == sorted(tail.segment.word_ids.tolist())
    assert _live_count(_opened(collection)) == 8


@pytest.mark.parametrize("small_tail", [0, 99])
def test_bags_of_any_rows_and_gamma_equal_those_of_the_texts(
    make_collection: MakeCollection, small_tail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bags at the collection's gamma are stored in a snapshot; all others are computed."""
    snapshot_above(monkeypatch, small_tail)
    collection, documents = make_collection(weights="tfidf", gamma=0.75), random_documents(20, "ant bee")
    twin = Twin.of(documents, weights="tfidf")
    collection.index(documents)
    (segment,) = _opened(collection).segments
    assert segment.norms == pytest.approx(np.linalg.norm(segment.segment.vectors, axis=1))
    for gamma in (0.0, 0.75):
        for rows in (np.array([3]), np.array([2, 7]), np.arange(20), np.array([19, 0, 5])):
            bags = segment.bags(rows, gamma, "tfidf")
            for row, bag in zip(rows.tolist(), bags, strict=True):
                expected = twin.bag(documents[row].parts, gamma)
                assert expected
                centroid = bag.weights @ segment.segment.vectors[bag.words]
                assert centroid == pytest.approx(expected.centroid, rel=1e-6)
                assert sorted(bag.weights) == pytest.approx(sorted(expected.weights))
