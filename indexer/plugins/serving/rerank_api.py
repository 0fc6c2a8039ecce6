"""Reranking of texts by the APIs of other servers: Text Embeddings Inference, Infinity, vLLM, Jina and Cohere."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic import Field, create_model

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.json_types import Body, Finite, Listed, TextOrRecord
from moverank.indexer.plugins.serving.answers import (
    InfinityObject,
    JinaObject,
    JsonObject,
    ModelsObject,
    RankedTextObject,
    sends,
)
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.requests import as_query, check_depth
from moverank.indexer.plugins.serving.search_api import ThisServer, count_work
from moverank.indexer.plugins.serving.served import Served, State
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.reading.records import TITLE_FIELDS
from moverank.indexer.values.documents import Document, Part
from moverank.indexer.values.ranking_spec import parse_ranking
from moverank.rerank.ranking import Hit, Ranking
from moverank.rerank.runtime.deadline import check_time

router = APIRouter(tags=["rerank"])


_SOME = 20  # names of fields in a sentence, and characters of each


_WHOLE = "No effect: texts of any length are compared as a whole."
_IGNORED = dict.fromkeys(("truncate", "truncation", "truncation_direction", "truncate_prompt_tokens"), _WHOLE)
_IGNORED |= dict.fromkeys(("max_chunks_per_doc", "max_tokens_per_doc", "max_tokens_per_query"), _WHOLE)
_IGNORED |= {"priority": "No effect: requests are answered in the order in which they come.", "user": "No effect."}
_IGNORED |= {"mm_processor_kwargs": "No effect: it is about images.", "additional_data": "No effect."}
"""Fields without effect."""

_Ignoring: Any = create_model(
    "Ignoring", __base__=Body, **{name: (Any, Field(default=None, description=text)) for name, text in _IGNORED.items()}
)


class RerankedTexts(_Ignoring):  # type: ignore[misc]  # made of the fields
    """The fields that all of these requests share."""

    model: str | None = None
    """The name of a collection, whose word vectors, ranking and document frequencies are used; any other name, and
    none, stands for the first collection of the server."""
    top_n: int | None = Field(default=None, ge=0)
    """How many results to return, the best ones, which are exact; 0 or null: all."""
    rank: str | None = None
    """The ranking, such as `wmd` or `wmd+0.5*bm25`; null: the collection's own."""
    gamma: Finite | None = Field(default=None, ge=0)
    """How much less the later posts of a thread count, from 0; null: as in the collection."""
    use_activation: Literal[True] | None = None
    """No effect; false is refused: `raw_scores` of `/rerank` has this meaning."""
    activation: Literal[True] | None = None
    """As `use_activation`."""
    softmax: Literal[True] | None = None
    """As `use_activation`."""


class InferenceBody(RerankedTexts):
    """A request of Text Embeddings Inference, with `texts`, or of Infinity and vLLM, with `documents`."""

    query: str
    """The text to which the others are compared."""
    texts: Listed[str] | None = Field(default=None, min_length=1)
    """The texts to rank, as Text Embeddings Inference names them; the answer is a list."""
    documents: Listed[str] | None = Field(default=None, min_length=1)
    """The texts to rank, as Infinity and vLLM name them; the answer is an object with `results`."""
    raw_scores: bool = False
    """Scores are negative distances or totals, instead of 1 / (1 + x) for the distance or total x."""
    return_text: bool = False
    """Each result has its text."""
    return_documents: bool | None = None
    """Each result has its text."""


class RerankTextsBody(RerankedTexts):
    """A request of Jina or Cohere."""

    query: TextOrRecord
    """The text or record to which the documents are compared."""
    documents: Listed[TextOrRecord] = Field(min_length=1)
    """The texts or records to rank."""
    return_documents: bool | None = None
    """Each result has its document."""
    rank_fields: Listed[str] | None = Field(default=None, min_length=1, max_length=100)
    """The fields of records to rank by, in this order; null: the title and the text."""


@dataclass(frozen=True, slots=True)
class _Reranked:
    """The ranking of `documents`, and by index the fault of a text, whose document is then empty."""

    ranking: Ranking
    documents: list[Document]
    faults: dict[int, str]


async def _ranked(
    state: ServerState,
    served: Served,
    request: Request,
    body: "InferenceBody | RerankTextsBody",
    texts: Sequence[TextOrRecord],
    fields: list[str] | None = None,
) -> _Reranked:
    """Rank texts with the weights of a collection; a query without a known word keeps their order.

    `fields` are the fields of records to rank by. The thread makes the documents, so that no other request waits for
    it.
    """
    if len(texts) > state.limits.texts:
        raise HttpProblem(422, f"at most {state.limits.texts} texts are allowed in a request here")
    options: JsonObject = {"k": body.top_n or None, "rank": body.rank, "gamma": body.gamma}

    def work(_: Task) -> _Reranked:
        query = as_query(body.query, state.limits)
        documents, faults = _documents(texts, state, fields)

        def ranked(view: State) -> Ranking:
            reranker = view.reranker(body.rank, body.gamma)
            return count_work(state, reranker.rank_many([query], [documents], **options)[0])

        return _Reranked(served.answer(ranked), documents, faults)

    return await state.workers.run(request, work)


def _documents(
    texts: Sequence[TextOrRecord], state: ServerState, fields: list[str] | None
) -> tuple[list[Document], dict[int, str]]:
    """Return the texts as documents, and by index the fault of a text, whose document is empty and comes last.

    `fields` are the fields of records to rank by. Raises HttpProblem 413 for a text that is too long, UsageError if
    none can be used.
    """
    documents, faults = list[Document](), dict[int, str]()
    for i, text in enumerate(texts):
        check_time()
        name = f"document {i}"
        try:
            chosen = _only(text, fields, name) if fields and not isinstance(text, str) else text
            documents.append(as_query(chosen, state.limits, name))
        except UsageError as error:
            if len(faults) == len(texts) - 1:
                raise
            faults[i] = str(error)
            documents.append(Document(""))
    return documents, faults


def _only(record: JsonObject, fields: list[str], name: str) -> Document:
    """Return a record whose text has the values of `fields`; a title stays the title. UsageError without any value."""
    check_depth(record, name)
    values = {field: _as_text(record[field]) for field in fields if record.get(field) not in (None, "", [], {})}
    if not values:
        named = ", ".join(field[:_SOME] for field in fields[:_SOME])
        raise UsageError(f"{name} has none of the rank_fields {named}{', ...' if len(fields) > _SOME else ''}")
    title = next((field for field in values if field in TITLE_FIELDS), "")
    text = "\n\n".join(value for field, value in values.items() if field != title)
    others = {field: value for field, value in record.items() if field not in values}
    return Document("", values.get(title, ""), (Part(text),), metadata=others)


def _as_text(value: Any) -> str:
    """Return a value of a record as text: a list's values separated by spaces, an object as JSON."""
    if isinstance(value, list):
        return " ".join(map(_as_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@router.post("/rerank", responses=sends(list[RankedTextObject] | InfinityObject))
async def rerank_texts(state: ThisServer, request: Request, body: InferenceBody) -> Any:
    """Rank texts as Text Embeddings Inference does, if they are `texts`, as Infinity does, if `documents`."""
    texts = body.texts or body.documents
    if texts is None or (body.texts and body.documents):
        raise HttpProblem(422, "give one of texts (Text Embeddings Inference) and documents (Infinity, vLLM)")
    served = state.collections.get(body.model or "", state.default)
    found = await _ranked(state, served, request, body, texts)
    score, text = ("score", "text") if body.texts else ("relevance_score", "document")
    results: list[JsonObject] = []
    for hit in found.ranking.hits[: body.top_n or None]:
        index = hit.candidate or 0
        result: JsonObject = {"index": index, score: _raw(hit) if body.raw_scores else hit.score}
        results.append(result | ({text: texts[index]} if body.return_text or body.return_documents else {}))
    if body.texts:
        return results
    return _about(served, found) | {"object": "rerank", "created": int(time()), "results": results}


def _about(served: Served, found: _Reranked) -> JsonObject:
    """Return the fields of an answer beside its results."""
    tokens = sum(len(part.text.split()) for document in found.documents for part in document.parts)
    return {
        "id": str(uuid4()),
        "model": served.name,
        "scores_compare": parse_ranking(found.ranking.ranked_by).scores_compare,
        "usage": {"total_tokens": tokens, "prompt_tokens": tokens},
    }


def _raw(hit: Hit) -> float:
    """Return the negated value that ranks a hit: 1 / (1 + x) is the score of x."""
    return 1.0 - 1.0 / hit.score


@router.post("/v1/rerank", responses=sends(JinaObject))
async def rerank_as_jina(state: ThisServer, request: Request, body: RerankTextsBody) -> JsonObject:
    """Rank texts as Jina and version 1 of Cohere do."""
    return await _rerank(state, request, body, "1")


@router.post("/v2/rerank", responses=sends(JinaObject))
async def rerank_as_cohere(state: ThisServer, request: Request, body: RerankTextsBody) -> JsonObject:
    """Rank texts as version 2 of Cohere does."""
    return await _rerank(state, request, body, "2")


async def _rerank(state: ServerState, request: Request, body: RerankTextsBody, version: str) -> JsonObject:
    served = state.collections.get(body.model or "", state.default)
    found = await _ranked(state, served, request, body, body.documents, body.rank_fields)
    results: list[JsonObject] = []
    for hit in found.ranking.hits[: body.top_n or None]:
        index = hit.candidate or 0
        result: JsonObject = {"index": index, "relevance_score": hit.score}
        if body.return_documents:
            given = body.documents[index]
            result["document"] = {"text": given} if isinstance(given, str) else given
        if index in found.faults:
            result["problem"] = found.faults[index]
        results.append(result)
    meta = {"api_version": {"version": version}, "billed_units": {"search_units": 1}}
    return _about(served, found) | {"object": "list", "results": results, "meta": meta}


@router.get("/v1/models", responses=sends(ModelsObject))
async def models(state: ThisServer) -> JsonObject:
    """List the collections as models."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "moverank"} for name in state.collections],
    }
