"""A collection in one place and in shards, here and, where the extra `server` is installed, behind a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from moverank import Collection
from moverank.indexer.plugins.serving.client import RemoteCollection
from moverank.indexer.plugins.shards.cluster import Cluster

if TYPE_CHECKING:
    from tests.indexer.plugins.serving.pages_world import PagesServer


@dataclass(frozen=True)
class Faces:
    """The same documents everywhere; `remotes` are the clients for both, none without the extra."""

    collection: Collection
    shards: Cluster
    remotes: tuple[RemoteCollection, ...] = ()
    running: "PagesServer | None" = None

    @property
    def all(self) -> tuple[Any, ...]:
        """Return all of them."""
        return (self.collection, self.shards, *self.remotes)

    @property
    def server(self) -> "PagesServer":
        """Return the server; skip the test if there is none."""
        if self.running is None:
            pytest.skip("the extra `server` is not installed")
        return self.running


@contextmanager
def faces_of(collection: Collection, shards: Cluster) -> Iterator[Faces]:
    """Serve a collection, as `one`, and shards, as `shards`, during the block."""
    if not all(map(find_spec, ("fastapi", "uvicorn"))):
        yield Faces(collection, shards)
        return
    from tests.indexer.plugins.serving.pages_world import pages_server

    places = {"one": collection.path, "shards": shards.path}
    with pages_server(places) as server:
        yield Faces(collection, shards, tuple(RemoteCollection(server.url, name, None) for name in places), server)
