"""Shards in the test's own process, with the interface of `RayShards`: arguments and results are pickled as there."""

import pickle
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any

from moverank.indexer.errors import IndexerError
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace
from moverank.indexer.plugins.shards.messages import Call, Failure, Lost
from moverank.indexer.plugins.shards.shard import Shard
from moverank.rerank.errors import RerankError
from moverank.rerank.runtime.deadline import time_is_over


class LocalShards:
    """The shards that a file describes; those in `killed` do not answer, the others are opened again after a kill."""

    def __init__(self, file: ClusterFile) -> None:
        self._shards = {shard.name: Shard(file.place_of(shard)) for shard in file.shards}
        self._places = {shard.name: file.place_of(shard) for shard in file.shards}
        self.killed: set[str] = set()
        self.calls = 0
        self.restart_at: dict[int, str] = {}
        self.idle = False  # processes end between calls: none of these is lost

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._shards)

    def add(self, file: ClusterFile, shard: ShardPlace) -> None:
        self._places[shard.name] = file.place_of(shard)
        self._shards[shard.name] = Shard(self._places[shard.name])

    def drop(self, name: str) -> None:
        shard = self._shards.pop(name, None)
        if shard:
            shard.close()

    def replace(self, file: ClusterFile, shard: ShardPlace) -> None:
        self.drop(shard.name)
        self.add(file, shard)

    def restart(self, name: str) -> None:
        """Forget all that the process of a shard knew, and end its runs."""
        shard = self._shards[name]
        for feed in list(shard._feeds):  # noqa: SLF001 - they end with the process
            shard.abort_feed(feed)
        shard.close()
        self._shards[name] = Shard(self._places[name])

    def users(self, name: str) -> int:
        """Return how many use or keep the state that a shard has opened last, and one more for being open."""
        states = self._shards[name]._states  # noqa: SLF001 - what is tested
        state = states.state if states else None
        return 1 + state._users + state._keepers if state else 0  # noqa: SLF001

    def shared(self, value: Any) -> Any:
        return value

    def send(self, calls: Mapping[str, Call]) -> None:
        for name, call in calls.items():
            self._answer(name, call, None)

    def ask(
        self, calls: Mapping[str, Call], _seconds: float = 0.0, hurry: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        if time_is_over():
            hurry()
        self.calls += 1
        lost = self.restart_at.pop(self.calls, None)
        if lost:
            self.restart(lost)
        lost = None if self.idle else lost
        return {name: self._answer(name, call, lost) for name, call in calls.items()}

    def _answer(self, name: str, call: Call, lost: str | None) -> Any:
        if name in self.killed or name == lost:
            return Lost()
        arguments, named = pickle.loads(pickle.dumps((call.arguments, dict(call.named))))  # noqa: S301 - its own
        try:
            method = self._shards[name].repaired  # below: the caller's deadline is not that of another process
            answer = Context().run(method, call.method, *arguments, **named)
        except (IndexerError, RerankError, OSError) as error:
            answer = Failure(error)
        return pickle.loads(pickle.dumps(answer))  # noqa: S301 - its own

    def processes(self) -> dict[str, Any]:
        return dict.fromkeys(self._shards, 1)

    def stop(self) -> None:
        pass

    def withdraw(self) -> None:
        self.close()

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
