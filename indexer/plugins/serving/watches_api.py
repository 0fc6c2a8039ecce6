"""The watches of the collections of a server, and their events, as of the last commit."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from moverank.indexer.arguments import LARGEST
from moverank.indexer.documents import Changes, Document
from moverank.indexer.filters.where import alternatives, checked_size
from moverank.indexer.plugins.serving.answers import EventsObject, JsonObject, WatchesObject, sends
from moverank.indexer.plugins.serving.documents_api import changed, check_writable
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.requests import WatchBody, as_query
from moverank.indexer.plugins.serving.search_api import ServedHere, ThisServer, known_parameters
from moverank.indexer.plugins.serving.served import Served
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.writer_process import put_watch, remove_watch
from moverank.indexer.store import Reader

router = APIRouter(prefix="/collections", tags=["watches"], dependencies=[Depends(known_parameters)])

WatchName = Annotated[str, Field(description="The name of the watch.")]
_MOST = 1000  # watches or events of an answer; the watches of a collection have few enough characters for one


@router.get("/{name}/watches", responses=sends(WatchesObject))
async def list_watches(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    first: Annotated[int, Query(ge=0, le=LARGEST, description="How many watches to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="How many watches to return.")] = 100,
) -> JsonObject:
    """List watches by name."""

    def work(reader: Reader) -> JsonObject:
        listed = [watch.to_dict() for watch in reader.watches(first, limit)]
        return {"watches": listed, "total": reader.watch_count(), "revision": reader.revision()}

    return await _read(state, served, request, work)


@router.put("/{name}/watches/{watch:key}", responses=sends(Changes))
async def put_watch_by_name(served: ServedHere, state: ThisServer, watch: WatchName, body: WatchBody) -> JsonObject:
    """Add a watch, or replace the one of this name: documents that are added or changed later yield its events."""
    check_writable(state)
    query = await asyncio.to_thread(_checked_query, body, state.limits)
    change = partial(
        put_watch, (watch, query, body.within), {"rank": body.rank, "gamma": body.gamma, "where": body.where}
    )
    return await changed(state, served, change, wait=False)


@router.delete("/{name}/watches/{watch:key}", responses=sends(Changes))
async def delete_watch(served: ServedHere, state: ThisServer, watch: WatchName) -> JsonObject:
    """Remove a watch; its events stay."""
    return await changed(state, served, partial(remove_watch, watch), wait=False)


@router.get("/{name}/events", responses=sends(EventsObject))
async def list_events(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="Only events with a larger number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="How many events to return.")] = 100,
) -> JsonObject:
    """Return the first events of watches after a number, in their order."""

    def work(reader: Reader) -> JsonObject:
        events = [event.to_dict() for event in reader.events(after, limit)]
        return {"events": events, "revision": reader.revision()}

    return await _read(state, served, request, work)


def _checked_query(body: WatchBody, limits: Limits) -> Document:
    """Return the query of a watch; UsageError or HttpProblem for one, or a filter, beyond the limits."""
    if body.where is not None:
        checked_size(alternatives(body.where), limits.conditions, limits.values)
    return as_query(body.query, limits)


async def _read(
    state: ServerState, served: Served, request: Request, work: Callable[[Reader], JsonObject]
) -> JsonObject:
    """Return the object that `work` makes of the last commit."""
    return await state.workers.run(request, lambda _: served.read(work))
