"""Opens the collections of a server."""

from pathlib import Path

from moverank.indexer.cluster.cluster_file import ClusterFile
from moverank.indexer.errors import UsageError
from moverank.indexer.files.location import is_cluster
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.served import Served
from moverank.indexer.server.served_collection import ServedCollection
from moverank.indexer.server.served_shards import ServedShards


def check_collections(places: dict[str, Path]) -> None:
    """Raise CollectionError if one of the collections cannot be opened by several processes."""
    for directory in places.values():
        if not is_cluster(directory):
            store, *_ = open_collection(directory)
            store.close()
        elif not ClusterFile.read(directory).address:
            raise UsageError(
                f"{directory} names no Ray cluster: each of --processes would hold all shards; give it an address"
            )


def served_collections(places: dict[str, Path], limits: Limits) -> dict[str, Served]:
    """Open collections by name; CollectionError if one of them cannot be, after closing the others."""
    opened: dict[str, Served] = {}
    try:
        for name, place in places.items():
            kind = ServedShards if is_cluster(place) else ServedCollection
            opened[name] = kind(name, place, limits)
    except BaseException:
        for one in opened.values():
            one.close()
        raise
    return opened
