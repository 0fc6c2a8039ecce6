"""Opens what `-i` names: a collection, or one in shards."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moverank.indexer.cluster.cluster import Cluster
    from moverank.indexer.collection import Collection


def open_index(index: Path, *, wait: float = 0.0) -> "Collection | Cluster":
    """Open a collection; `wait`: seconds that changes wait for other writers. Raises CollectionError."""
    from moverank.indexer.files.location import is_cluster

    if is_cluster(index):
        from moverank.indexer.cluster.cluster import Cluster

        return Cluster.open(index, wait=wait)
    from moverank.indexer.collection import Collection

    return Collection.open(index, wait=wait)
