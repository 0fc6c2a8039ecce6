"""The JSON objects that the server sends, for its OpenAPI document; the manual's page `commands` explains the keys.

Those of the library's answers are made of their classes, by `json_types`. Answers are sent without validation: tests
validate real answers by these types.
"""

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic needs this one before Python 3.12
)

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from moverank.indexer.operations.json_types import object_of
from moverank.rerank.answer import Answer
from moverank.rerank.ranking import Ranking

_described = with_config(ConfigDict(use_attribute_docstrings=True))

JsonObject = dict[str, Any]
AnswerDeclaration = dict[int | str, JsonObject]


def sends(kind: Any, *, revised: bool = False) -> AnswerDeclaration:
    """Return the declaration of an endpoint that answers with `kind`, for the parameter `responses`.

    `revised`: the answer, that of an operation, has the revision beside its own keys.
    """
    is_answer = isinstance(kind, type) and issubclass(kind, Answer)
    return {200: {"model": object_of(kind, revised=revised) if is_answer else kind}}


@_described
class ProblemObject(TypedDict):
    """An error (RFC 9457)."""

    type: str
    """Always `about:blank`: the status says what kind of problem it is."""
    title: str
    """The status in words."""
    status: int
    """The status of the answer."""
    detail: str
    """One sentence: the fault, and the remedy."""
    error: NotRequired[str]
    """The name of the error in the library."""
    request_id: str
    """The id of the request, as in the header X-Request-ID and in the log of the server."""


@_described
class UnansweredObject(TypedDict):
    """One of several queries that cannot be answered."""

    problem: str
    """One sentence: the fault, and the remedy."""


@_described
class RankingsObject(TypedDict):
    """The answers to several queries."""

    answers: list[object_of(Ranking) | UnansweredObject]  # type: ignore[valid-type]
    """One for each query, in the same order."""
    revision: int
    """The revision that was searched."""


@_described
class CollectionObject(TypedDict):
    """A collection of the server."""

    name: str
    """The name in the paths."""
    revision: int
    """The revision that is searched."""
    documents: int
    """The number of documents."""
    ranking: str
    """The collection's own ranking."""
    ready: bool
    """Whether it can be searched."""


@_described
class CollectionsObject(TypedDict):
    """The collections of the server."""

    collections: list[CollectionObject]
    """All of them; the first is the default."""


@_described
@_described
class RankedTextObject(TypedDict):
    """A text as Text Embeddings Inference ranks it."""

    index: int
    """The index of the text in the request."""
    score: float
    """The score: larger is better."""
    text: NotRequired[str]
    """The text, with `return_text`."""


@_described
class UsageObject(TypedDict):
    """The size of a request."""

    total_tokens: int
    """The number of words of the documents."""
    prompt_tokens: int
    """The same."""


@_described
class InfinityResultObject(TypedDict):
    """A text as Infinity ranks it."""

    index: int
    """The index of the text in the request."""
    relevance_score: float
    """The score: larger is better."""
    document: NotRequired[str]
    """The text, with `return_documents`."""


@_described
class InfinityObject(TypedDict):
    """Ranked texts as Infinity sends them."""

    id: str
    """A new identifier."""
    object: Literal["rerank"]
    """The kind of object."""
    created: int
    """The time in seconds since 1970."""
    model: str
    """The name of the collection that was used."""
    results: list[InfinityResultObject]
    """The texts, best first."""
    scores_compare: bool
    """Whether the scores compare with scores of other requests; if not, only with each other."""
    usage: UsageObject
    """The size of the request."""


@_described
class JinaResultObject(TypedDict):
    """A text or record as Jina and Cohere rank it."""

    index: int
    """The index of the document in the request."""
    relevance_score: float
    """The score: larger is better."""
    document: NotRequired[dict[str, Any]]
    """The record, or the text as `text`, with `return_documents`."""
    problem: NotRequired[str]
    """Why the document could not be used: it comes last."""


@_described
class ApiVersionObject(TypedDict):
    """The version of Cohere's API."""

    version: str
    """1 or 2."""


@_described
class BilledUnitsObject(TypedDict):
    """The units that Cohere would charge."""

    search_units: int
    """The number of searches."""


@_described
class CohereMetaObject(TypedDict):
    """The fields that Cohere sends beside the results."""

    api_version: ApiVersionObject
    """The version of the API."""
    billed_units: BilledUnitsObject
    """The number of searches."""


@_described
class JinaObject(TypedDict):
    """Ranked documents as Jina and Cohere send them."""

    id: str
    """A new identifier."""
    object: Literal["list"]
    """The kind of object."""
    model: str
    """The name of the collection that was used."""
    results: list[JinaResultObject]
    """The documents, best first."""
    scores_compare: bool
    """Whether the scores compare with scores of other requests; if not, only with each other."""
    usage: UsageObject
    """The size of the request."""
    meta: CohereMetaObject
    """The version of Cohere's API."""


@_described
class ModelObject(TypedDict):
    """A collection as a model."""

    id: str
    """The name of the collection."""
    object: Literal["model"]
    """The kind of object."""
    created: int
    """Always 0."""
    owned_by: str
    """Always `moverank`."""


@_described
class ModelsObject(TypedDict):
    """The collections as models."""

    object: Literal["list"]
    """The kind of object."""
    data: list[ModelObject]
    """One for each collection."""


@_described
class StatusObject(TypedDict):
    """Whether the server lives, or is ready."""

    status: Literal["ok", "ready"]
    """`ok` of `/health`, `ready` of `/ready`."""


@_described
class InfoObject(TypedDict):
    """The server, as Text Embeddings Inference describes itself."""

    model_id: str
    """The first collection."""
    model_type: dict[str, Any]
    """`reranker`, as clients expect."""
    max_client_batch_size: int
    """The most candidates of a request."""
    max_concurrent_requests: int
    """The most requests that run or wait."""
    version: str
    """The version of moverank."""
    name: str
    """`moverank`."""
