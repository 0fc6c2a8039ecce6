"""Opens the collection that `-i` names, which may be in shards.

If few statements on a SQLite file suffice, SQLAlchemy and numpy are not used: their imports take longer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection
    from moverank.indexer.contents.contents import Contents
    from moverank.indexer.options import Where
    from moverank.indexer.shards.cluster import Cluster

Opened: TypeAlias = "Collection | Cluster"
"""An open collection, in one place or in shards."""


def open_index(index: Path, *, wait: float = 0.0) -> Opened:
    """Open a collection; `wait`: seconds that changes wait for other writers. Raises CollectionError."""
    from moverank.indexer.files.location import is_cluster

    if is_cluster(index):
        from moverank.indexer.shards.cluster import Cluster

        return Cluster.open(index, wait=wait)
    from moverank.indexer.collection import Collection

    return Collection.open(index, wait=wait)


def places_of(index: Path) -> tuple[str, ...]:
    """Return the place of a collection, or those of its shards; CollectionError if the shards cannot be read."""
    from moverank.indexer.files.location import is_cluster

    if not is_cluster(index):
        return (str(index),)
    from moverank.indexer.shards.cluster_file import ClusterFile

    described = ClusterFile.read(index)
    return tuple(described.place_of(shard) for shard in described.shards)


@contextmanager
def open_listing(index: Path, where: "Where | None") -> "Iterator[Contents]":
    """Open one state of the documents that pass a filter, without their texts.

    Raises CollectionError, and UsageError for an invalid filter.
    """
    if not where:
        from moverank.indexer.contents.contents import Contents
        from moverank.indexer.store import direct_reader

        with direct_reader(index) as reader:
            if reader:
                yield Contents(reader)
                return
    from moverank.indexer.collection import Collection

    with Collection.open(index) as collection, collection.contents(where) as contents:
        yield contents


def index_info(index: Path) -> dict[str, Any]:
    """Return sizes, revision and settings of a collection by name; CollectionError if it cannot be opened."""
    from moverank.indexer.contents.summary import stored_summary
    from moverank.indexer.store import direct_reader

    with direct_reader(index) as reader:
        info = stored_summary(reader, index) if reader else None
    if info is None:
        with open_index(index) as collection:
            info = collection.info()
    return info
