"""The documents of the collections of a server: read, added, replaced and removed."""

import asyncio
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request
from pydantic import Field

from moverank.indexer.operations.documents import PAGE, Documents, ListDocuments, ShowDocument
from moverank.indexer.plugins.serving.answers import JsonObject, sends
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.record_lines import document_of_record
from moverank.indexer.plugins.serving.search_api import ServedHere, ThisServer, answered, known_parameters
from moverank.indexer.plugins.serving.served import Served, State
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.plugins.serving.writer_process import (
    Change,
    remove_key,
    remove_where,
    write_document,
    write_records,
)
from moverank.indexer.reading.records import BadRecord, with_key
from moverank.indexer.state.contents import Description
from moverank.indexer.values.documents import Changes

router = APIRouter(prefix="/collections", tags=["documents"], dependencies=[Depends(known_parameters)])

Key = Annotated[str, Field(description="The key of the document; in a path, a slash in it may stand as it is.")]
"""A part of the path or, since clients change paths with the segments `.` and `..`, a parameter of the URL."""
JsonBody = Annotated[
    JsonObject,
    Body(description="A document or a thread, with the fields that `index` and `threads` read, such as `text`."),
]
WaitForSearches = Annotated[bool, Query(description="Answer once searches see the change; 504 if they do not in time.")]
_INTERVAL = 0.05  # seconds between two checks whether a change is searched


@router.get("/{name}/documents", responses=sends(Documents, revised=True))
async def list_documents(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    where: Annotated[list[str] | None, Query(description="A filter, as of --where; repeatable.")] = None,
    first: Annotated[int, Query(ge=0, description="How many documents to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE, description="How many documents to return.")] = 100,
) -> JsonObject:
    """List documents without their texts, in the order in which they were added."""
    operation = ListDocuments(where=where, first=first, limit=limit)
    return await answered(state, served, request, lambda view, _: operation.run(view).to_dict())


@router.get("/{name}/documents/{key:key}", responses=sends(Description))
@router.get("/{name}/document", responses=sends(Description), name="show_document_by_key")
async def show_document(served: ServedHere, state: ThisServer, request: Request, key: Key) -> JsonObject:
    """Return a whole document as `export` writes it, with the facts that are stored about it."""

    def work(view: State, _: Task) -> JsonObject:
        return ShowDocument(key=key).run(view).to_dict() | {"revision": view.revision}

    return await answered(state, served, request, work)


@router.put("/{name}/documents/{key:key}", responses=sends(Changes))
@router.put("/{name}/document", responses=sends(Changes), name="put_document_by_key")
async def put_document(
    served: ServedHere, state: ThisServer, key: Key, record: JsonBody, wait: WaitForSearches = False
) -> JsonObject:
    """Add or replace the document of a key, whatever key its record has; the answer comes when that is durable."""
    try:
        document = await asyncio.to_thread(lambda: document_of_record(with_key(record, key), key))
    except BadRecord as bad:
        raise HttpProblem(422, bad.reason) from bad
    return await changed(state, served, partial(write_document, document), wait=wait)


@router.post(
    "/{name}/documents",
    responses=sends(Changes),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            },
            "description": "JSONL: a document or a thread on each line.",
        }
    },
)
async def add_documents(
    served: ServedHere, state: ThisServer, request: Request, wait: WaitForSearches = False
) -> JsonObject:
    """Add or replace the documents of a JSONL body, all or none of them; the answer comes when they are durable."""
    async with _uploaded(request, state) as path:
        return await changed(state, served, partial(write_records, str(path), state.limits.records), wait=wait)


@router.delete("/{name}/documents/{key:key}", responses=sends(Changes))
@router.delete("/{name}/document", responses=sends(Changes), name="delete_document_by_key")
async def delete_document(served: ServedHere, state: ThisServer, key: Key, wait: WaitForSearches = False) -> JsonObject:
    """Remove one document."""
    return await changed(state, served, partial(remove_key, key), wait=wait)


@router.delete("/{name}/documents", responses=sends(Changes))
async def delete_documents(
    served: ServedHere,
    state: ThisServer,
    where: Annotated[list[str], Query(description="A filter, as of --where.")],
    wait: WaitForSearches = False,
) -> JsonObject:
    """Remove the documents that pass a filter; all of them only one by one."""
    return await changed(state, served, partial(remove_where, tuple(where)), wait=wait)


async def changed(state: ServerState, served: Served, change: Change, *, wait: bool) -> JsonObject:
    """Return the changes that a collection's writer has committed; `wait`: once this process searches them."""
    check_writable(state)
    changes = await _committed(served, change, state.limits)
    try:
        async with asyncio.timeout(state.limits.seconds):
            while wait and served.revision < changes.revision:
                await asyncio.sleep(_INTERVAL)
    except TimeoutError as error:
        raise HttpProblem(
            504, "the change was made, but is not searched yet: it will be, without another request"
        ) from error
    return changes.to_dict()


async def _committed(served: Served, change: Change, limits: Limits) -> Changes:
    """Return the changes once they are committed; HttpProblem 504 if that takes too long, or the database hangs."""
    writing, began = asyncio.wrap_future(served.write(change)), monotonic()
    while not (await asyncio.wait({writing}, timeout=_INTERVAL))[0]:
        waited = monotonic() - began
        if waited > limits.change_seconds or (served.problem and waited > limits.seconds):
            writing.add_done_callback(asyncio.Future.exception)  # no caller is left to read it
            reason = "the database does not answer" if served.problem else "the time for a change is over"
            raise HttpProblem(504, f"{reason}: the change is made as a whole or not at all; look later whether it was")
    return writing.result()


def check_writable(state: ServerState) -> None:
    """Raise HttpProblem 403 if the server is read-only."""
    if state.read_only:
        raise HttpProblem(403, "this server is read-only")


@asynccontextmanager
async def _uploaded(request: Request, state: ServerState) -> AsyncIterator[pathlib.Path]:
    """Write the body of a request to a file as it arrives; HttpProblem 403 if the server is read-only."""
    check_writable(state)
    with NamedTemporaryFile(prefix="moverank-", suffix=".jsonl") as file:
        async for chunk in request.stream():
            await asyncio.to_thread(file.write, chunk)
        file.flush()
        if not file.tell():
            raise HttpProblem(422, "the body is empty: send a document on each line")
        yield pathlib.Path(file.name)
