"""Queries: a text, a record, or a stored document, perhaps with a vector."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from moverank.indexer.errors import QueryVectorError, UsageError
from moverank.indexer.values.documents import GIVEN, Document, Part

QueryText = str | Document
"""A query: a text, or a document with a title and ranked parts, whose key does not matter."""

Scores = Sequence[float | None] | Mapping[str, float | None]
"""Scores of candidates in their order, or by key, larger being better; None: no score."""

SomeTexts = QueryText | Iterable[QueryText]
"""One or several of these."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """The query is the stored document with this key."""

    key: str


def query_document(query: QueryText) -> Document:
    """Return a query as a document: a text is its only part. UsageError for another type, or a rank out of range."""
    if isinstance(query, str):
        return Document("", parts=(Part(query),))
    if not isinstance(query, Document):
        raise UsageError(f"a query is a text or a Document, not {type(query).__name__}")
    check_ranks(query)
    return query


def explained_query(
    query: QueryText | None, similar: str | None, vector: Iterable[float] | None, encoder: str
) -> QueryText | StoredKey:
    """Return the query of an explanation: a text or record, perhaps with a vector, or the stored document `similar`.

    Raises UsageError for both or none, and for a vector that is not compared.
    """
    if (query is None) == (similar is None):
        raise UsageError("give one of query and similar: a text or record, or the key of a stored document")
    if query is not None:
        return with_vector(query, vector, encoder)
    if vector is not None:
        raise UsageError("a stored document has its own vector: leave out that of a query")
    return StoredKey(similar or "")


def with_vector(query: QueryText, vector: Iterable[float] | None, encoder: str) -> QueryText:
    """Return a query with a vector, if one is given; UsageError if the first stage, `encoder`, does not compare it."""
    if vector is None:
        return query
    if encoder != GIVEN:
        raise UsageError(f"the first stage is {encoder}, not given: a vector of the query has no effect there")
    return replace(query_document(query), vector=vector_numbers(vector))


def vector_numbers(vector: Iterable[float]) -> tuple[float, ...]:
    """Return the numbers of a query's vector, each as the nearest float32; QueryVectorError for anything else."""
    try:
        return tuple(Document("", vector=vector).vector or ())
    except (TypeError, ValueError, OverflowError) as error:
        raise QueryVectorError("the query's vector must be a list of numbers") from error


def check_ranks(document: Document) -> None:
    """Raise UsageError for a part whose rank is out of range."""
    for part in document.parts:
        if not 0 <= part.rank < 2**31:
            raise UsageError(f"document {document.key!r} has a rank that is not within 0 and 2^31 - 1")
