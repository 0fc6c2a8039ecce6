"""The texts of documents and queries by rank, as their words are counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from moverank.indexer.documents import Document, Part, begins_with_title, counted_texts
from moverank.indexer.errors import QueryVectorError, UsageError
from moverank.indexer.given_vectors import GIVEN
from moverank.rerank.bags.bag import TITLE

QueryText = str | Document
"""A query: a text, or a document with a title and ranked parts, whose key does not matter."""

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


RankedTexts = Sequence[tuple[int, str]]
"""(rank, text) of the title, where its words count, with the rank `TITLE`, and of each part."""


def whole_texts(document: Document) -> RankedTexts:
    """Return the title, where its words count, and the parts of a document, as they are stored."""
    title = document.title if document.title_counts else ""
    return [*([(TITLE, title)] if title.strip() else []), *((part.rank, part.text) for part in document.parts)]


def ranked_texts(document: Document) -> RankedTexts:
    """Return the texts of a document whose words count: a title at the beginning of the first part is cut off there.

    See `counted_texts`.
    """
    title, parts = title_and_parts(whole_texts(document))
    texts = counted_texts(title, parts)
    own = [(TITLE, title)] if title else []
    return [*own, *((rank, text) for (rank, _), text in zip(parts, texts, strict=True))]


def title_and_parts(texts: RankedTexts) -> tuple[str, RankedTexts]:
    """Return the title, empty if there is none that counts, and the parts."""
    return (texts[0][1], texts[1:]) if texts and texts[0][0] == TITLE else ("", texts)


def compared_passages(document: Document) -> list[tuple[int | None, str]]:
    """Return the texts of a document as `compare` reads them, with the numbers of their parts, None for the title.

    A title that does not count, or that is also the beginning of the first part, is left out.
    """
    title, parts = title_and_parts(whole_texts(document))
    known = not title or (parts and begins_with_title(parts[0][1], title))
    return [*([] if known else [(None, title)]), *enumerate(text for _, text in parts)]


def source_passages(sources: Iterable[Document]) -> list[tuple[str, list[tuple[int | None, str]]]]:
    """Return key and texts of each source of a claim; UsageError without any, and for a key that two have."""
    found = [(document.key, compared_passages(document)) for document in sources]
    if not found:
        raise UsageError("give at least one source")
    for key, count in Counter(key for key, _ in found).items():
        if count > 1:
            raise UsageError(f"{count} sources have the key {key!r}: give each source once, with a key of its own")
    return found


def check_ranks(document: Document) -> None:
    """Raise UsageError for a part whose rank is out of range."""
    for part in document.parts:
        if not 0 <= part.rank < 2**31:
            raise UsageError(f"document {document.key!r} has a rank that is not within 0 and 2^31 - 1")
