from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.files.location import CACHE
from moverank.indexer.store import Store
from tests.indexer.world import CollectionFactory, MakeCollection, snapshot_above
from tests.postgres_store import schema_for


@pytest.fixture(scope="session")
def factory(tmp_path_factory: pytest.TempPathFactory) -> CollectionFactory:
    return CollectionFactory(tmp_path_factory.mktemp("collections"))


@pytest.fixture
def make_collection(factory: CollectionFactory) -> Iterator[MakeCollection]:
    """Make empty collections over the synthetic vocabulary, and close them after the test."""
    opened: list[Collection] = []

    def open_empty(**choices: Any) -> Collection:
        opened.append(factory.empty(**choices))
        return opened[-1]

    yield open_empty
    for collection in opened:
        collection.close()


@pytest.fixture
def collection(make_collection: MakeCollection) -> Collection:
    """Return an empty collection with default settings."""
    return make_collection()


@pytest.fixture
def always_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a new snapshot after every change."""
    snapshot_above(monkeypatch, 0)


@pytest.fixture
def schema_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a new schema of PostgreSQL; caches are in the directory of the test."""
    pytest.importorskip("moverank.indexer.plugins.postgres", reason="the plug-in postgres is removed")
    request.getfixturevalue("postgres")
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return schema_for(tmp_path)


@pytest.fixture
def store() -> Iterator[Store]:
    """Open a database in memory."""
    opened = Store("sqlite://")
    yield opened
    opened.close()
