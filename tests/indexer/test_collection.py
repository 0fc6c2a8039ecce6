"""The writer's lock, and what a collection stores."""

import subprocess
import sys

import pytest
from filelock import FileLock

from moverank import Collection, LockedError, UnknownKey
from tests.indexer.stored_state import snapshots
from tests.indexer.world import (
    MakeCollection,
    Twin,
    check_exact,
    document,
    random_documents,
    record_counted_texts,
    snapshot_above,
)

pytestmark = pytest.mark.store


def test_documents_are_stored(collection: Collection) -> None:
    twin = Twin.of(random_documents(8))
    collection.index(twin.documents.values())
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant bee", k=9), twin.distances("ant bee"), 9)


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0])
def test_gamma_may_be_chosen_for_each_query(
    collection: Collection, gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [
        document(one.key, f"ant {one.parts[0].text}", *(part.text for part in one.parts[1:]))
        for one in random_documents(8, "bee cat", "dog")
    ]
    collection.index(documents)
    counted = record_counted_texts(monkeypatch)
    before = snapshots(collection)
    expected = Twin.of(documents).distances("elk dog", gamma=gamma)
    check_exact(collection.search("elk dog", k=8, gamma=gamma), expected, 8)
    assert (counted, snapshots(collection), collection.settings.gamma) == (["elk dog"], before, 0.0)


def test_one_process_writes_at_a_time(collection: Collection) -> None:
    collection.index([document("a", "ant")])
    script = "import sys; from filelock import FileLock\nwith FileLock(sys.argv[1]): print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(collection.path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == b"held"
        for change in (
            lambda: collection.index([document("b", "bee")]),
            lambda: collection.remove(["a"]),
            lambda: collection.change_settings(gamma=0.5),
        ):
            with pytest.raises(LockedError, match=r"another process is writing to .*: try again when it is done"):
                change()
        # Searches need no lock.
        assert [hit.key for hit in collection.search("ant").hits] == ["a"]
        other.communicate(b"\n")
    assert collection.settings.gamma == 0
    assert collection.index([document("b", "bee")]).added == 1


def test_the_lock_is_released_after_a_failure(collection: Collection) -> None:
    with pytest.raises(UnknownKey):
        collection.remove(["nobody"])
    with FileLock(collection.path / "lock", timeout=0):
        pass
    collection.index([document("a", "ant")])


def test_upkeep_can_be_put_off(make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = make_collection()
    snapshot_above(monkeypatch, 5)
    for one in random_documents(20):
        changes = collection.index([one], upkeep=False)
        assert (changes.added, changes.coverage) == (1, None)
    assert collection.remove(["d3"], upkeep=False).removed == 1
    assert collection.index_in_use() is None
    before = collection.search("ant bee", k=30, exact=True)
    found = collection.upkeep()
    assert (found.revision, found.coverage) == (21, 1.0)
    assert collection.index_in_use() is not None
    assert [hit.key for hit in collection.search("ant bee", k=30, exact=True).hits] == [hit.key for hit in before.hits]
