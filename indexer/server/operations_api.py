"""The endpoints of operations: each one's body, answer and description are made of its record."""

from collections import Counter
from typing import Any

from fastapi import APIRouter, Depends, Request

from moverank.indexer.operations.compare import Compare, CompareVersions
from moverank.indexer.operations.operation import Operation
from moverank.indexer.option import options_of
from moverank.indexer.ranked_texts import QueryText, SomeTexts
from moverank.indexer.server.answers import JsonObject, sends
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.requests import Body, as_query, model_of
from moverank.indexer.server.search_api import ServedHere, ThisServer, answered, known_parameters
from moverank.indexer.server.served import State
from moverank.indexer.server.workers import Task


def operations_router(operations: tuple[type[Operation[Any]], ...]) -> APIRouter:
    """Return a router with an endpoint for each operation."""
    router = APIRouter(prefix="/collections", tags=["collections"], dependencies=[Depends(known_parameters)])
    for operation in operations:
        _add(router, operation)
    return router


def _add(router: APIRouter, kind: type[Operation[Any]]) -> None:
    body_type = model_of(kind)

    async def endpoint(served: ServedHere, state: ThisServer, request: Request, body: Body) -> JsonObject:
        values = {one.name: getattr(body, one.key) for one in options_of(kind).values()}
        _check_numbers(kind, values, state.limits)

        def work(view: State, _: Task) -> JsonObject:
            operation = kind(**_with_documents(kind, values, state.limits), most_characters=state.limits.characters)
            found: JsonObject = operation.run(view).to_dict()
            return found

        return await answered(state, served, request, work)

    endpoint.__annotations__["body"] = body_type
    route = router.post(
        f"/{{name}}/{kind.NAME}", responses=sends(kind.ANSWER), description=kind.__doc__, name=kind.NAME
    )
    route(endpoint)


def _check_numbers(kind: type[Operation[Any]], values: JsonObject, limits: Limits) -> None:
    """Raise HttpProblem 422 for too many texts and keys of one noun."""
    counts = Counter[str]()
    for name, one in options_of(kind).items():
        counts[one.option.noun] += len(values[name]) if isinstance(values[name], list | tuple) else 0
    for noun, count in counts.items():
        if count > limits.texts:
            raise HttpProblem(422, f"at most {limits.texts} {noun}s are allowed in a request here")


def _with_documents(kind: type[Operation[Any]], values: JsonObject, limits: Limits) -> JsonObject:
    """Return the values with documents in place of texts and records; HttpProblem 413 for one that is too long."""
    found = dict(values)
    for name, one in options_of(kind).items():
        noun, value = one.option.noun, values[name]
        if one.type == QueryText:
            found[name] = as_query(value, limits, noun)
        elif one.type == SomeTexts:
            found[name] = [as_query(text, limits, f"{noun} {i}") for i, text in enumerate(value)]
    return found


router = operations_router((Compare, CompareVersions))
