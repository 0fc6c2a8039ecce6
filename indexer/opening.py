"""Opens the collection that `-i` names, which may be in another store, such as shards.

If few statements on a SQLite file suffice, SQLAlchemy and numpy are not used: their imports take longer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection
    from moverank.indexer.operations.operation import StateContents
    from moverank.indexer.search_options import Where

Opened: TypeAlias = "Collection | Any"
"""An open collection, or one of another store, which has the same methods as far as it can."""


def open_index(index: Path, *, wait: float = 0.0) -> "Opened":
    """Open a collection; `wait`: seconds that changes wait for other writers. Raises CollectionError."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.stores import other_store

    opened: Opened = (other_store(index) or Collection).open(index, wait=wait)
    return opened


def places_of(index: Path) -> tuple[str, ...]:
    """Return the place of a collection, or the places of its parts; CollectionError if these cannot be read."""
    from moverank.indexer.stores import other_store

    kind = other_store(index)
    return kind.places(index) if kind else (str(index),)


@contextmanager
def open_listing(index: Path, where: "Where | None") -> "Iterator[StateContents]":
    """Open the documents that pass a filter, without their texts: one state of them, unless they are in several places.

    Raises CollectionError, and UsageError for an invalid filter.
    """
    if not where:
        from moverank.indexer.state.contents import Contents
        from moverank.indexer.store import direct_reader

        with direct_reader(index) as reader:
            if reader:
                yield Contents(reader)
                return
    with open_index(index) as collection, collection.contents(where) as contents:
        yield contents


def index_info(index: Path) -> dict[str, Any]:
    """Return sizes, revision and settings of a collection by name; CollectionError if it cannot be opened."""
    from moverank.indexer.state.summary import stored_summary
    from moverank.indexer.store import direct_reader

    with direct_reader(index) as reader:
        info = stored_summary(reader, index) if reader else None
    if info is None:
        with open_index(index) as collection:
            info = collection.info()
    return info
