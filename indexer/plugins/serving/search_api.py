"""Search, similar, explain, why-not and rerank on the collections of a server: the JSON of the command line."""

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from moverank.indexer.errors import IndexerError
from moverank.indexer.operations.json_types import TextOrRecord, object_of
from moverank.indexer.plugins.serving.answers import (
    CollectionObject,
    CollectionsObject,
    JsonObject,
    RankingsObject,
    sends,
)
from moverank.indexer.plugins.serving.problems import HttpProblem, answer_of, status_of
from moverank.indexer.plugins.serving.requests import SearchBody, SearchUrl, as_query
from moverank.indexer.plugins.serving.served import Served, State
from moverank.indexer.plugins.serving.state import ServerState, collection_of, state_of
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.values.queries import with_vector
from moverank.rerank.errors import RerankError
from moverank.rerank.ranking import Ranking
from moverank.rerank.runtime.deadline import check_time


async def known_parameters(request: Request) -> None:
    """Raise HttpProblem 422 for a parameter of the URL that the endpoint does not declare."""
    operation = request.app.openapi()["paths"][request.scope["route"].path_format][request.scope["method"].lower()]
    known = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    for name in request.query_params:
        if name not in known:
            choices = f": choose {', '.join(known)}" if known else ""
            raise HttpProblem(422, f"{name[:100]} is no parameter of this URL{choices}")


router = APIRouter(prefix="/collections", tags=["collections"], dependencies=[Depends(known_parameters)])

ServedHere = Annotated[Served, Depends(collection_of)]
ThisServer = Annotated[ServerState, Depends(state_of)]


async def answered(
    state: ServerState,
    served: Served,
    request: Request,
    work: Callable[[State, Task], JsonObject],
    budget: float | None = None,
) -> JsonObject:
    """Return the object that `work` makes of a collection's state, with the state's revision unless it has one.

    The work ends after the `budget` in seconds, or the limit of the server.
    """

    def here(view: State, task: Task) -> JsonObject:
        found = work(view, task)
        return found | {"revision": found.get("revision", view.revision)}

    def run(task: Task) -> JsonObject:
        return served.answer(lambda view: here(view, task))

    return await state.workers.run(request, run, budget)


def count_work(state: ServerState, ranking: Ranking) -> Ranking:
    """Count the work on a ranking in the metrics, and return it."""
    state.metrics.count_work(ranking.counts)
    return ranking


@router.get("", responses=sends(CollectionsObject))
async def list_collections(state: ThisServer) -> JsonObject:
    """List the collections; the first one is the default."""
    return {"collections": [describe(served) for served in state.collections.values()]}


@router.get("/{name}", responses=sends(CollectionObject))
async def show_collection(served: ServedHere) -> JsonObject:
    """Describe a collection."""
    return describe(served)


def describe(served: Served) -> JsonObject:
    """Return the name of a collection, and the facts about the state that is searched."""
    values: JsonObject = {"name": served.name, "revision": served.revision}
    try:
        facts = served.facts
    except HttpProblem:
        return values | {"documents": 0, "ranking": "", "ready": False}
    values |= {"documents": facts.documents, "ranking": str(facts.settings.ranking)}
    return values | {"ready": not served.problem}


@router.post("/{name}/search", responses=sends(object_of(Ranking) | RankingsObject))
async def search(served: ServedHere, state: ThisServer, request: Request, body: SearchBody) -> JsonObject:
    """Find the documents nearest to a text or a record; `queries` are answered one after another.

    One of several that cannot be answered has a `problem` instead of hits; 422 if none can be answered.
    """
    _check_queries(body, state)

    def one(view: State, task: Task, text: TextOrRecord) -> JsonObject:
        query = with_vector(as_query(text, state.limits), body.vector, view.settings.encoder)
        options = body.resolved(state.limits, task, len(body.queries or (1,)) or 1)
        return count_work(state, view.searcher.answer(query, options)).to_dict()

    def work(view: State, task: Task) -> JsonObject:
        if body.query is not None:
            return one(view, task, body.query)
        return {"answers": _answers(one, view, task, body.queries or ())}

    return await answered(state, served, request, work, body.budget)


def _check_queries(body: SearchBody, state: ServerState) -> None:
    """Raise HttpProblem unless there is one query, or several within the limit and with vectors of their own."""
    if (body.query is None) == (body.queries is None):
        raise HttpProblem(422, "give one of query and queries")
    if body.queries is not None and len(body.queries) > state.limits.batch:
        raise HttpProblem(422, f"at most {state.limits.batch} queries are allowed in a request here")
    if body.queries is not None and body.vector is not None:
        raise HttpProblem(422, 'each of several queries has its own vector: {"text": ..., "vector": [...]}')


def _answers(
    one: Callable[[State, Task, TextOrRecord], JsonObject], view: State, task: Task, texts: Sequence[TextOrRecord]
) -> list[JsonObject]:
    """Return the answer of each text, or its `problem`; raise the first problem if no text can be answered."""
    answers, faults = list[JsonObject](), list[Exception]()
    for text in texts:
        try:
            check_time()
            answers.append(one(view, task, text))
        except (HttpProblem, IndexerError, RerankError) as error:
            if status_of(error) not in (413, 422, 504):
                raise
            faults.append(error)
            answers.append({"problem": answer_of(error)[1]})
    if faults and len(faults) == len(answers):
        raise faults[0]
    return answers


@router.get("/{name}/search", responses=sends(Ranking))
async def search_by_url(
    served: ServedHere,
    state: ThisServer,
    request: Request,
    options: Annotated[SearchUrl, Query()],
) -> JsonObject:
    """Find the documents nearest to a text, `q`."""
    values = options.model_dump(exclude={"q"})
    found: JsonObject = await search(served, state, request, SearchBody(query=options.q, **values))
    return found
