"""What the endpoints need of a collection, be it in one place or in shards."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from moverank.indexer.documents import Changes, Document
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress
from moverank.indexer.ranked_texts import QueryText, StoredKey
from moverank.indexer.server.writer_process import Change
from moverank.indexer.settings import Settings
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moverank.indexer.contents.description import Description
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.search.pairs import Pairs
    from moverank.indexer.store import Entry


class StateSearcher(Protocol):
    """Searches one state of a collection; several threads may use it."""

    def search(self, text: QueryText, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text or a record."""
        ...

    def similar(self, key: str, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a stored one."""
        ...

    def explain(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from a document, and its flows."""
        ...

    def why_not(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search excludes a document."""
        ...

    def rerank(
        self, text: QueryText, keys: Sequence[str], k: int | None, scores: Any, options: SearchOptions, /
    ) -> Ranking:
        """Rank stored documents."""
        ...

    def pairs(self, within: float, k: int | None, options: SearchOptions, progress: Progress) -> "Pairs":
        """Find the nearest pairs of documents."""
        ...


class StateContents(Protocol):
    """The documents of one state that pass a filter."""

    @property
    def total(self) -> int:
        """Return the number of all documents."""
        ...

    def __len__(self) -> int:
        """Return the number of documents that pass the filter."""
        ...

    def entries(self, limit: int | None = None, first: int = 0) -> "Iterator[Entry]":
        """Iterate over `limit` documents after the `first` ones, without their texts."""
        ...

    def describe(self, key: str) -> "Description":
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
        ...

    def get(self, key: str) -> Document | None:
        """Return the document with a key, None if there is none."""
        ...


class State(Protocol):
    """One state of a collection that is served."""

    @property
    def settings(self) -> Settings:
        """Return the settings of the collection."""
        ...

    @property
    def revision(self) -> int:
        """Return the number of the last change."""
        ...

    @property
    def documents(self) -> int:
        """Return the number of documents."""
        ...

    @property
    def searcher(self) -> StateSearcher:
        """Return what searches the state."""
        ...

    @property
    def reranker(self) -> "Reranker":
        """Return a reranker of texts with the weights of this state; Problem where there is none."""
        ...

    def contents(self, where: Where | None = None) -> AbstractContextManager[StateContents]:
        """Open the documents that pass a filter."""
        ...


Answer = TypeVar("Answer")


class Served(Protocol):
    """A collection that is served."""

    name: str

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        ...

    @property
    def revision(self) -> int:
        """Return the revision that is searched, 0 before there is any."""
        ...

    def answer(self, work: Callable[[State], Answer]) -> Answer:
        """Return what `work` makes of the current state; Problem 503 while there is none."""
        ...

    def current(self) -> AbstractContextManager[State]:
        """Keep the current state open during the block; Problem 503 while there is none."""
        ...

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after those that wait already; Problem 503 if too many do."""
        ...

    def close(self) -> None:
        """End the changes that wait, then close the collection."""
        ...
