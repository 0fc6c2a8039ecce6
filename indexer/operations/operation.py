"""Operations: an ability is a frozen dataclass whose fields are its options; `run` returns its answer.

The endpoint of the server with its OpenAPI, and the call of the client, are made of the record; a collection and a
client of a server run it by the same method, and have the same short forms.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from moverank.rerank.answer import Answer

if TYPE_CHECKING:  # a client imports none of them
    from moverank.indexer.contents.contents import Description
    from moverank.indexer.ranked_texts import QueryText, SomeTexts
    from moverank.indexer.settings import Settings
    from moverank.rerank.distance.evidence import Evidence
    from moverank.rerank.distance.text_changes import TextChanges
    from moverank.rerank.words.embedding import Embedding

Found = TypeVar("Found", bound=Answer)


class DescribedDocuments(Protocol):
    """Documents by key."""

    def describe(self, key: str) -> "Description":
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
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

    def contents(self) -> AbstractContextManager[DescribedDocuments]:
        """Open the documents."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Found]):
    """An ability of a collection. The docstring of a subclass describes it, an `Option` each of its fields."""

    NAME: ClassVar[str]
    """Its name in URLs."""
    ANSWER: ClassVar[type[Answer]]
    """The type of its answer."""

    most_characters: int | None = None
    """The limit of the server for all texts together; TooLarge for longer ones. None: no limit."""

    def run(self, state: OperatedState) -> Found:
        """Return the answer for a state of a collection."""
        raise NotImplementedError


class Operated:
    """A collection, here or behind a server, with the short forms of its operations."""

    def run(self, operation: Operation[Found]) -> Found:
        """Return the answer to an operation."""
        raise NotImplementedError

    def compare(
        self,
        claim: "QueryText",
        keys: Iterable[str] = (),
        tau: float | None = None,
        *,
        sources: "SomeTexts" = (),
    ) -> "Evidence":
        """Return what `sources` and stored documents cover of a claim, a text or a `Document`; see `Reranker.evidence`.

        Each source, a text or a `Document`, has its index as the key. Raises UnknownKey for a key without a document,
        UsageError for one that two have.
        """
        from moverank.indexer.operations.compare import Compare

        return self.run(Compare(claim=claim, sources=sources, keys=keys, tau=tau))

    def changes(self, old: "QueryText", new: "QueryText", tau: float | None = None) -> "TextChanges":
        """Return the changes between two versions, texts or a `Document` each; see `Reranker.changes`."""
        from moverank.indexer.operations.compare import CompareVersions

        return self.run(CompareVersions(old=old, new=new, tau=tau))
