"""The JSON objects that the server sends, for its OpenAPI document; the manual's page `commands` explains the keys.

Answers are sent without validation: tests validate real answers by these types.
"""

from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,  # pydantic needs this one before Python 3.12
)

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

_described = with_config(ConfigDict(use_attribute_docstrings=True))

JsonObject = dict[str, Any]
AnswerDeclaration = dict[int | str, JsonObject]


def sends(kind: Any) -> AnswerDeclaration:
    """Return the declaration of an endpoint that answers with `kind`, for the parameter `responses`."""
    return {200: {"model": kind}}


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
class SpanObject(TypedDict):
    """A stretch of a text."""

    # Descriptions as values: docstrings of fields are not inherited.
    part: Annotated[int | None, Field(description="The number of the part, counting from 0; null: the title.")]
    start: Annotated[int, Field(description="The first code point.")]
    end: Annotated[int, Field(description="The code point after the last one.")]


@_described
class HighlightObject(SpanObject):
    """A place where a word of the query stands, or one near to it."""

    word: str
    """The word as it is compared."""
    source: str
    """The word of the query."""
    cost: float
    """The distance of the two words; 0 for the same word, and for one that a scorer counts as the same."""


@_described
class PassageObject(TypedDict):
    """The window of a document that is nearest to the query."""

    part: int
    """The number of the part, counting from 0."""
    start: int
    """The first code point of it."""
    end: int
    """The code point after the last one."""
    text: str
    """The text of the window."""
    distance: float
    """Its distance from the query: none of the document's windows is nearer."""
    windows: int
    """The number of windows that were compared."""


@_described
class FlowObject(TypedDict):
    """Mass that moves from a word of the query to a word of the document."""

    source: str
    """The word of the query."""
    target: str
    """The word of the document."""
    mass: float
    """The weight moved, from 0 to 1."""
    cost: float
    """The distance of the two words."""
    share: float
    """The part of the total cost, from 0 to 1."""
    source_spans: NotRequired[list[SpanObject]]
    """Where the word stands in the query, with `highlight`; left out beyond the size of an answer."""
    target_spans: NotRequired[list[SpanObject]]
    """Where the word stands in the document, as `source_spans`."""


@_described
class TermObject(TypedDict):
    """How a term of the ranking counts for this query: a value x costs weight * abs(x - best) / unit."""

    term: str
    """The specification as it was typed, without its weight."""
    name: str
    """What the term compares, in words."""
    part: str
    """The key of the term in `parts` and `costs` of a hit."""
    weight: float
    """The factor in the sum."""
    unit: float | None
    """What values are divided by; null: they are not divided."""
    best: float | None
    """The value that costs nothing; null: all documents cost the same."""


@_described
class PercentileObject(TypedDict):
    """The share of the collection's documents that rank above a hit, 0 to 1."""

    share: float
    """The share, known or estimated."""
    low: float
    """The lower end of an interval that contains the true share in at least 95 % of cases."""
    high: float
    """The upper end; all three are equal if the share is known."""


@_described
class HitObject(TypedDict):
    """A document, and what ranked it."""

    rank: int
    """The place in the list, from 1."""
    key: str
    """The key of the document."""
    title: str
    """The title, empty if there is none."""
    distance: float | None
    """The distance that ranked the document, or the WMD in a sum; null if none was computed."""
    score: float
    """1 / (1 + x) for the distance or total x that ranks, or the value of the scorer: larger is better."""
    label: str | None
    """The label, null if there is none."""
    metadata: dict[str, Any]
    """The metadata by field."""
    snippet: str
    """The sentence with most words of the query; empty in `rerank`."""
    text: NotRequired[str]
    """The whole text, with `full`."""
    total: NotRequired[float]
    """The value of the sum that ranks, if one does: smaller is better."""
    parts: NotRequired[dict[str, float | None]]
    """The value of each term of a sum; null: the document has none."""
    costs: NotRequired[dict[str, float]]
    """The share of each term in `total`: they add up to it."""
    percentile: NotRequired[PercentileObject]
    """How many of all documents rank above it, with `percentile` or a share as `max_distance`."""
    candidate: NotRequired[int]
    """In `rerank`, the index among the candidates as they were given."""
    exact: NotRequired[bool]
    """In `rerank`, false if the value that ranks is only a lower bound."""
    wordless: NotRequired[bool]
    """In `rerank`, true if the document has no known word, or is not in the collection: it comes last."""
    flows: NotRequired[list[FlowObject]]
    """Which words moved where, the costliest first, with `explain`."""
    highlights: NotRequired[list[HighlightObject]]
    """Where words of the query stand, and words near to one, with `highlight`."""
    snippet_highlights: NotRequired[list[HighlightObject]]
    """Those that the snippet shows: start and end count in the snippet."""
    part_starts: NotRequired[list[int]]
    """Where each part begins in `text`, with `full` and with `highlight` or `passage`."""
    passage: NotRequired[PassageObject]
    """The window nearest to the query, with `passage`."""


@_described
class CountsObject(TypedDict):
    """The work of a search in numbers of documents."""

    candidates: int
    """Documents that were compared."""
    rwmd: int
    """Excluded by RWMD."""
    dual: int
    """Excluded by the dual bound."""
    sinkhorn: int
    """Excluded by Sinkhorn's lower bound."""
    solved: int
    """Transport problems that were solved."""


@_described
class RankingObject(TypedDict):
    """The hits of a query, and how accurate they are proven to be."""

    hits: list[HitObject]
    """The hits, best first."""
    certified: bool
    """Whether it is proven that no other document is better than the last hit."""
    scope: Literal["collection", "candidates", "shards"]
    """Among which documents the list is exact."""
    largest_error: float
    """The largest possible difference between the last hit and the true one of its rank; 0 if certified."""
    counts: CountsObject
    """How many documents were compared, and which bound excluded how many."""
    seconds: float
    """The duration of the search."""
    ranking: str
    """The specification of the ranking."""
    terms: list[TermObject]
    """How each term of the ranking counts for this query."""
    unknown_words: NotRequired[list[str]]
    """Words of the query without a vector."""
    ignored_words: NotRequired[list[str]]
    """Words of the query without effect on the ranking."""
    respelled_words: NotRequired[dict[str, list[str]]]
    """Misspelt words of the query, and the stored words in the place of each."""
    missing_shards: NotRequired[list[str]]
    """The shards that did not answer."""
    why_empty: NotRequired[str]
    """Why no document passes the filter."""
    group_by: NotRequired[str]
    """The field of whose values only the best hits are in the list."""
    error: NotRequired[str]
    """Why the query has no word to rank by: the documents stand in the order given."""
    revision: NotRequired[int]
    """The revision that was searched; for several queries, it is beside their `answers`."""


@_described
class UnansweredObject(TypedDict):
    """One of several queries that cannot be answered."""

    problem: str
    """One sentence: the fault, and the remedy."""


@_described
class RankingsObject(TypedDict):
    """The answers to several queries."""

    answers: list[RankingObject | UnansweredObject]
    """One for each query, in the same order."""
    revision: int
    """The revision that was searched."""


@_described
class ExplanationObject(TypedDict):
    """An exact distance with its flows."""

    query_key: NotRequired[str]
    """The key of the stored document that was compared, if it was one."""
    distance: float
    """The distance: the sum of mass times cost over the flows."""
    total: NotRequired[float]
    """The value of the sum, if one ranks."""
    parts: NotRequired[dict[str, float | None]]
    """The value of each term of a sum; null: the document has none."""
    costs: NotRequired[dict[str, float]]
    """The share of each term in `total`: they add up to it."""
    terms: NotRequired[list[TermObject]]
    """How each term of the sum counts for this query."""
    flows: list[FlowObject]
    """Which words moved where, the costliest first."""
    highlights: list[HighlightObject]
    """Where words of the query stand in the document, and words near to one; the last are left out beyond the size."""
    unknown_words: list[str]
    """Words of the query without a vector."""
    ignored_words: list[str]
    """Words of the query without effect."""
    revision: int
    """The revision that was searched."""


@_described
class ExclusionObject(TypedDict):
    """The stage at which a search excludes a document."""

    k: int
    """The number of hits."""
    kth: float | None
    """The distance of hit k; null if there are fewer hits."""
    distance: float
    """The exact distance of the document."""
    bounds: dict[str, float]
    """The lower bounds of the distance by name."""
    stage: Literal["first stage", "rwmd", "dual", "sinkhorn", "solved", "hit"]
    """What excluded the document; `hit`: nothing did."""


@_described
class WhyNotObject(TypedDict):
    """Why a document is not among the hits."""

    why_not: ExclusionObject
    """The stage, and the bounds."""
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
class EntryObject(TypedDict):
    """A document without its texts."""

    key: str
    """The key."""
    title: str
    """The title, empty if there is none."""
    label: str | None
    """The label, null if there is none."""
    metadata: dict[str, Any]
    """The metadata by field."""
    parts: int
    """The number of parts."""
    wordless: bool
    """Whether it has no known word: it is never a hit."""
    source: str | None
    """The path from which it was read; null if that is unknown."""
    file: str | None
    """The path within the source."""


@_described
class DocumentsObject(TypedDict):
    """A page of the documents of a collection."""

    documents: list[EntryObject]
    """The documents in the order in which they were added."""
    found: int
    """The number of documents that pass the filter."""
    total: int
    """The number of all documents."""
    revision: int
    """The revision that was read."""


@_described
class PartObject(TypedDict):
    """A part of a document, such as a post of a thread."""

    text: str
    """The text."""
    rank: int
    """0 for the opening post, then by votes."""


@_described
class DocumentObject(TypedDict):
    """A whole document."""

    key: str
    """The key."""
    title: str
    """The title, empty if there is none."""
    label: str | None
    """The label, null if there is none."""
    metadata: dict[str, Any]
    """The metadata by field."""
    title_counts: NotRequired[Literal[False]]
    """The words of the title do not count."""
    vector: NotRequired[list[float]]
    """The given vector."""
    parts: list[PartObject]
    """The texts, first the opening post."""
    words: int
    """The number of different words."""
    unknown_words: list[str]
    """Words without a vector."""
    revision: int
    """The revision that was read."""
    source: str | None
    """The path from which it was read; null if that is unknown."""
    file: str | None
    """The path within the source."""


@_described
class WatchedQueryObject(TypedDict):
    """The query of a watch."""

    title: str
    """The title, empty if there is none."""
    parts: list[PartObject]
    """The texts."""


@_described
class WatchObject(TypedDict):
    """A stored query: documents that are added or changed later, within its distance, yield events."""

    name: str
    """The name."""
    query: WatchedQueryObject
    """The query."""
    ranking: str
    """The distance, with its gamma and weights."""
    within: float
    """The largest distance of an event."""
    where: list[str] | dict[str, Any]
    """The filter; empty: all documents pass."""
    revision: int
    """The revision of the collection when the watch was added."""


@_described
class WatchesObject(TypedDict):
    """The watches of a collection."""

    watches: list[WatchObject]
    """Some of them, by name."""
    total: int
    """The number of all watches."""
    revision: int
    """The number of the last committed change."""


@_described
class EventObject(TypedDict):
    """A document that was added or changed is within the distance of a watch."""

    number: int
    """Later events have larger numbers."""
    watch: str
    """The name of the watch."""
    document: str
    """The key of the document."""
    distance: float
    """The distance of the document from the query."""
    revision: int
    """The revision that added or changed the document."""


@_described
class EventsObject(TypedDict):
    """Some events of the watches of a collection."""

    events: list[EventObject]
    """The events in their order."""
    revision: int
    """The number of the last committed change."""


@_described
class ChangesObject(TypedDict):
    """What a request changed, in numbers of documents."""

    added: int
    """New documents."""
    updated: int
    """Documents that were replaced."""
    removed: int
    """Documents that were removed."""
    unchanged: int
    """Documents that were stored already."""
    wordless: int
    """Documents of this request without any known word."""
    rejected: int
    """Bad records."""
    kept: int
    """Documents that stay as they are stored, since bad records may hold them."""
    unread: int
    """Files that were not read to their end."""
    duplicates: int
    """Near duplicates that were left out."""
    revision: int
    """The number of the last committed change."""
    coverage: float | None
    """The share of the running words that have a vector, from 0 to 1."""
    trained_seconds: float | None
    """The time that training word vectors took; null if none were trained."""
    events: int
    """Events of watches."""


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
class SourceSpanObject(SpanObject):
    """A stretch of a source."""

    key: str
    """The key of the stored document; of a text in the request, its index."""


@_described
class CarriedObject(SpanObject):
    """A run of units of the claim that a source covers."""

    units: int
    """The number of units."""
    cost: float
    """The mean cost of a unit."""
    same: bool
    """Whether all units are the same in the source; else none is, such as a near word or a date that says more."""
    source: SourceSpanObject
    """Where they are in the source."""


@_described
class UncoveredObject(SpanObject):
    """A run of units of the claim that no source covers."""

    units: int
    """The number of units."""
    reason: Literal["value", "polarity", "used", "unknown", "far"]
    """Why they are not covered."""


@_described
class SentenceObject(SpanObject):
    """A sentence of the claim."""

    covered: float | None
    """The covered share of its units, 0 to 1; null: it has none."""
    covered_units: int
    """The number of covered units."""
    units: int
    """The number of units."""
    most: int
    """The most units that any plan covers, by the dual."""
    carried: list[CarriedObject]
    """What is covered, in order."""
    uncovered: list[UncoveredObject]
    """What is not covered, in order."""


@_described
class EvidenceObject(TypedDict):
    """What sources cover of a claim; covered need not be true."""

    covered: float
    """The covered share of the units, 0 to 1."""
    covered_units: int
    """The number of covered units."""
    units: int
    """The number of units."""
    certified: bool
    """Whether it is proven, for each sentence, that nothing covers more of it."""
    tau: float
    """The largest cost at which a word is carried."""
    sources: list[str]
    """The keys of the sources."""
    sentences: list[SentenceObject]
    """The sentences of the claim."""
    revision: int
    """The number of the last change of the collection that was used."""


@_described
class StateUnitsObject(TypedDict):
    """The number of units by state; all but the dropped ones are in the new version."""

    kept: int
    """Units that both versions have, in the same order."""
    moved: int
    """Units that both versions have, in another order."""
    changed: int
    """Units that became near words."""
    new: int
    """Units of the new version alone."""
    dropped: int
    """Units of the old version alone."""


@_described
class TextChangeObject(TypedDict):
    """A run of units with the same state."""

    state: Literal["kept", "moved", "changed", "new", "dropped"]
    """What happened to them."""
    old: SpanObject | None
    """Their place in the old version; null: they are new."""
    new: SpanObject | None
    """Their place in the new version; null: they are dropped."""
    units: int
    """The number of units."""
    cost: float
    """The mean cost of a unit, 0 unless they are changed."""


@_described
class TextChangesObject(TypedDict):
    """The changes between two versions of a text."""

    carried: float
    """The share of the units of both versions that are carried, 0 to 1."""
    units: StateUnitsObject
    """The number of units by state."""
    certified: bool
    """Whether it is proven that no plan carries more of what differs."""
    tau: float
    """The largest cost at which a word is carried."""
    changes: list[TextChangeObject]
    """The runs in the order of the new version."""
    revision: int
    """The number of the last change of the collection that was used."""


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
