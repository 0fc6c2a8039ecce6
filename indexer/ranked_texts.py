"""The texts of documents by rank, as their words are counted."""

from collections import Counter
from collections.abc import Iterable, Sequence

from moverank.indexer.documents import Document, begins_with_title, counted_texts
from moverank.indexer.errors import UsageError
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
