"""Ray: one actor for each shard, on the machine that has it. The only module that imports Ray."""

import logging
import os
import signal
import threading
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from moverank.indexer.cluster.cluster_file import ClusterFile, ShardPlace
from moverank.indexer.cluster.messages import Call, Failure, failure_of
from moverank.indexer.cluster.shard import Shard
from moverank.indexer.errors import CollectionError
from moverank.indexer.store.database_errors import database_errors

_CALLS = 64  # that an actor runs at a time: most of them wait for other shards
_STORE_BYTES = 256 * 2**20  # of Ray's object store, if it is started here
_TOKEN = "~/.ray/auth_token"  # noqa: S105 - where Ray keeps it

_USERS: set[int] = set()  # objects of this process that use Ray


class Lost:
    """The answer of a shard whose process has ended, or cannot be reached."""


class _ShardActor(Shard):
    """A shard in a process of its own; errors are answers."""

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Return the result of a method, or its failure."""
        try:
            with database_errors():
                return getattr(self, method)(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - the other side waits for an answer
            return failure_of(error)

    def process(self) -> int:
        """Return the number of the actor's process."""
        return os.getpid()


class RayShards:
    """The actors of the shards that a file describes; close it, and those that were started for it end."""

    def __init__(self, file: ClusterFile) -> None:
        self._ray, self._started = _connected(file.address)
        _USERS.add(id(self))
        self._remains = bool(file.address)  # actors outlive this process
        self._actors: dict[str, Any] = {}
        self._own: list[Any] = []  # those that this object started, although they outlive it
        try:
            for shard in file.shards:
                self._check_node(shard)  # before the first actor, which may outlive this process
            for shard in file.shards:
                self._actors[shard.name] = self._actor(file, shard)
        except BaseException:
            self.withdraw()
            raise

    def _actor(self, file: ClusterFile, shard: ShardPlace) -> Any:
        place = file.place_of(shard)
        options: dict[str, Any] = {"num_cpus": 0, "max_restarts": -1, "max_concurrency": _CALLS}
        if shard.node:
            options["resources"] = {f"node:{shard.node}": 0.001}
        if self._remains:
            digest = blake2b(place.encode(errors="surrogatepass"), digest_size=8).hexdigest()
            options |= {"name": f"{shard.name}-{digest}", "lifetime": "detached", "get_if_exists": True}
        is_new = self._remains and not self._exists(options["name"])
        actor = self._ray.remote(_ShardActor).options(**options).remote(place)
        if is_new:
            self._own.append(actor)
        return actor

    def _exists(self, name: str) -> bool:
        try:
            self._ray.get_actor(name)
        except ValueError:
            return False
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the shards."""
        return tuple(self._actors)

    def _check_node(self, shard: ShardPlace) -> None:
        if shard.node and f"node:{shard.node}" not in self._ray.cluster_resources():
            raise CollectionError(f"the Ray cluster has no machine {shard.node}, where the shard {shard.name} is")

    def add(self, file: ClusterFile, shard: ShardPlace) -> None:
        """Start the actor of one more shard."""
        self._check_node(shard)
        self._actors[shard.name] = self._actor(file, shard)

    def replace(self, file: ClusterFile, shard: ShardPlace) -> None:
        """Let another actor hold a shard, at its place in `file`; searches meanwhile miss the shard, and say so."""
        self._check_node(shard)
        actor, self._actors[shard.name] = self._actors.get(shard.name), None
        if actor is not None:
            self._ray.kill(actor)
        self._actors[shard.name] = self._actor(file, shard)

    def drop(self, name: str) -> None:
        """End the actor of a shard; nothing happens if another thread has dropped it."""
        actor = self._actors.pop(name, None)
        if actor is not None:
            self._ray.kill(actor)

    def shared(self, value: Any) -> Any:
        """Return a reference to a large value, for which it is sent to each machine once."""
        return self._ray.put(value)

    def ask(self, calls: Mapping[str, Call], seconds: float | None = None) -> dict[str, Any]:
        """Call methods of several shards at a time; return the result of each, a `Failure` or a `Lost`.

        The latter, too, if it takes longer than so many `seconds`.
        """
        actors = dict(self._actors)  # another thread may add and drop some
        waiting = {
            name: actors[name].call.remote(call.method, *call.arguments, **call.named)
            for name, call in calls.items()
            if actors.get(name) is not None
        }
        return {name: self._answer(waiting[name], seconds) if name in waiting else Lost() for name in calls}

    def _answer(self, reference: Any, seconds: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=seconds)
        except (errors.RayActorError, errors.OwnerDiedError, errors.GetTimeoutError):
            return Lost()
        except self._ray.exceptions.RayTaskError as error:
            return Failure(CollectionError(f"a shard failed: {error.cause}"))

    def processes(self) -> dict[str, Any]:
        """Return the number of the process of each actor, or `Lost`."""
        waiting = {name: actor.process.remote() for name, actor in dict(self._actors).items() if actor}
        return {name: self._answer(reference) for name, reference in waiting.items()}

    def stop(self) -> None:
        """End the actors, also those that outlive this process."""
        for actor in filter(None, self._actors.values()):
            self._ray.kill(actor)

    def withdraw(self) -> None:
        """End the actors that this object started, also those that outlive this process, and disconnect."""
        for actor in self._own:
            self._ray.kill(actor)
        self.close()

    def close(self) -> None:
        """End the actors unless they outlive this process, and disconnect unless it was connected before."""
        if not self._remains:
            self.stop()
        _USERS.discard(id(self))
        if self._started and not _USERS:
            self._ray.shutdown()


def _has_token() -> bool:
    """Return whether this user has a token, which clusters of Ray ask for if the user who started them had one."""
    return bool({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()) or Path(_TOKEN).expanduser().exists()


def _connected(address: str) -> tuple[Any, bool]:
    """Return Ray, connected to the cluster at an address or to a new one, and whether this connected it.

    Raises CollectionError if that fails.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "(?s).")  # its messages would go to standard output
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise CollectionError("shards need Ray: python -m pip install 'moverank[ray]'") from error
    if ray.is_initialized():
        return ray, False
    handler = signal.getsignal(signal.SIGTERM)
    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE_BYTES, "num_cpus": os.cpu_count()}
    try:
        ray.init(
            address=address or "local",
            namespace="moverank",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else own),
        )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        hint = f"; it may ask for the token that {_TOKEN} of its first machine has: copy that file" if address else ""
        raise CollectionError(
            f"the Ray cluster at {address or 'this machine'} cannot be used: {error}{hint}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray's own prints a stack
    return ray, True
