"""The application: routes, errors and checks around the state of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from moverank.indexer.server import collections_api, documents_api, rerank_api, status_api
from moverank.indexer.server.guard import Access, Guard
from moverank.indexer.server.pages import pages_router
from moverank.indexer.server.problems import add_handlers
from moverank.indexer.server.state import ServerState


def application(state: ServerState, access: Access, reports: Path | None = None) -> ASGIApp:
    """Return the ASGI application of a server; `reports` is a directory of files that `evaluate` wrote, for a page."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        state.close()

    app = FastAPI(
        title="moverank",
        version=version("moverank"),
        summary="Semantic search and reranking by exact Word Mover's Distance",
        lifespan=lifespan,
        docs_url=None,  # the usual pages load scripts from another host
        redoc_url=None,
    )
    app.state.moverank = state
    for api in (rerank_api, collections_api, documents_api, status_api):
        app.include_router(api.router)
    app.include_router(pages_router(reports))
    add_handlers(app)
    _watch(state)
    inner: ASGIApp = app
    if access.origins:
        inner = CORSMiddleware(inner, allow_origins=list(access.origins), allow_methods=["*"], allow_headers=["*"])
    return Guard(inner, access, state.limits, state.metrics)


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
