"""The texts of documents and queries by rank, as their words are counted."""

from moverank.indexer.documents import Document, Part
from moverank.indexer.errors import UsageError
from moverank.indexer.titles import counted_texts
from moverank.rerank.bags.title_rank import TITLE

QueryText = str | Document
"""What is searched for: a text, or a document with a title and ranked parts, whose key does not matter."""


def as_document(query: QueryText) -> Document:
    """Return a query as a document: a text is its only part. UsageError for another type, or a rank out of range."""
    if isinstance(query, str):
        return Document("", parts=(Part(query),))
    if not isinstance(query, Document):
        raise UsageError(f"a query is a text or a Document, not {type(query).__name__}")
    check_ranks(query)
    return query


def ranked_texts(document: Document) -> list[tuple[int, str]]:
    """Return (rank, text) of the title, where its words count, with the rank `TITLE`, and of each part.

    A title at the beginning of the first part is cut off there: see `counted_texts`.
    """
    title = document.title if document.title_counts else ""
    ranks = [part.rank for part in document.parts]
    texts = counted_texts(title, [(part.rank, part.text) for part in document.parts])
    return [*([(TITLE, title)] if title.strip() else []), *zip(ranks, texts, strict=True)]


def check_ranks(document: Document) -> None:
    """Raise UsageError for a part whose rank is out of range."""
    for part in document.parts:
        if not 0 <= part.rank < 2**31:
            raise UsageError(f"document {document.key!r} has a rank that is not within 0 and 2^31 - 1")
