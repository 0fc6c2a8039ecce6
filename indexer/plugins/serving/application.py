"""The application: routes, errors and checks around the state of a server, perhaps below a prefix of a proxy."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.operation_registry import PLUG_INS
from moverank.indexer.plugins.serving import documents_api, rerank_api, search_api, status_api
from moverank.indexer.plugins.serving.ending import Ending
from moverank.indexer.plugins.serving.guard import Access, Guard
from moverank.indexer.plugins.serving.openapi_document import DescribedApp
from moverank.indexer.plugins.serving.operations_api import operations_router
from moverank.indexer.plugins.serving.pages.router import pages_router
from moverank.indexer.plugins.serving.problem_responses import add_handlers
from moverank.indexer.plugins.serving.state import ServerState

_OWN = "collections compare duplicates health info metrics openapi.json ready rerank static v1 v2"
OWN_PATHS = frozenset(_OWN.split())
"""The first segments of the server's paths: a prefix of the same name could not be distinguished from them."""


def application(state: ServerState, access: Access, root_path: str = "") -> ASGIApp:
    """Return the ASGI application of a server.

    `root_path` is the prefix of all paths at a proxy, as `prefix_of` returns it.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        Ending(state.stop).handle_signals()
        yield
        state.close()

    app = DescribedApp(
        access,
        state.limits,
        title="moverank",
        version=version("moverank"),
        summary="Semantic search and reranking by exact Word Mover's Distance",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from another host
        redoc_url=None,
        strict_content_type=False,  # a body without a type counts as JSON: the guard refuses requests of foreign pages
    )
    app.state.moverank = state
    apis = [rerank_api, search_api, documents_api, status_api]
    if PLUG_INS.has("watches"):
        from moverank.indexer.plugins.serving import watches_api

        apis.insert(-1, watches_api)
    for router in (*(api.router for api in apis), operations_router(), pages_router()):
        app.include_router(router)
    add_handlers(app)
    _watch(state)
    guarded = Guard(app, access, state.limits, state.metrics)
    return _BelowPrefix(guarded, root_path) if root_path else guarded


def prefix_of(typed: str) -> str:
    """Return the prefix that a proxy puts in front of all paths, as "/moverank"; "" for none or "/". UsageError."""
    prefix = "".join(f"/{part}" for part in typed.split("/") if part)
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]*[A-Za-z0-9_~-])*", prefix):
        raise UsageError(
            f"--root-path {typed!r}: a prefix has letters, digits, `-`, `_`, `.` and `~` between its slashes"
        )
    if prefix and (first := prefix.split("/")[1]) in OWN_PATHS:
        raise UsageError(
            f"--root-path {typed!r}: the server has paths of its own below /{first}: choose another prefix"
        )
    return prefix


class _BelowPrefix:
    """The application `app` behind a proxy whose paths have a prefix, whether the proxy removes the prefix or not.

    Redirects are paths, because the scheme of the proxy is unknown here.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Remove the prefix of a request, and let links begin with it."""
        if scope["type"] == "http":
            raw = scope.get("raw_path")
            scope = scope | {
                "root_path": self._prefix,
                "path": self._without(scope["path"]),
                "raw_path": raw and self._without(raw.decode("latin-1")).encode("latin-1"),
            }
        await self._app(scope, receive, self._redirecting(send))

    def _without(self, path: str) -> str:
        if path == self._prefix:
            return "/"
        return path.removeprefix(self._prefix) if path.startswith(f"{self._prefix}/") else path

    def _redirecting(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, self._below(value) if name.lower() == b"location" else value)
                    for name, value in message["headers"]
                ]
            await send(message)

        return sent

    def _below(self, location: bytes) -> bytes:
        place = urlsplit(location.decode("latin-1"))
        return (self._prefix + place._replace(scheme="", netloc="").geturl()).encode("latin-1")


def _watch(state: ServerState) -> None:
    """Report the state of the server as metrics."""
    watch = state.metrics.watch
    watch("requests_running", "Requests that a thread works on.", lambda: state.workers.running)
    watch("requests_waiting", "Requests that wait for a thread.", lambda: state.workers.waiting)
    for name, served in state.collections.items():
        revision = partial(getattr, served, "revision")
        watch("revision", "Revision that is searched.", revision, of_all="max", collection=name)
        watch(
            "writes_waiting", "Changes that run or wait.", partial(getattr, served, "waiting_writes"), collection=name
        )
