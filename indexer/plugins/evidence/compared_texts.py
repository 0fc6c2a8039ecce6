"""The texts of a comparison as they are read, and their size."""

from collections import Counter
from collections.abc import Iterable

from moverank.indexer.errors import UsageError
from moverank.indexer.values.documents import Document, begins_with_title, title_and_texts
from moverank.indexer.values.ranked_texts import title_and_parts, whole_texts
from moverank.rerank.errors import TooLarge


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


def size_with(documents: Iterable[Document], most: int | None, size: int = 0) -> int:
    """Return `size` and the number of characters of documents; TooLarge for more than `most`, None: no limit."""
    size += sum(len(text) for document in documents for text in title_and_texts(document))
    if most is not None and size > most:
        raise TooLarge(f"the texts have more than {most:,} characters together, the limit here")
    return size
