"""Runs the server until it is ended by a signal; running requests are answered first.

Several processes may answer at one address: each has its own interpreter, and opens the collections for itself.
"""

import logging
import os
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from moverank.indexer.errors import UsageError
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.opening import other_store
from moverank.indexer.plugins.serving.application import application, prefix_of
from moverank.indexer.plugins.serving.connections import MAX_HEAD, Connection, Loop
from moverank.indexer.plugins.serving.ending import GRACE, Ending, end_with_parent
from moverank.indexer.plugins.serving.guard import WITHOUT_TOKEN, Access, allowed_hosts, checked_origin
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.log import start_log
from moverank.indexer.plugins.serving.metrics import DIRECTORY, Metrics
from moverank.indexer.plugins.serving.served import Served
from moverank.indexer.plugins.serving.served_collection import ServedCollection
from moverank.indexer.plugins.serving.served_store import ServedStore
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.tokens import Tokens
from moverank.indexer.plugins.serving.workers import Workers
from moverank.indexer.values.search_options import ServeOptions
from moverank.rerank.distance.cell_limit import limit_cells


def check_collections(places: dict[str, Path]) -> None:
    """Raise CollectionError if one of the collections cannot be opened by several processes."""
    for place in places.values():
        if kind := other_store(place):
            kind.check_shared(place)
        else:
            store, *_ = open_collection(place)
            store.close()


def served_collections(places: dict[str, Path], limits: Limits) -> dict[str, Served]:
    """Open collections by name; CollectionError if one of them cannot be opened, after closing the others."""
    opened: dict[str, Served] = {}
    try:
        for name, place in places.items():
            kind = ServedStore if other_store(place) else ServedCollection
            opened[name] = kind(name, place, limits)
    except BaseException:
        for one in opened.values():
            one.close()
        raise
    return opened


def serve_by_processes(config: uvicorn.Config, listener: socket.socket, started: Callable[[], None]) -> None:
    """Serve by `config.workers` processes until SIGINT or SIGTERM; a process that dies is replaced.

    The application of `config` is a factory, which each process calls. `started` is called once all of them answer.
    """
    with TemporaryDirectory(prefix="moverank-metrics-") as directory:
        os.environ[DIRECTORY] = directory  # read by the processes when they import prometheus-client
        with suppress(KeyboardInterrupt):
            _Processes(config, [listener], started).run()


class _Processes(Multiprocess):
    """The processes of a server: the parent reports when all answer, and drops the gauges of dead ones."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], started: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._started: Callable[[], None] | None = started
        Ending(lambda: None).handle_signals()  # the processes stop their requests themselves

    def keep_subprocess_alive(self) -> None:
        """Replace dead processes, and report the first time that all answer."""
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for dead in before - {process.pid for process in self.processes}:
            mark_process_dead(dead)
        if self._started and all(process.is_ready() for process in self.processes):
            self._started()
            self._started = None


_BACKLOG = 2048


def run_server(
    places: dict[str, Path], options: ServeOptions, limits: Limits, started: Callable[[str], None] = lambda _: None
) -> None:
    """Serve the collections at `places`, by name, until SIGINT or SIGTERM.

    `started` is called with the URL once requests are answered. Raises UsageError for an
    address that is not safe or not free, and CollectionError.
    """
    access, prefix = access_of(options), prefix_of(options.root_path)
    for proxy in options.proxy or ():
        _check_proxy(proxy)
    factory = ApplicationFactory(places, options, limits, access, prefix)
    with _bound(options) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        start_log(options.log)
        if options.processes > 1:
            check_collections(places)
            serve_by_processes(_config(factory, options, limits), listener, lambda: started(url))
            return
        server = _Server(_config(factory(), options, limits), lambda: started(url))
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again at its end
            server.run(sockets=[listener])


@dataclass(frozen=True, slots=True)
class ApplicationFactory:
    """The factory of the application, called in the process that serves it."""

    places: dict[str, Path]
    options: ServeOptions
    limits: Limits
    access: Access
    prefix: str

    def __call__(self) -> ASGIApp:
        """Open the collections, and return the application; CollectionError."""
        end_with_parent()
        options, limits = self.options, self.limits
        start_log(options.log)
        limit_cells(limits.cells)
        collections = served_collections(self.places, limits)
        state = ServerState(collections, Workers(limits), limits, Metrics(), options.read_only)
        _allow_many_connections()
        return application(state, self.access, self.prefix)


def _config(app: ASGIApp | ApplicationFactory, options: ServeOptions, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, ApplicationFactory),
        workers=options.processes,
        log_config=None,
        log_level=logging.ERROR,  # warnings are about the input of clients, which could fill the log
        loop=partial(Loop, limits.connections),
        http=Connection,
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD,
        access_log=False,
        server_header=False,
        proxy_headers=bool(options.proxy),  # by default, uvicorn trusts every client on this machine
        forwarded_allow_ips=list(options.proxy or ()),
        timeout_graceful_shutdown=GRACE + 2,  # the last seconds answer stopped requests
        timeout_keep_alive=limits.idle,
    )


def access_of(options: ServeOptions) -> Access:
    """Return the clients that may use a server; UsageError for a bad file or origin, or no token at an open address."""
    tokens = Tokens(options.token_file) if options.token_file else None
    if not _is_local(options.host) and tokens is None and not options.no_auth:
        raise UsageError(
            f"{options.host} can be reached by others: give --token-file FILE, or --no-auth to let everybody in"
        )
    hosts, everywhere = allowed_hosts(options.host, options.allow_host or (), socket.gethostname())
    origins = tuple(map(checked_origin, options.cors or ()))
    open_paths = WITHOUT_TOKEN | ({"/metrics"} if options.open_metrics else set())
    return Access(hosts, tokens, everywhere, origins, open_paths)


def _check_proxy(text: str) -> None:
    """Raise UsageError unless `text` is the address or the network of a proxy, not of all clients."""
    try:
        found = ip_network(text)
    except ValueError as error:
        raise UsageError(f"--proxy {text!r}: {error}") from error
    if not found.prefixlen:
        raise UsageError(f"--proxy {text!r}: all clients could send any address as theirs: name that of the proxy")


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _bound(options: ServeOptions) -> socket.socket:
    """Return a socket that listens at the address; UsageError if the address is taken, or not of this machine."""
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        created = socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise UsageError(f"cannot listen at {options.host}:{options.port}: {reason}") from error
    # With the protocol named TCP, asyncio disables Nagle's algorithm, which delays answers by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=created.detach())
    listener.setblocking(False)
    return listener


def _allow_many_connections() -> None:
    """Raise the limit of open files to the most that this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Server(uvicorn.Server):
    """A server that reports when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report."""
        await super().startup(sockets)
        if self.started:
            self._ready()
