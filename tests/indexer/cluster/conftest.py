"""Collections in shards over the synthetic vocabulary."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moverank import Document
from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.cluster.cluster_file import ClusterFile, new_shards
from tests.indexer.cluster.local_shards import LocalShards
from tests.indexer.world import CollectionFactory

MakeCluster = Callable[..., Cluster]
Open = Callable[[Path], Cluster]


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep shards in the test's own process."""
    monkeypatch.setattr("moverank.indexer.cluster.cluster.RayShards", LocalShards)
    monkeypatch.setattr("moverank.indexer.cluster.coordinator._RESTART", 0.3)


@pytest.fixture
def make_cluster(factory: CollectionFactory) -> Iterator[MakeCluster]:
    """Make collections in `number` shards with settings by name, and index documents in them."""
    made: list[Cluster] = []

    def make(documents: Iterable[Document], number: int = 3, **choices: Any) -> Cluster:
        path = factory.path().with_suffix(".toml")
        cluster = Cluster.create(ClusterFile(path, new_shards(path, number, [])), factory.settings(**choices))
        made.append(cluster)
        cluster.index(documents)
        return cluster

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
