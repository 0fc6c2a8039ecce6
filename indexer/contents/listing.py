"""The documents of one state of a collection, without their texts."""

from array import array
from collections.abc import Iterator
from functools import cached_property

from moverank.indexer.store import Entry
from moverank.indexer.store.entry_reader import EntryReader

_BATCH = 200  # documents: some may be threads of thousands of posts


class Listing:
    """The documents that `reader` sees, in the order in which they were first added; only their ids are in memory."""

    def __init__(self, reader: EntryReader) -> None:
        self._entries = reader

    def why_empty(self) -> str | None:
        """Return why no document passes the filter; None if any does."""
        return None

    @property
    def total(self) -> int:
        """Return the number of all documents."""
        return self._entries.document_count()

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._ids)

    def entries(self, limit: int | None = None, first: int = 0) -> Iterator[Entry]:
        """Iterate over `limit` documents, None for all, after the `first` ones, without their texts."""
        for ids in self._batches(None, limit, first):
            yield from self._entries.entries(ids)

    @cached_property
    def _ids(self) -> "array[int]":
        return array("q", self._entries.ids())

    def _batches(self, size: int | None = None, limit: int | None = None, first: int = 0) -> Iterator[list[int]]:
        size = size or _BATCH
        ids = self._ids[first : None if limit is None else first + limit]
        return (ids[start : start + size].tolist() for start in range(0, len(ids), size))
