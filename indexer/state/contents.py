"""The documents of a collection by key, in order, and by filter, read in batches from one state.

A list of documents without their texts needs neither numpy nor filters, which are imported where they are used.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from struct import unpack
from typing import Annotated

from moverank.indexer import indexing
from moverank.indexer.store import Entry, Reader, StoredDocument
from moverank.indexer.values.arguments import text
from moverank.indexer.values.documents import Document, Located, Origin
from moverank.indexer.values.search_options import Where
from moverank.rerank.answer import FLAT

_BATCH, _KEYS = 200, 5000  # documents, some of which may be threads of thousands of posts, and keys


@dataclass(frozen=True, slots=True)
class Description(Located):
    """A whole document, and the facts that are stored about it."""

    OBJECT = "Document"
    KEYS = ("document", "words", "unknown_words", "revision", "source", "file")

    document: Annotated[Document, FLAT]
    """The document."""
    revision: int
    """The revision that last changed it."""
    words: int
    """The number of different words; stop words are not counted."""
    unknown_words: tuple[str, ...]
    """Words without a vector; a document all of whose words are unknown is never compared by a distance."""
    origin: Origin | None = None
    """Where it was read last; None if unknown."""


def _restored(found: StoredDocument) -> Document:
    return indexing.restored_document(found)


class Contents:
    """The documents that `reader` sees and that pass the filter `where`, in the order in which they were first added.

    Only their ids are held in memory. All methods but `get` and `describe` raise UsageError for an invalid filter.
    `elsewhere` are fields of documents in other shards.
    """

    def __init__(self, reader: Reader, where: Where | None = None, elsewhere: Iterable[str] = ()) -> None:
        self._reader, self._where, self._elsewhere = reader, where, elsewhere

    def why_empty(self) -> str | None:
        """Return why no document passes the filter; None if any does, or there is no filter."""
        if len(self) or not self._where:
            return None
        from moverank.indexer.filters import why_none_passes

        return why_none_passes(self._reader, self._where, self._elsewhere)

    @cached_property
    def total(self) -> int:
        """Return the number of all documents."""
        return self._reader.document_count()

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._ids)

    def entries(self, limit: int | None = None, first: int = 0) -> Iterator[Entry]:
        """Iterate over `limit` documents, None for all, after the `first` ones, without their texts."""
        for ids in self._batches(_BATCH, limit, first):
            yield from self._reader.entries(ids)

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents."""
        for ids in self._batches(_BATCH):
            yield from map(_restored, self._reader.documents(ids))

    def keys(self) -> Iterator[str]:
        """Iterate over the keys."""
        for ids in self._batches(_KEYS):
            keys = self._reader.keys(ids)
            yield from (keys[id_] for id_ in ids)

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key.

        Unknown words are in alphabetical order.
        """
        found = self._found(key)
        if found is None:
            raise self._reader.unknown_key(key)
        words = {id_ for part in found.parts for id_ in unpack(f"<{len(part.words) // 4}i", part.words)}
        unknown, origins = self._reader.unknown_words([found.id]), self._reader.origins([found.id])
        return Description(_restored(found), found.revision, len(words), unknown[found.id], origins.get(found.id))

    def has(self, key: str) -> bool:
        """Return whether there is a document with a key, whether it passes the filter or not."""
        return bool(self._reader.known([key]))

    def get(self, key: str) -> Document | None:
        """Return the document with a key, whether it passes the filter or not; None if there is none."""
        found = self._found(key)
        return None if found is None else _restored(found)

    def _found(self, key: str) -> StoredDocument | None:
        known = self._reader.known([text("a key", key)])
        return self._reader.documents([known[key].id])[0] if known else None

    @cached_property
    def _ids(self) -> "array[int]":
        if self._where is None:
            return array("q", self._reader.ids())
        from moverank.indexer.filters import matching_ids

        return array("q", matching_ids(self._reader, self._where, self._elsewhere).tobytes())

    def _batches(self, size: int, limit: int | None = None, first: int = 0) -> Iterator[list[int]]:
        ids = self._ids[first : None if limit is None else first + limit]
        return (ids[start : start + size].tolist() for start in range(0, len(ids), size))
