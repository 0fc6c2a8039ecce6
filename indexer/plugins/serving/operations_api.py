"""The endpoints of operations: each one's body, answer and description are made of its record."""

import inspect
from collections import Counter
from typing import Any

from fastapi import APIRouter, Depends, Request

from moverank.indexer.operations.json_types import model_of, with_documents
from moverank.indexer.operations.operation import Operation, Work
from moverank.indexer.operations.operation_registry import served_operations
from moverank.indexer.operations.search import Search
from moverank.indexer.plugins.serving.answers import JsonObject, sends
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.requests import BUDGET, as_query, check_options
from moverank.indexer.plugins.serving.search_api import ServedHere, ThisServer, answered, count_work, known_parameters
from moverank.indexer.plugins.serving.served import State
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.values.option import built, options_of
from moverank.indexer.values.search_options import silent
from moverank.rerank.ranking import Ranking


def operations_router() -> APIRouter:
    """Return a router with an endpoint for each operation but `Search`, which `search_api` has in several forms."""
    router = APIRouter(prefix="/collections", tags=["collections"], dependencies=[Depends(known_parameters)])
    for operation in served_operations():
        if operation is not Search:
            _add(router, operation)
    return router


def _add(router: APIRouter, kind: type[Operation[Any]]) -> None:
    options, name = options_of(kind), "".join(word.capitalize() for word in kind.NAME.split("-"))
    body_type = model_of(f"{name}Body", {BUDGET.name: BUDGET, **options}.values(), inspect.getdoc(kind))

    async def endpoint(served: ServedHere, state: ThisServer, request: Request, body: Any) -> JsonObject:
        values = {name: getattr(body, one.key) for name, one in options.items() if one.option.http}
        limits, budget = state.limits, body.budget
        check_options(values | {BUDGET.name: budget}, limits)
        _check_numbers(kind, values, limits)
        values |= {BUDGET.name: None} if BUDGET.name in values else {}

        def work(view: State, task: Task) -> JsonObject:
            given = with_documents(kind, values, lambda text, noun: as_query(text, limits, noun))
            operation: Operation[Any] = built(kind, given)
            found = operation.run(view, Work(silent, task.over, limits.characters, limits.answer))
            object_: JsonObject = (count_work(state, found) if isinstance(found, Ranking) else found).to_dict()
            return object_

        return await answered(state, served, request, work, budget)

    endpoint.__annotations__["body"] = body_type
    about: dict[str, Any] = {"responses": sends(kind.ANSWER, revised=True), "description": kind.__doc__}
    router.post(f"/{{name}}/{kind.NAME}", name=kind.NAME.replace("-", "_"), **about)(endpoint)


def _check_numbers(kind: type[Operation[Any]], values: JsonObject, limits: Limits) -> None:
    """Raise HttpProblem 422 for too many texts and keys of one noun."""
    counts = Counter[str]()
    for name, value in values.items():
        counts[options_of(kind)[name].option.noun] += len(value) if isinstance(value, list | tuple) else 0
    del counts[""]
    for noun, count in counts.items():
        if count > limits.texts:
            raise HttpProblem(422, f"at most {limits.texts} {noun}s are allowed in a request here")
