"""The documents of an open collection, as a container."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager

from moverank.indexer.contents.contents import Contents
from moverank.indexer.documents import Document
from moverank.indexer.options import Where


class StoredDocuments(ABC):
    """What `Collection` has of a container: its documents in order, and `in`, `get` and `keys` by their keys.

    Every call sees the last committed state, and every iteration one state from its beginning to its end, also while
    another process writes. Documents are read in batches.
    """

    @abstractmethod
    def contents(self, where: Where | None = None) -> AbstractContextManager[Contents]:
        """Open one state of the documents that pass a filter, as in `SearchOptions.where`."""

    def documents(self, where: Where | None = None) -> Iterator[Document]:
        """Iterate over the documents that pass a filter, in the order in which they were first added."""
        with self.contents(where) as contents:
            yield from contents.documents()

    def keys(self, where: Where | None = None) -> Iterator[str]:
        """Iterate over the keys of the documents that pass a filter, in the same order."""
        with self.contents(where) as contents:
            yield from contents.keys()

    def get(self, key: str) -> Document | None:
        """Return the document with a key, None if there is none."""
        with self.contents() as contents:
            return contents.get(key)

    def __iter__(self) -> Iterator[Document]:
        return self.documents()

    def __len__(self) -> int:
        with self.contents() as contents:
            return contents.total

    def __contains__(self, key: object) -> bool:
        with self.contents() as contents:
            return isinstance(key, str) and contents.has(key)
