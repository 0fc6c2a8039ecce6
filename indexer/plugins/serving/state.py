"""The state that all requests of a server share."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Path, Request
from starlette.convertors import PathConvertor, register_url_convertor

from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.metrics import Metrics
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.served import Served
from moverank.indexer.plugins.serving.workers import Workers
from moverank.indexer.search.sized_cache import SizedCache


class _Key(PathConvertor):
    """A key at the end of a path, as `{key:key}`: with `path`, a last newline would be left out."""

    regex = "(?s:.*)"


register_url_convertor("key", _Key())


@dataclass(frozen=True, slots=True)
class ServerState:
    """The collections by name, the first being the default; workers, limits and metrics.

    `read_only`: no changes, and no files for unfinished work.
    `finished` caches the last groups of near documents.
    """

    collections: dict[str, Served]
    workers: Workers
    limits: Limits
    metrics: Metrics
    read_only: bool = False
    finished: SizedCache = field(default_factory=SizedCache)

    @property
    def default(self) -> Served:
        """Return the default collection."""
        return next(iter(self.collections.values()))

    def named(self, name: str) -> Served:
        """Return a collection; HttpProblem 404 if there is none of that name."""
        if name not in self.collections:
            raise HttpProblem(404, f"there is no collection {name!r}: choose {', '.join(self.collections)}")
        return self.collections[name]

    def stop(self) -> None:
        """Stop the running requests and changes, and refuse those that wait."""
        self.workers.stop()
        for served in self.collections.values():
            served.stop(running=True)

    def close(self) -> None:
        """End the running work, and close the collections."""
        self.workers.stop()
        for served in self.collections.values():
            served.stop(running=False)
        self.workers.close()
        for served in self.collections.values():
            served.close()


def state_of(request: Request) -> ServerState:
    """Return the state of the server that a request reached."""
    state: ServerState = request.app.state.moverank
    return state


def collection_of(request: Request, name: Annotated[str, Path(description="The name of a collection.")]) -> Served:
    """Return the collection that the path of a request names."""
    return state_of(request).named(name)
