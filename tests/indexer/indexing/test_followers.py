"""Followers of indexing runs: loaded where the collection needs one, and missed before anything is written."""

from typing import Any

import pytest

from moverank import Collection, Document, Part, PlugInError, Watch
from moverank.indexer.indexing.followers import FOLLOWERS
from moverank.indexer.store import Reader, Writer
from tests.indexer.world import document


class _Follower:
    """Stores one event of each run, of its revision."""

    def __init__(self) -> None:
        self.events, self.runs = 0, list[int]()

    def begin(self, reader: Reader, *_: Any) -> "_Follower":
        self.runs.append(reader.revision())
        self.events = 0
        return self

    def follow(self, writer: Writer) -> None:
        assert writer.revision() > self.runs[-1]
        self.events += 1


@pytest.fixture
def watched(collection: Collection) -> Collection:
    """Return a collection of one document with a watch, which is stored without its plug-in."""
    collection.index([document("a", "ant")])
    with collection.writing() as writer:
        writer.store_watch(Watch("w", Document("", parts=(Part("ant"),)), "wmd:weights=tf", 1.0, [], 1))
    return collection


def test_a_run_without_the_follower_that_it_needs_changes_nothing(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FOLLOWERS, "named", lambda _: None)
    with pytest.raises(PlugInError, match=r"the collection has watches, .* not installed: nothing was changed"):
        watched.index([document("b", "bee")])
    assert list(watched.keys()) == ["a"]
    assert watched.index([document("b", "bee")], dry_run=True).added == 1
    assert watched.remove(["a"]).removed == 1


def test_a_collection_has_one_follower_for_all_runs(watched: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FOLLOWERS, "named", lambda _: _Follower)
    assert watched.index([document("b", "bee")]).events == 1
    monkeypatch.setattr(FOLLOWERS, "named", lambda _: pytest.fail("it was loaded again"))
    before = watched.revision
    assert watched.index([document("c", "cat")]).events == 1
    assert watched.index([document("c", "cat")]).events == 0
    assert before == watched.revision - 1


def test_nothing_is_loaded_for_a_collection_without_watches(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FOLLOWERS, "named", lambda _: pytest.fail("it was loaded"))
    assert collection.index([document("a", "ant")]).events == 0
