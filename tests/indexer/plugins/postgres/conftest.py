from collections.abc import Iterator

import pytest

from moverank import Collection
from tests.indexer.world import CollectionFactory, random_documents


@pytest.fixture
def forum(schema_url: str, factory: CollectionFactory) -> Iterator[Collection]:
    """Make a collection of 30 documents in PostgreSQL."""
    with Collection.create(schema_url, factory.settings()) as collection:
        collection.index(random_documents(30))
        yield collection
