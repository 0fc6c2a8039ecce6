"""Kills at random moments, and two writers, lose no event and invent none."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moverank import Collection, Event
from tests.indexer.plugins.watching.stream import documents
from tests.indexer.world import CollectionFactory, Twin, document
from tests.postgres_store import new_place

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[4]
_WATCHES = {"pets": ("ant bee cat", 1.3, None), "red": ("dog elk", 1.6, ["label=red"]), "all": ("fox hen", 9.0, None)}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, factory: CollectionFactory, tmp_path: Path) -> str:
    """Return the place of a collection of one document, with watches, on each engine."""
    found = str(new_place(tmp_path / "collection"))
    if request.param == "postgresql":
        found = request.getfixturevalue("schema_url")
    with Collection.create(found, factory.settings()) as collection:
        collection.index([document("first", "ant", label="red")])
        for name, (text, within, where) in _WATCHES.items():
            collection.watch(name, text, within, rank="wmd", where=where)
    return found


def _started(place: str, seed: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.indexer.plugins.watching.stream", place, str(seed)]
    return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)


def _check(collection: Collection) -> list[Event]:
    """Compare the events with brute force over the stored documents; return them."""
    stored = {one.key: one for one in collection if one.key != "first"}
    twin, expected = Twin.of(stored.values()), set[tuple[str, str]]()
    for name, (text, within, where) in _WATCHES.items():
        for key, distance in twin.distances(text).items():
            assert abs(distance - within) > 1e-6
            if distance <= within and (where is None or stored[key].label == "red"):
                expected.add((name, key))
    events = collection.events(limit=10_000)
    assert {(event.watch, event.document) for event in events} == expected
    assert len(events) == len(expected)
    assert [event.revision for event in events] == sorted(event.revision for event in events)
    return events


def test_a_writer_that_is_killed_at_random_moments_leaves_the_events_of_its_documents(place: str) -> None:
    moments = random.Random(5)  # noqa: S311 - a sample, no secret
    counts = []
    for _ in range(4):
        with _started(place, 1) as process:
            assert process.stdout
            for _ in range(moments.randrange(1, 70)):
                assert process.stdout.readline()
            time.sleep(moments.uniform(0, 0.02))
            process.kill()
        with Collection.open(place) as collection:
            counts.append(len(_check(collection)))
    with _started(place, 1) as process:
        assert process.stdout
        process.stdout.read()
    assert process.returncode == 0
    with Collection.open(place) as collection:
        assert len(collection) == 1 + len(documents(1))
        assert len(_check(collection)) >= counts[-1] > 0


def test_two_writers_write_the_events_of_all_documents(place: str) -> None:
    with _started(place, 1) as one, _started(place, 2) as other:
        assert one.stdout
        assert other.stdout
        one.stdout.read()
        other.stdout.read()
    assert (one.returncode, other.returncode) == (0, 0)
    with Collection.open(place) as collection:
        assert len(collection) == 1 + 2 * len(documents(1))
        assert len(_check(collection)) > len(documents(1))
