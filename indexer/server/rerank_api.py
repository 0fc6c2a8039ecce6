"""Reranking of texts as other servers offer it: Text Embeddings Inference, Jina and Cohere."""

from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from moverank.indexer.documents import Document
from moverank.indexer.errors import UsageError
from moverank.indexer.server.collections_api import State, counted
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.requests import Text, as_query
from moverank.indexer.server.served import Served
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.workers import Task
from moverank.rerank.ranking import Hit, Ranking

router = APIRouter(tags=["rerank"])

Object = dict[str, Any]


class LenientBody(BaseModel):
    """A JSON object; unknown fields are ignored, as the original servers do."""

    model_config = ConfigDict(extra="ignore")


class InferenceBody(LenientBody):
    """A request of Text Embeddings Inference. `truncate` has no effect: texts of any length are compared."""

    query: str
    texts: list[str] = Field(min_length=1)
    raw_scores: bool = False
    return_text: bool = False
    truncate: bool | None = None


class RerankBody(LenientBody):
    """A request of Jina or Cohere. `model` is the name of a collection; any other name stands for the first one."""

    query: Text
    documents: list[Text] = Field(min_length=1)
    model: str | None = None
    top_n: int | None = Field(default=None, ge=1)
    return_documents: bool | None = None
    rank: str | None = None
    gamma: float | None = Field(default=None, ge=0)


async def _ranked(
    state: ServerState,
    served: Served,
    request: Request,
    query: Text,
    texts: list[Document],
    options: Object,
) -> Ranking:
    """Rank texts with the weights of a collection; a query without a known word keeps their order."""
    if len(texts) > state.limits.texts:
        raise Problem(422, f"at most {state.limits.texts} texts are allowed in a request here")
    asked = as_query(query, state.limits)

    def work(_: Task) -> Ranking:
        return served.answer(lambda view: counted(state, view.reranker.rank_many([asked], [texts], **options)[0]))

    return await state.workers.run(request, work)


def _documents(texts: list[Text], state: ServerState) -> tuple[list[Document], dict[int, str]]:
    """Return the texts as documents, and by its index what is wrong with one, which is empty: it comes last.

    Raises Problem 413 for one that is too long, UsageError if none can be used.
    """
    documents, faults = list[Document](), dict[int, str]()
    for i, text in enumerate(texts):
        try:
            documents.append(as_query(text, state.limits, f"document {i}"))
        except UsageError as error:
            if len(faults) == len(texts) - 1:
                raise
            faults[i] = str(error)
            documents.append(Document(""))
    return documents, faults


@router.post("/rerank")
async def rerank_as_inference(state: State, request: Request, body: InferenceBody) -> list[Object]:
    """Rank texts as Text Embeddings Inference does; raw scores are negative distances or totals."""
    texts, _ = _documents(list(body.texts), state)
    ranking = await _ranked(state, state.default, request, body.query, texts, {})
    found = []
    for hit in ranking.hits:
        index = hit.candidate or 0
        text = {"text": body.texts[index]} if body.return_text else {}
        found.append({"index": index, "score": _raw(hit) if body.raw_scores else hit.score} | text)
    return found


def _raw(hit: Hit) -> float:
    """Return what ranks a hit, negated: 1 / (1 + x) is the score of x."""
    return 1.0 - 1.0 / hit.score


@router.post("/v1/rerank")
async def rerank_as_jina(state: State, request: Request, body: RerankBody) -> Object:
    """Rank texts as Jina and version 1 of Cohere do."""
    return await _rerank(state, request, body, "1")


@router.post("/v2/rerank")
async def rerank_as_cohere(state: State, request: Request, body: RerankBody) -> Object:
    """Rank texts as version 2 of Cohere does."""
    return await _rerank(state, request, body, "2")


async def _rerank(state: ServerState, request: Request, body: RerankBody, version: str) -> Object:
    served = state.collections.get(body.model or "", state.default)
    documents, faults = _documents(body.documents, state)
    options = {"k": body.top_n, "rank": body.rank, "gamma": body.gamma}
    ranking = await _ranked(state, served, request, body.query, documents, options)
    results: list[Object] = []
    for hit in ranking.hits[: body.top_n]:
        index = hit.candidate or 0
        result: Object = {"index": index, "relevance_score": hit.score}
        if body.return_documents:
            given = body.documents[index]
            result["document"] = {"text": given} if isinstance(given, str) else given
        if index in faults:
            result["problem"] = faults[index]
        results.append(result)
    tokens = sum(len(part.text.split()) for document in documents for part in document.parts)
    return {
        "id": str(uuid4()),
        "object": "list",
        "model": served.name,
        "results": results,
        "usage": {"total_tokens": tokens, "prompt_tokens": tokens},
        "meta": {"api_version": {"version": version}, "billed_units": {"search_units": 1}},
    }


@router.get("/v1/models")
async def models(state: State) -> Object:
    """List the collections as models."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "moverank"} for name in state.collections],
    }
