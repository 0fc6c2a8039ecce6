"""The interface of a collection to the endpoints, whether it is in one place or in shards."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

from moverank.indexer.documents import Changes
from moverank.indexer.operations.operation import DescribedDocuments, OperatedState
from moverank.indexer.options import Where
from moverank.indexer.server.writer_process import Change
from moverank.indexer.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.store import Entry, Reader
    from moverank.rerank.distance.ground_cost import NearWord


class StateContents(DescribedDocuments, Protocol):
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


class Facts(Protocol):
    """What is known of a state of a collection without its database."""

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


class State(Facts, OperatedState, Protocol):
    """One state of a collection that is served."""

    def reranker(self, rank: str | None, gamma: float | None, /) -> "Reranker":
        """Return a reranker of texts with the weights of this state, by a ranking; HttpProblem where there is none."""
        ...

    def contents(self, where: Where | None = None) -> AbstractContextManager[StateContents]:
        """Open the documents that pass a filter."""
        ...

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> "dict[str, NearWord]":
        """Return, for each of the `targets` with a vector, the nearest of the `sources`."""
        ...


WorkResult = TypeVar("WorkResult")


class Served(Protocol):
    """A collection that is served."""

    name: str

    @property
    def problem(self) -> str:
        """Return why the database cannot be read now; empty if it can be."""
        ...

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        ...

    @property
    def revision(self) -> int:
        """Return the revision that is searched, 0 before there is any."""
        ...

    def answer(self, work: Callable[[State], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state; HttpProblem 503 while there is none."""
        ...

    @property
    def facts(self) -> Facts:
        """Return what is known of the current state, even if its database hangs; HttpProblem 503 if there is none."""
        ...

    def read(self, work: "Callable[[Reader], WorkResult]") -> WorkResult:
        """Return the result of `work` on the last commit; UsageError for shards."""
        ...

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after the waiting changes; HttpProblem 503 if too many wait."""
        ...

    def stop(self, *, running: bool) -> None:
        """Refuse the changes that wait, and all later ones; `running`: end the one that runs, too."""
        ...

    def close(self) -> None:
        """End the change that runs, then close the collection."""
        ...
