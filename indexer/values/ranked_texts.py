"""The texts of documents by rank, as their words are counted."""

from collections.abc import Sequence

from moverank.indexer.values.documents import Document, counted_texts
from moverank.rerank.bags.bag import TITLE

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
