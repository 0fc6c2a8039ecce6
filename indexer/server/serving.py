"""Runs the server until it is ended by a signal; running requests are answered first."""

import logging
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from moverank.indexer.errors import UsageError
from moverank.indexer.server.application import application
from moverank.indexer.server.guard import WITHOUT_TOKEN, Access, allowed_hosts
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.metrics import Metrics
from moverank.indexer.server.opening import check_collections, served_collections
from moverank.indexer.server.parent import end_with_parent
from moverank.indexer.server.processes import serve_by_processes
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.workers import Workers

_SWITCH = 0.0005  # seconds: a thread that leaves a kernel waits less for the interpreter
_GRACE = 30  # seconds for running requests after a signal
_BACKLOG = 2048
_LEAST_TOKEN = 16  # characters


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The collections by name, the address, and who may use it.

    `token_file` has the token; `open_to_all`: no token is needed although the address is not a local one. `hosts`
    are more names of this server, `origins` the web origins whose pages may use it. `open_paths` need no token.
    `read_only`: no changes. `reports` is a directory of files that `evaluate` wrote, for the page of measurements.
    `processes` answer requests, each with its own interpreter, which one process uses one core of for most of a
    search.
    """

    places: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8080
    token_file: Path | None = None
    open_to_all: bool = False
    read_only: bool = False
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    open_paths: Sequence[str] = ()
    reports: Path | None = None
    processes: int = 1
    limits: Limits = field(default_factory=Limits)


def serve(options: ServeOptions, started: Callable[[str], None] = lambda _: None) -> None:
    """Serve collections until SIGINT or SIGTERM; `started` is called with the URL once requests are answered.

    Raises UsageError for an address that is not safe or not free, and CollectionError.
    """
    access = access_of(options)
    if options.reports is not None and not options.reports.is_dir():
        raise UsageError(f"{options.reports} is no directory: name that of the files which `evaluate` wrote")
    with _bound(options) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        if options.processes > 1:
            check_collections(options.places)
            serve_by_processes(_config(Made(options, access), options), listener, lambda: started(url))
            return
        server = _Server(_config(Made(options, access)(), options), lambda: started(url))
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has ended
            server.run(sockets=[listener])


@dataclass(frozen=True, slots=True)
class Made:
    """Makes the application in the process that serves it."""

    options: ServeOptions
    access: Access

    def __call__(self) -> ASGIApp:
        """Open the collections, and return the application; CollectionError."""
        end_with_parent()
        options, limits = self.options, self.options.limits
        collections = served_collections(options.places, limits)
        state = ServerState(collections, Workers(limits), limits, Metrics(), options.read_only)
        _allow_many_connections()
        sys.setswitchinterval(_SWITCH)
        return application(state, self.access, options.reports)


def _config(app: ASGIApp | Made, options: ServeOptions) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, Made),
        workers=options.processes,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=30,
    )


def access_of(options: ServeOptions) -> Access:
    """Return who may use a server; UsageError for an address that is not local without a token."""
    token = _token(options.token_file) if options.token_file else None
    if not _is_local(options.host) and token is None and not options.open_to_all:
        raise UsageError(
            f"{options.host} can be reached by others: give --token-file FILE, or --no-auth to let everybody in"
        )
    hosts, everywhere = allowed_hosts(options.host, options.hosts, socket.gethostname())
    return Access(hosts, token, everywhere, tuple(options.origins), WITHOUT_TOKEN.union(options.open_paths))


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _token(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the token cannot be read: {error}") from error
    if len(token) < _LEAST_TOKEN or not token.isprintable() or " " in token:
        raise UsageError(f"{path}: a token needs {_LEAST_TOKEN} characters or more, without spaces")
    return token


def _bound(options: ServeOptions) -> socket.socket:
    """Return a socket that listens at the address; UsageError if that is not free or not of this machine."""
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        created = socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise UsageError(f"cannot listen at {options.host}:{options.port}: {reason}") from error
    # Named as TCP, asyncio sends without Nagle's delay: 40 ms of an answer over a connection that is kept.
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
