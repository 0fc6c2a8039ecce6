from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.store import Store
from tests.indexer.world import Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("collections"))


@pytest.fixture
def make(workshop: Workshop) -> Iterator[Callable[..., Collection]]:
    """Makes empty collections with the made vectors, and closes them."""
    opened: list[Collection] = []

    def make_collection(**choices: Any) -> Collection:
        opened.append(workshop.empty(**choices))
        return opened[-1]

    yield make_collection
    for collection in opened:
        collection.close()


@pytest.fixture
def collection(make: Callable[..., Collection]) -> Collection:
    return make()


@pytest.fixture
def always_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change ends in a new snapshot."""
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)


@pytest.fixture
def store() -> Iterator[Store]:
    """A database in memory."""
    opened = Store("sqlite://")
    yield opened
    opened.close()
