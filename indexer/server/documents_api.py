"""The documents of the collections of a server: read, added, replaced and removed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from moverank.indexer.formatters.json_objects import changes_object, description_object, entry_object
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.record_lines import document_of_record
from moverank.indexer.readers.records import with_key
from moverank.indexer.server.collections_api import ServedHere, State, answered
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.served import Served
from moverank.indexer.server.served import State as View
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.workers import Task
from moverank.indexer.server.writer_process import Change, remove_key, remove_where, write_document, write_records

router = APIRouter(prefix="/collections", tags=["documents"])

Object = dict[str, Any]
_MOST = 1000  # documents of a page


@router.get("/{name}/documents")
async def list_documents(
    served: ServedHere,
    state: State,
    request: Request,
    where: Annotated[list[str] | None, Query(description="A filter, as of --where; repeatable.")] = None,
    first: Annotated[int, Query(ge=0, description="How many documents to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
) -> Object:
    """List documents without their texts, in the order in which they were added."""

    def work(view: View, _: Task) -> Object:
        with view.contents(where) as contents:
            entries = [entry_object(entry) for entry in contents.entries(limit, first)]
            return {"documents": entries, "found": len(contents), "total": contents.total}

    return await answered(state, served, request, work)


@router.get("/{name}/documents/{key:path}")
async def show_document(served: ServedHere, state: State, request: Request, key: str) -> Object:
    """Return a whole document as `export` writes it, with the facts that are stored about it."""

    def work(view: View, _: Task) -> Object:
        with view.contents() as contents:
            return description_object(contents.describe(key))

    return await answered(state, served, request, work)


@router.put("/{name}/documents/{key:path}")
async def put_document(served: ServedHere, state: State, key: str, record: Object) -> Object:
    """Add or replace the document of a key, whatever key its record has; the answer comes when that is durable."""
    try:
        document = document_of_record(with_key(record, key), key)
    except BadRecord as bad:
        raise Problem(422, bad.reason) from bad
    return await _changed(state, served, partial(write_document, document))


@router.post(
    "/{name}/documents",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
            "description": "JSONL: a document or a thread on each line.",
        }
    },
)
async def add_documents(served: ServedHere, state: State, request: Request) -> Object:
    """Add or replace the documents of a JSONL body, all or none of them; the answer comes when they are durable."""
    async with _uploaded(request, state) as path:
        return await _changed(state, served, partial(write_records, str(path)))


@router.delete("/{name}/documents/{key:path}")
async def delete_document(served: ServedHere, state: State, key: str) -> Object:
    """Remove one document."""
    return await _changed(state, served, partial(remove_key, key))


@router.delete("/{name}/documents")
async def delete_documents(
    served: ServedHere, state: State, where: Annotated[list[str], Query(description="A filter, as of --where.")]
) -> Object:
    """Remove the documents that pass a filter; all of them only one by one."""
    return await _changed(state, served, partial(remove_where, tuple(where)))


async def _changed(state: ServerState, served: Served, change: Change) -> Object:
    """Return the changes that the writer of a collection has committed."""
    _check_writable(state)
    return changes_object(await asyncio.wrap_future(served.write(change)))


def _check_writable(state: ServerState) -> None:
    """Raise a Problem 403 if the server is read-only."""
    if state.read_only:
        raise Problem(403, "this server is read-only")


@asynccontextmanager
async def _uploaded(request: Request, state: ServerState) -> AsyncIterator[Path]:
    """Write the body of a request to a file as it arrives; Problem 403 and 413."""
    _check_writable(state)
    with NamedTemporaryFile(prefix="moverank-", suffix=".jsonl") as file:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > state.limits.upload:
                raise Problem(413, f"at most {state.limits.upload:,} bytes are allowed in an upload here")
            await asyncio.to_thread(file.write, chunk)
        if not size:
            raise Problem(422, "the body is empty: send a document on each line")
        file.flush()
        yield Path(file.name)
