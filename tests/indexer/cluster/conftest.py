"""Collections in shards over the synthetic vocabulary."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from moverank import Document
from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.cluster.cluster_file import ClusterFile, new_shards
from tests.indexer.cluster.local_shards import LocalShards
from tests.indexer.world import CollectionFactory

MakeCluster = Callable[..., Cluster]


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep shards in the test's own process."""
    monkeypatch.setattr("moverank.indexer.cluster.cluster.RayShards", LocalShards)
    monkeypatch.setattr("moverank.indexer.cluster.coordinator._RESTART", 0.3)


@pytest.fixture
def make_cluster(factory: CollectionFactory) -> MakeCluster:
    """Make collections in `number` shards with settings by name, and index documents in them."""

    def make(documents: Iterable[Document], number: int = 3, **choices: Any) -> Cluster:
        path = factory.path().with_suffix(".toml")
        cluster = Cluster.create(ClusterFile(path, new_shards(path, number, [])), factory.settings(**choices))
        cluster.index(documents)
        return cluster

    return make
