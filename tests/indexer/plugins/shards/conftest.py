"""Collections in shards over the synthetic vocabulary."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moverank import Document
from moverank.indexer.plugins.shards.cluster import Cluster, ShardsContents
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from moverank.indexer.values.search_options import Where
from tests.indexer.plugins.shards.local_shards import LocalShards
from tests.indexer.world import CollectionFactory

MakeCluster = Callable[..., Cluster]
Open = Callable[[Path], Cluster]


def keep_local(patch: pytest.MonkeyPatch) -> None:
    """Keep shards in the test's own process."""
    patch.setattr("moverank.indexer.plugins.shards.cluster.RayShards", LocalShards)
    patch.setattr("moverank.indexer.plugins.shards.coordinator._RESTART", 0.3)


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep shards in the test's own process."""
    keep_local(monkeypatch)


def contents_of(cluster: Cluster, where: Where | None = None) -> ShardsContents:
    """Return the documents of all shards that pass a filter."""
    with cluster.contents(where) as contents:
        return contents


def created(factory: CollectionFactory, number: int = 3, **choices: Any) -> Cluster:
    """Create an empty collection in `number` shards with settings by name; the caller closes it."""
    path = factory.path().with_suffix(".toml")
    return Cluster.create(ClusterFile(path, new_shards(path, number, [])), factory.settings(**choices))


@pytest.fixture
def make_cluster(factory: CollectionFactory) -> Iterator[MakeCluster]:
    """Make collections in `number` shards with settings by name, and index documents in them."""
    made: list[Cluster] = []

    def make(documents: Iterable[Document], number: int = 3, **choices: Any) -> Cluster:
        made.append(created(factory, number, **choices))
        made[-1].index(documents)
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()


@pytest.fixture
def opened() -> Iterator[Open]:
    """Open collections in shards again, as other processes do."""
    made: list[Cluster] = []

    def again(path: Path) -> Cluster:
        made.append(Cluster.open(path))
        return made[-1]

    yield again
    for cluster in made:
        cluster.close()
