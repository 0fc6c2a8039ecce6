"""Operations: an ability is a frozen dataclass whose fields are its options; `run` returns its answer.

The endpoint of the server with its OpenAPI, the call of the client and the tool of agents are made of the record, and
the command of an operation of another package.

A new ability is a record and its answer here or in a plug-in, found by its name: one of the core in
`operation_registry`, one of a plug-in by an entry point `moverank.operations` in `pyproject.toml`. Where its own
command or short form reads better than the generated one, they stand in `commands`, or behind an entry point
`moverank.commands`, and in `operated`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from moverank.indexer.values.pair_options import DedupeOptions, PairSearch
from moverank.indexer.values.search_options import Progress, SearchOptions, Where, silent
from moverank.rerank.answer import Answer

if TYPE_CHECKING:  # a client imports none of them
    from moverank.indexer.search.near_documents import Deduplication, Pairs
    from moverank.indexer.state.contents import Description
    from moverank.indexer.store import Entry
    from moverank.indexer.values.queries import QueryText, StoredKey
    from moverank.indexer.values.settings import Settings
    from moverank.rerank.distance.explain import Explanation, WhyNot
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.embedding import Embedding

Found = TypeVar("Found", bound=Answer)


class Searchable(Protocol):
    """Searches one state of a collection, or of all its shards; several threads may use it."""

    def prepare(self, options: SearchOptions, progress: Progress) -> None:
        """Compute the data of all documents that searches with these options need."""
        ...

    def answer(self, request: "QueryText | StoredKey", options: SearchOptions, /) -> "Ranking":
        """Find the documents nearest to a text, a record, or a stored document, which is excluded."""
        ...

    def answer_many(
        self, requests: "Iterable[QueryText | StoredKey]", options: SearchOptions, /
    ) -> "Iterator[Ranking]":
        """Find the documents nearest to each of many queries, in order."""
        ...

    def explain(self, request: "QueryText | StoredKey", key: str, options: SearchOptions) -> "Explanation":
        """Return the exact distance of a query from a document, and its flows."""
        ...

    def why_not(self, request: "QueryText | StoredKey", key: str, options: SearchOptions) -> "WhyNot":
        """Return the stage at which a search excludes a document."""
        ...

    def rerank(
        self, text: "QueryText", keys: Sequence[str], k: int | None, scores: Any, options: SearchOptions, /
    ) -> "Ranking":
        """Rank stored documents."""
        ...

    def pairs(self, search: PairSearch, options: SearchOptions, /) -> "Pairs":
        """Find the nearest pairs of documents."""
        ...

    def dedupe(self, search: PairSearch, options: SearchOptions, keep: DedupeOptions, /) -> "Deduplication":
        """Choose documents to keep, of which no two are within a distance."""
        ...


class StateContents(Protocol):
    """The documents of a state that pass a filter."""

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

    def why_empty(self) -> str | None:
        """Return why no document passes the filter; None if any does, or there is no filter."""
        ...


class OperatedState(Protocol):
    """A state of a collection that operations read."""

    @property
    def settings(self) -> "Settings":
        """Return the settings of the collection."""
        ...

    @property
    def embedding(self) -> "Embedding":
        """Return the word vectors; UsageError for shards, each of which has its own."""
        ...

    @property
    def searcher(self) -> Searchable:
        """Return the searcher of the state."""
        ...

    def contents(self, where: Where | None = None) -> AbstractContextManager[StateContents]:
        """Open the documents that pass a filter."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """How an operation reports progress, and what a server allows it."""

    progress: Progress = silent
    """Called during long work."""
    stop: Callable[[], bool] | None = None
    """Called often; once it returns True, the work ends."""
    characters: int | None = None
    """The largest size of all texts together; TooLarge for longer ones."""
    answer: int | None = None
    """The largest size of the texts and flows of an answer, see `SearchOptions.most_characters`."""

    def of_search(self, options: SearchOptions) -> SearchOptions:
        """Return the options of a search within the limits."""
        return options if self.stop is None else replace(options, stop=self.stop, most_characters=self.answer)


UNLIMITED = Work()


class Operation(Generic[Found]):
    """An ability of a collection. The docstring of a subclass describes it, an `Option` each of its fields."""

    __slots__ = ()

    NAME: ClassVar[str]
    """Its name in URLs."""
    ANSWER: ClassVar[type[Answer]]
    """The type of its answer."""
    SERVED: ClassVar[bool] = True
    """Whether servers and agents may run it; not if it changes anything, or works on all documents for hours."""
    OF_STATE: ClassVar[bool] = True
    """Whether `run` gets a state, which has word vectors; else it gets the open collection, which it may change."""

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Found:
        """Return the answer for a state of a collection."""
        raise NotImplementedError
