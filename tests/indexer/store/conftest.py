from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank import Collection
from tests.indexer.world import CollectionFactory, random_documents


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an unused path for a database."""
    return tmp_path / "collection.db"


@pytest.fixture
def forum(schema_url: str, factory: CollectionFactory) -> Iterator[Collection]:
    """Make a collection of 30 documents in PostgreSQL."""
    with Collection.create(schema_url, factory.settings()) as collection:
        collection.index(random_documents(30))
        yield collection
