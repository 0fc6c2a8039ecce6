"""The watches of the collections of a server, and their events, as of the last commit."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from moverank.indexer.filters.where import alternatives, checked_size
from moverank.indexer.formatters.watch_lines import watch_object
from moverank.indexer.server.answers import ChangesObject, EventsObject, JsonObject, WatchesObject, sends
from moverank.indexer.server.documents_api import changed
from moverank.indexer.server.requests import WatchBody, as_query
from moverank.indexer.server.search_api import ServedHere, ThisServer, known_parameters
from moverank.indexer.server.served import Served
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.writer_process import put_watch, remove_watch
from moverank.indexer.store import Reader
from moverank.indexer.watching.watches import Watch

router = APIRouter(prefix="/collections", tags=["watches"], dependencies=[Depends(known_parameters)])

WatchName = Annotated[str, Field(description="The name of the watch.")]
_MOST = 1000  # events of an answer


@router.get("/{name}/watches", responses=sends(WatchesObject))
async def list_watches(served: ServedHere, state: ThisServer, request: Request) -> JsonObject:
    """List the watches by name."""

    def work(reader: Reader) -> JsonObject:
        watches = [watch_object(Watch.of(stored)) for stored in reader.watches()]
        return {"watches": watches, "revision": reader.revision()}

    return await _read(state, served, request, work)


@router.put("/{name}/watches/{watch:key}", responses=sends(ChangesObject))
async def put_watch_by_name(served: ServedHere, state: ThisServer, watch: WatchName, body: WatchBody) -> JsonObject:
    """Add a watch, or replace the one of this name: documents that are added or changed later yield its events."""
    if body.where is not None:
        checked_size(alternatives(body.where), state.limits.conditions, state.limits.values)
    query = as_query(body.query, state.limits)
    change = partial(
        put_watch, (watch, query, body.within), {"rank": body.rank, "gamma": body.gamma, "where": body.where}
    )
    return await changed(state, served, change, wait=False)


@router.delete("/{name}/watches/{watch:key}", responses=sends(ChangesObject))
async def delete_watch(served: ServedHere, state: ThisServer, watch: WatchName) -> JsonObject:
    """Remove a watch; its events stay."""
    return await changed(state, served, partial(remove_watch, watch), wait=False)


@router.get("/{name}/events", responses=sends(EventsObject))
async def list_events(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="Only events with a larger number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="How many events to return.")] = 100,
) -> JsonObject:
    """Return the first events of watches after a number, in their order."""

    def work(reader: Reader) -> JsonObject:
        events = [event._asdict() for event in reader.events(after, limit)]
        return {"events": events, "revision": reader.revision()}

    return await _read(state, served, request, work)


async def _read(
    state: ServerState, served: Served, request: Request, work: Callable[[Reader], JsonObject]
) -> JsonObject:
    """Return the object that `work` makes of the last commit."""
    return await state.workers.run(request, lambda _: served.read(work))
