"""The documents of one state of a collection that pass a filter, read in batches."""

from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property

from moverank.indexer.arguments import text
from moverank.indexer.contents.description import Description, describe
from moverank.indexer.contents.listing import Listing
from moverank.indexer.documents import Document
from moverank.indexer.errors import UnknownKey
from moverank.indexer.filters import matching_ids, why_none_passes
from moverank.indexer.indexing.stored_form import restored
from moverank.indexer.options import Where
from moverank.indexer.store import Reader, StoredDocument

_KEYS = 5000


class Contents(Listing):
    """The documents that `reader` sees and that pass the filter `where`, in the order in which they were first added.

    Only their ids are held in memory. All methods but `get` and `describe` raise UsageError for an invalid filter.
    Documents in other shards have the fields `elsewhere`.
    """

    def __init__(self, reader: Reader, where: Where | None = None, elsewhere: Iterable[str] = ()) -> None:
        super().__init__(reader)
        self._reader, self._where, self._elsewhere = reader, where, elsewhere

    def why_empty(self) -> str | None:
        """Return why no document passes the filter; None if any does, or there is no filter."""
        return None if len(self) or not self._where else why_none_passes(self._reader, self._where, self._elsewhere)

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents."""
        for ids in self._batches():
            yield from map(restored, self._reader.documents(ids))

    def keys(self) -> Iterator[str]:
        """Iterate over the keys."""
        for ids in self._batches(_KEYS):
            keys = self._reader.keys(ids)
            yield from (keys[id_] for id_ in ids)

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
        found = self._found(key)
        if found is None:
            raise UnknownKey(f"the collection has no document with the key {key!r}")
        return describe(self._reader, found)

    def has(self, key: str) -> bool:
        """Return whether there is a document with a key, whether it passes the filter or not."""
        return bool(self._reader.known([key]))

    def get(self, key: str) -> Document | None:
        """Return the document with a key, whether it passes the filter or not; None if there is none."""
        found = self._found(key)
        return None if found is None else restored(found)

    def _found(self, key: str) -> StoredDocument | None:
        known = self._reader.known([text("a key", key)])
        return self._reader.documents([known[key].id])[0] if known else None

    @cached_property
    def _ids(self) -> "array[int]":
        return array("q", matching_ids(self._reader, self._where, self._elsewhere).tobytes())
