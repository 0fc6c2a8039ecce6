from collections.abc import Callable

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.search.view import Frequencies, View, made_for, open_view
from moverank.indexer.settings import Settings
from moverank.indexer.vectors import open_vectors
from tests.indexer.world import VECTORS, Twin, document, random_documents, store_of


def _size(view: View) -> int:
    return sum(int(part.live.sum()) for part in view.segments)


def _view(collection: Collection) -> View:
    store = store_of(collection)
    with store.reading() as reader:
        found = open_view(reader, collection.path, collection.settings, open_vectors(collection.path / "vectors"))
    store.close()
    return found


def test_without_a_snapshot_everything_is_tail(collection: Collection) -> None:
    assert _view(collection).segments == ()
    collection.index([*random_documents(5), document("none", "zorp")])
    view = _view(collection)
    assert (_size(view), view.revision, len(view.segments)) == (5, 1, 1)
    assert view.segments[0].stage is None


def test_the_snapshot_and_the_tail_behind_it(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 5)
    collection.index(random_documents(9))
    collection.remove(["d0"])
    collection.index([document("d1", "ant"), document("d2", "zorp"), document("new", "bee")])
    base, tail = _view(collection).segments
    assert base.live.tolist() == [False, False, False, True, True, True, True, True, True]
    assert (base.stage is None, tail.stage is None) == (False, True)
    assert tail.live.tolist() == [True, True]
    assert tail.segment.word_ids.tolist() == sorted(tail.segment.word_ids.tolist())
    assert _size(_view(collection)) == 8


@pytest.mark.parametrize("small_tail", [0, 99])
def test_bags_are_those_of_the_rows(
    make: Callable[..., Collection], small_tail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made already for the collection's own gamma, in a snapshot, or now."""
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", small_tail)
    collection = make(weights="tfidf", gamma=0.75)
    twin = Twin(weights="tfidf")
    documents = [document(f"d{i}", found.parts[0].text, "ant bee") for i, found in enumerate(random_documents(20))]
    twin.add(documents)
    collection.index(documents)
    (segment,) = _view(collection).segments
    assert segment.norms == pytest.approx(np.linalg.norm(segment.segment.vectors, axis=1))
    for gamma in (0.0, 0.75):
        for rows in (np.array([3]), np.array([2, 7]), np.arange(20), np.array([19, 0, 5])):
            bags = segment.bags(rows, gamma)
            for row, bag in zip(rows.tolist(), bags, strict=True):
                expected = twin.bag(documents[row].parts, gamma)
                assert expected
                centroid = bag.weights @ segment.segment.vectors[bag.words]
                assert centroid == pytest.approx(expected.centroid, rel=1e-6)
                assert sorted(bag.weights) == pytest.approx(sorted(expected.weights))


def test_a_snapshot_is_made_for_settings_and_vectors(collection: Collection) -> None:
    embedding = open_vectors(collection.path / "vectors")
    assert np.array_equal(embedding.vectors, VECTORS)
    key = made_for(Settings(gamma=0.5), embedding)
    assert (key["gamma"], key["embedding"]) == (0.5, embedding.fingerprint)


def test_idf_is_of_all_documents(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("b", "ant"), document("c", "zorp"), document("gone", "fox")])
    collection.remove(["gone"])
    store = store_of(collection)
    with store.reading() as reader:
        ids = {found.word: found.id for found in reader.words(["ant", "bee", "fox", "zorp"])}
        wanted = np.array([ids["ant"], ids["bee"], ids["fox"], ids["zorp"], 0, 99])
        idf = Frequencies(reader).idf(wanted)
    store.close()
    # Three documents; nothing has a fox any more, and of words without a vector nothing is told.
    expected = [np.log(4 / 3) + 1, np.log(4 / 2) + 1, *[np.log(4) + 1] * 4]
    assert idf == pytest.approx(expected)
