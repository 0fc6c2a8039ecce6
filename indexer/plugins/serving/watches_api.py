"""The watches of the collections of a server, and their events, as of the last commit, where watches are installed."""

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from moverank.indexer.filters.where import alternatives, checked_size
from moverank.indexer.operations.json_types import model_of
from moverank.indexer.operations.operation import Operation
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.plugins.serving.answers import JsonObject, sends
from moverank.indexer.plugins.serving.documents_api import changed, check_writable
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.requests import as_query
from moverank.indexer.plugins.serving.search_api import ServedHere, ThisServer, known_parameters
from moverank.indexer.plugins.serving.served import Served
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.writer_process import operate
from moverank.indexer.values.arguments import LARGEST
from moverank.indexer.values.documents import Changes, Document
from moverank.indexer.values.option import options_of

router = APIRouter(prefix="/collections", tags=["watches"], dependencies=[Depends(known_parameters)])

WatchName = Annotated[str, Field(description="The name of the watch.")]
_OPERATIONS: Any = map(operation_named, ("watch", "watches", "unwatch", "events"))
_WATCH, _WATCHES, _UNWATCH, _EVENTS = _OPERATIONS
_ABOUT = "A watch: documents that are added or changed later, within a distance of a query, yield events."
WatchBody: Any = model_of("WatchBody", [one for one in options_of(_WATCH).values() if one.name != "name"], _ABOUT)
_MOST = 1000  # watches or events of an answer; the watches of a collection have few enough characters for one


@router.get("/{name}/watches", responses=sends(_WATCHES.ANSWER))
async def list_watches(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    first: Annotated[int, Query(ge=0, le=LARGEST, description="How many watches to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="How many watches to return.")] = 100,
) -> JsonObject:
    """List watches by name."""
    return await _read(state, served, request, _WATCHES(first=first, limit=limit))


@router.put("/{name}/watches/{watch:key}", responses=sends(Changes))
async def put_watch_by_name(served: ServedHere, state: ThisServer, watch: WatchName, body: WatchBody) -> JsonObject:  # type: ignore[valid-type]
    """Add a watch, or replace the one of this name: documents that are added or changed later yield its events."""
    check_writable(state)
    query = await asyncio.to_thread(_checked_query, body, state.limits)
    operation = _WATCH(**{**dict(body), "name": watch, "query": query})
    return await changed(state, served, partial(operate, operation), wait=False)


@router.delete("/{name}/watches/{watch:key}", responses=sends(Changes))
async def delete_watch(served: ServedHere, state: ThisServer, watch: WatchName) -> JsonObject:
    """Remove a watch; its events stay."""
    return await changed(state, served, partial(operate, _UNWATCH(name=watch)), wait=False)


@router.get("/{name}/events", responses=sends(_EVENTS.ANSWER))
async def list_events(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="Only events with a larger number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="How many events to return.")] = 100,
) -> JsonObject:
    """Return the first events of watches after a number, in their order."""
    return await _read(state, served, request, _EVENTS(after=after, limit=limit))


def _checked_query(body: Any, limits: Limits) -> Document:
    """Return the query of a watch; UsageError or HttpProblem for one, or a filter, beyond the limits."""
    if body.where is not None:
        checked_size(alternatives(body.where), limits.conditions, limits.values)
    return as_query(body.query, limits)


async def _read(state: ServerState, served: Served, request: Request, operation: Operation[Any]) -> JsonObject:
    """Return the answer to an operation on the last commit."""
    return await state.workers.run(request, lambda _: served.read(operation).to_dict())
