"""Removing documents by key."""

import pytest

from moverank import Changes, Collection
from tests.indexer.stored_state import stored_frequencies, stored_ids, stored_keys
from tests.indexer.world import document, random_documents


def test_unknown_keys_are_listed_and_nothing_is_removed(collection: Collection) -> None:
    collection.index(random_documents(3))
    with pytest.raises(KeyError, match="nothing was removed: no document has the key 'x', 'y'"):
        collection.remove(["d0", "x", "y"])
    assert stored_keys(collection) == {"d0", "d1", "d2"}
    assert collection.remove([]) == Changes(revision=1)
    assert collection.remove(["d0", "d0"]) == Changes(removed=1, revision=2)


def test_document_ids_are_never_reused(collection: Collection) -> None:
    collection.index([document("a", "ant"), document("b", "bee")])
    ids = stored_ids(collection, ["a", "b"])
    collection.remove(["a", "b"])
    collection.index([document("b", "bee")])
    assert stored_ids(collection, ["b"])[0] > max(ids)


def test_frequencies_are_reduced_batch_by_batch(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.removal._BATCH", 4)
    collection.index(random_documents(10))
    assert collection.remove([f"d{i}" for i in range(10)]).removed == 10
    assert stored_frequencies(collection) == {}
