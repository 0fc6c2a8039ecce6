"""Search, similar, explain, why-not and rerank on the collections of a server: the JSON of the command line."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from moverank.indexer.errors import IndexerError
from moverank.indexer.formatters.json_objects import why_not_object
from moverank.indexer.ranked_texts import asked, with_vector
from moverank.indexer.server.problems import Problem, answer_of, status_of
from moverank.indexer.server.requests import (
    ExplainBody,
    Options,
    SearchBody,
    SearchUrl,
    SimilarBody,
    StoredRerankBody,
    Text,
    WhyNotBody,
    as_query,
)
from moverank.indexer.server.served import Served
from moverank.indexer.server.served import State as View
from moverank.indexer.server.state import ServerState, collection_of, state_of
from moverank.indexer.server.workers import Task
from moverank.rerank.errors import RerankError
from moverank.rerank.ranking import Ranking

router = APIRouter(prefix="/collections", tags=["collections"])

ServedHere = Annotated[Served, Depends(collection_of)]
State = Annotated[ServerState, Depends(state_of)]
Object = dict[str, Any]


async def answered(
    state: ServerState,
    served: Served,
    request: Request,
    work: Callable[[View, Task], Object],
) -> Object:
    """Return the object that `work` makes of the current state of a collection, and the revision of that."""

    def run(task: Task) -> Object:
        return served.answer(lambda view: work(view, task) | {"revision": view.revision})

    return await state.workers.run(request, run)


def counted(state: ServerState, ranking: Ranking) -> Ranking:
    """Count the work on a ranking in the metrics, and return it."""
    state.metrics.count_work(ranking.counts)
    return ranking


@router.get("")
async def list_collections(state: State) -> Object:
    """List the collections."""
    return {"collections": [describe(served) for served in state.collections.values()]}


@router.get("/{name}")
async def show_collection(served: ServedHere) -> Object:
    """Describe a collection."""
    return describe(served)


def describe(served: Served) -> Object:
    """Return the name of a collection, and the facts about the state that is searched."""
    values: Object = {"name": served.name, "revision": served.revision}
    try:
        with served.current() as view:
            return values | {"documents": view.documents, "ranking": str(view.settings.ranking), "ready": True}
    except Problem:
        return values | {"documents": 0, "ranking": "", "ready": False}


@router.post("/{name}/search")
async def search(served: ServedHere, state: State, request: Request, body: SearchBody) -> Object:
    """Find the documents nearest to a text or a record; `queries` are answered one after another.

    One of several that cannot be answered has a `problem` instead of hits; 422 if none can be answered.
    """
    _check_queries(body, state)

    def one(view: View, task: Task, text: Text) -> Object:
        query = with_vector(as_query(text, state.limits), body.vector, view.settings.encoder)
        return counted(state, view.searcher.search(query, body.resolved(state.limits, task))).to_dict()

    def work(view: View, task: Task) -> Object:
        if body.query is not None:
            return one(view, task, body.query)
        return {"answers": _answers(one, view, task, body.queries or ())}

    return await answered(state, served, request, work)


def _check_queries(body: SearchBody, state: ServerState) -> None:
    """Raise Problem unless there is one query, or several within the limit and with vectors of their own."""
    if (body.query is None) == (body.queries is None):
        raise Problem(422, "give one of query and queries")
    if body.queries is not None and len(body.queries) > state.limits.batch:
        raise Problem(422, f"at most {state.limits.batch} queries are allowed in a request here")
    if body.queries is not None and body.vector is not None:
        raise Problem(422, 'each of several queries has its own vector: {"text": ..., "vector": [...]}')


def _answers(one: Callable[[View, Task, Text], Object], view: View, task: Task, texts: Sequence[Text]) -> list[Object]:
    """Return the answer of each text, or its `problem`; raise the first problem if no text can be answered."""
    answers, faults = list[Object](), list[Exception]()
    for text in texts:
        try:
            answers.append(one(view, task, text))
        except (Problem, IndexerError, RerankError) as error:
            if status_of(error) not in (413, 422):
                raise
            faults.append(error)
            answers.append({"problem": answer_of(error)[1]})
    if faults and len(faults) == len(answers):
        raise faults[0]
    return answers


@router.get("/{name}/search")
async def search_by_url(
    served: ServedHere,
    state: State,
    request: Request,
    options: Annotated[SearchUrl, Query()],
) -> Object:
    """Find the documents nearest to a text, `q`."""
    values = options.model_dump(exclude={"q"})
    found: Object = await search(served, state, request, SearchBody(query=options.q, **values))
    return found


@router.post("/{name}/similar")
async def similar(served: ServedHere, state: State, request: Request, body: SimilarBody) -> Object:
    """Find the documents nearest to a stored one."""

    def work(view: View, task: Task) -> Object:
        ranking = counted(state, view.searcher.similar(body.key, body.resolved(state.limits, task)))
        return ranking.to_dict()

    return await answered(state, served, request, work)


@router.post("/{name}/explain")
async def explain(served: ServedHere, state: State, request: Request, body: ExplainBody) -> Object:
    """Show which words of a query, or of a stored document, moved to which words of another, and at what cost."""
    query = None if body.query is None else as_query(body.query, state.limits)

    def work(view: View, task: Task) -> Object:
        options = Options(rank=body.rank, gamma=body.gamma).resolved(state.limits, task)
        compared = asked(query, body.similar, body.vector, view.settings.encoder)
        document = {} if body.similar is None else {"query_key": body.similar}
        return document | view.searcher.explain(compared, body.key, options).to_dict()

    return await answered(state, served, request, work)


@router.post("/{name}/why-not")
async def why_not(served: ServedHere, state: State, request: Request, body: WhyNotBody) -> Object:
    """Show the bound that excludes a stored document from the hits of a search."""
    query = None if body.query is None else as_query(body.query, state.limits)

    def work(view: View, task: Task) -> Object:
        searched = asked(query, body.similar, body.vector, view.settings.encoder)
        return why_not_object(view.searcher.why_not(searched, body.key, body.resolved(state.limits, task)))

    return await answered(state, served, request, work)


@router.post("/{name}/rerank")
async def rerank(served: ServedHere, state: State, request: Request, body: StoredRerankBody) -> Object:
    """Rank stored documents, the candidates of another engine, by key."""
    if len(body.keys) > state.limits.texts:
        raise Problem(422, f"at most {state.limits.texts} candidates are allowed in a request here")
    query = as_query(body.query, state.limits)

    def work(view: View, task: Task) -> Object:
        options = Options(rank=body.rank, gamma=body.gamma, full=body.full).resolved(state.limits, task)
        ranking = counted(state, view.searcher.rerank(query, body.keys, body.k, body.scores, options))
        return ranking.to_dict()

    return await answered(state, served, request, work)
