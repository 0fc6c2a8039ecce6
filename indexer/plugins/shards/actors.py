"""Ray: one actor for each shard, on the machine that has it. The only module that imports Ray."""

import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from math import inf
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from moverank.indexer.errors import CollectionError, IndexerError
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace
from moverank.indexer.plugins.shards.messages import Call, Failure, Lost
from moverank.indexer.plugins.shards.shard import Shard
from moverank.indexer.store import database_errors
from moverank.rerank.errors import RerankError
from moverank.rerank.runtime.deadline import time_is_over

_CALLS = 64  # that an actor runs at a time: most calls wait for other shards
_SLICE = 0.1  # seconds between checks of whether the work has to end
_GRACE = 2.0  # seconds in which shards may still answer after the work has to end
_BUSY = 10.0  # the same for processes which answer other calls
_STARTING = 60.0  # seconds until a new process must answer
_STORE_BYTES = 256 * 2**20  # of Ray's object store, if Ray is started here
_TOKEN = "~/.ray/auth_token"  # noqa: S105 - where Ray keeps it

LEAST_RAY = (2, 59)
"""The first version that refuses unauthenticated clients by itself."""
_INSTALL = "python -m pip install 'moverank[ray]'"

_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # at 0, the address of this machine is 127.0.0.1
_LONGEST = 31  # bytes of the path of a directory for temporary files: Ray and this module add up to 76

_USERS: set[int] = set()  # objects of this process that use Ray
_CLUSTER = ExitStack()  # cleanup of the cluster that was started here, after Ray has ended


class _ShardActor(Shard):
    """A shard in a process of its own; errors are answers."""

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Return the result of a method, or its failure."""
        try:
            with database_errors():
                return self.repaired(method, *arguments, **named)
        except (IndexerError, RerankError, OSError) as error:
            return Failure(error)
        except Exception as error:  # noqa: BLE001 - the other side waits for an answer
            return Failure(CollectionError(f"a shard failed: {type(error).__name__}: {error}"))

    def process(self) -> int:
        """Return the number of the actor's process."""
        return os.getpid()


class RayShards:
    """The actors of the shards that a file describes; `close` ends the actors that were started for it."""

    def __init__(self, file: ClusterFile) -> None:
        self._ray, self._started = _connected(file.address)
        _USERS.add(id(self))
        self._remains = bool(file.address)  # actors outlive this process
        self._actors: dict[str, Any] = {}
        self._own: list[Any] = []  # actors that this object started, although they outlive it
        self._silent: dict[str, tuple[float, Any]] = {}  # start of the silence, and a call whose result ends it
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
        is_new = self._remains and options["name"] not in self._ray.util.list_named_actors()
        actor = self._ray.remote(_ShardActor).options(**options).remote(place)
        if is_new:
            self._own.append(actor)
        return actor

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
        """Let another actor hold a shard, at its place in `file`; searches meanwhile report the shard as missing."""
        self._check_node(shard)
        actor, self._actors[shard.name] = self._actors.get(shard.name), None
        self._silent.pop(shard.name, None)
        if actor is not None:
            self._ray.kill(actor)
        self._actors[shard.name] = self._actor(file, shard)

    def drop(self, name: str) -> None:
        """End the actor of a shard; nothing happens if another thread has dropped it."""
        actor = self._actors.pop(name, None)
        self._silent.pop(name, None)
        if actor is not None:
            self._ray.kill(actor)

    def shared(self, value: Any) -> Any:
        """Return a reference to a large value, which is then sent to each machine only once."""
        return self._ray.put(value)

    def send(self, calls: Mapping[str, Call]) -> dict[str, Any]:
        """Call methods of several shards; return a reference to the result of each shard that can be called."""
        actors = dict(self._actors)  # another thread may add and drop some
        return {
            name: actors[name].call.remote(call.method, *call.arguments, **call.named)
            for name, call in calls.items()
            if actors.get(name) is not None and self._silent_since(name) is None
        }

    def ask(
        self, calls: Mapping[str, Call], seconds: float = inf, hurry: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        """Call methods of several shards at a time; return the result of each, a `Failure` or a `Lost`.

        A shard is also lost if it does not answer within so many `seconds`, or soon after the work of this thread has
        to end, when `hurry` is called. A lost shard is not called until it answers again, as a paused process may.
        """
        references = self.send(calls)
        late = self._waited(references, seconds, hurry)
        return {
            name: Lost(self._silent[name][0] if name in self._silent else inf)
            if name in late or name not in references
            else self._answer(references[name])
            for name in calls
        }

    def _waited(self, references: Mapping[str, Any], seconds: float, hurry: Callable[[], object]) -> set[str]:
        """Return the shards that have no result after so many `seconds`, or when the work has to end.

        A process that then answers another call is only busy, and gets some more seconds; the others are silent.
        """
        began, waiting, pings = time.monotonic(), dict(references), dict[str, Any]()
        until = began + seconds
        while waiting:
            done = self._ray.wait(list(waiting.values()), num_returns=len(waiting), timeout=_SLICE)[0]
            waiting = {name: reference for name, reference in waiting.items() if reference not in done}
            now = time.monotonic()
            if waiting and not pings and (time_is_over() or now > until):
                until = min(until, now)
                pings = {name: self._actors[name].process.remote() for name in waiting if self._actors.get(name)}
                if time_is_over():
                    hurry()
            if pings and now > until + _GRACE:
                silent = waiting.keys() - {name for name in pings if self._ray.wait([pings[name]], timeout=0)[0]}
                self._silent = {name: (began, pings[name]) for name in silent if name in pings} | self._silent
                if waiting.keys() == silent or now > until + _BUSY:
                    break
        return set(waiting)

    def _silent_since(self, name: str) -> float | None:
        """Return the time since which a shard has not answered; None if it answers."""
        silent = self._silent.get(name)
        if silent is not None and self._ray.wait([silent[1]], timeout=0)[0]:
            self._silent.pop(name, None)
            return None
        return silent and silent[0]

    def _answer(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except (errors.RayActorError, errors.OwnerDiedError):
            return Lost()
        except errors.RayTaskError as error:
            return Failure(CollectionError(f"a shard failed: {error.cause}"))

    def processes(self) -> dict[str, int | None]:
        """Return the number of the process of each actor, None for one that cannot be reached."""
        found = self.ask(dict.fromkeys(self._actors, Call("process")), _STARTING)
        return {name: number if isinstance(number, int) else None for name, number in found.items()}

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
            _CLUSTER.close()


def _has_token() -> bool:
    """Return whether this user has a token, which Ray's clusters require if they were started with one."""
    return bool({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()) or Path(_TOKEN).expanduser().exists()


def _connected(address: str) -> tuple[Any, bool]:
    """Return Ray, connected to the cluster at an address or to a new one, and whether this call connected it.

    Raises CollectionError if that fails.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage data are sent
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "(?s).")  # its messages would go to standard output
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise CollectionError(f"shards need Ray: {_INSTALL}") from error
    if tuple(map(int, re.findall(r"\d+", ray.__version__)[:2])) < LEAST_RAY:
        least = ".".join(map(str, LEAST_RAY))
        raise CollectionError(
            f"shards need Ray {least} or later: {ray.__version__} runs what strangers send it: {_INSTALL}"
        )
    if ray.is_initialized():
        return ray, False
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if address:
            _initialized(ray, address=address)
        else:
            _start(ray)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        hint = f"; it may ask for the token that {_TOKEN} of its first machine has: copy that file" if address else ""
        raise CollectionError(
            f"the Ray cluster at {address or 'this machine'} cannot be used: {error}{hint}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray's handler prints a stack
    return ray, True


def _initialized(ray: Any, **choices: Any) -> None:
    ray.init(namespace="moverank", log_to_driver=False, logging_level=logging.ERROR, **choices)


def _start(ray: Any) -> None:
    """Start a cluster for this process and its children alone.

    It has a directory that other users cannot read, a token that is written nowhere, and loopback addresses.
    """
    with ExitStack() as stack:
        own = TemporaryDirectory(prefix="r", dir=_short_directory(), ignore_cleanup_errors=True)
        inner = stack.enter_context(own) + "/r"  # Ray makes its directory writable for all users
        with _alone(ray):
            _initialized(
                ray,
                address="local",
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                num_cpus=os.cpu_count(),
                _temp_dir=inner,
            )
        stack.callback(_read_environment, ray)  # the token is forgotten
        _CLUSTER.push(stack.pop_all())


@contextmanager
def _alone(ray: Any) -> Iterator[None]:
    """Let Ray, while it starts, give its processes a random token and addresses of this machine alone."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32), _LOOPBACK: "0"}
    before = {name: os.environ.get(name) for name in own}
    constants = ray._private.ray_constants  # noqa: SLF001 - the variable was read when Ray was imported
    enabled = constants.ENABLE_RAY_CLUSTER
    os.environ.update(own)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        _read_environment(ray)
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = enabled
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _read_environment(ray: Any) -> None:
    """Let Ray read its variables again: it reads them only when it is imported, or first uses its token."""
    ray._raylet.Config.initialize("")  # noqa: SLF001 - Ray has no public API for this
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()  # noqa: SLF001


def _short_directory() -> str:
    """Return a directory for temporary files in which Ray's sockets have a path of at most 107 bytes."""
    chosen = os.environ.get("RAY_TMPDIR") or gettempdir()
    return chosen if len(os.fsencode(chosen)) <= _LONGEST else "/tmp"  # noqa: S108 - directories made there are private
