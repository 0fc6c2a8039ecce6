"""What all requests of a server share."""

from dataclasses import dataclass

from fastapi import Request

from moverank.indexer.server.limits import Limits
from moverank.indexer.server.metrics import Metrics
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.served import Served
from moverank.indexer.server.workers import Workers


@dataclass(frozen=True, slots=True)
class ServerState:
    """The collections by name, the first being the default; workers, limits and metrics. `read_only`: no changes."""

    collections: dict[str, Served]
    workers: Workers
    limits: Limits
    metrics: Metrics
    read_only: bool = False

    @property
    def default(self) -> Served:
        """Return the collection that is meant where none is named."""
        return next(iter(self.collections.values()))

    def named(self, name: str) -> Served:
        """Return a collection; Problem 404 if there is none of that name."""
        if name not in self.collections:
            raise Problem(404, f"there is no collection {name!r}: choose {', '.join(self.collections)}")
        return self.collections[name]

    def close(self) -> None:
        """End the running work, and close the collections."""
        self.workers.close()
        for served in self.collections.values():
            served.close()


def state_of(request: Request) -> ServerState:
    """Return the state of the server that a request reached."""
    state: ServerState = request.app.state.moverank
    return state


def collection_of(request: Request, name: str) -> Served:
    """Return the collection that the path of a request names."""
    return state_of(request).named(name)
