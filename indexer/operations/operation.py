"""Operations: an ability is a frozen dataclass whose fields are its options; `run` returns its answer.

The endpoint of the server with its OpenAPI, and the call of the client, are made of the record; a collection and a
client of a server run it by the same method, and have the same short forms.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from moverank.indexer.options import SearchOptions
from moverank.rerank.answer import Answer

if TYPE_CHECKING:  # a client imports none of them
    from moverank.indexer.contents.contents import Description
    from moverank.indexer.face import Searchable
    from moverank.indexer.ranked_texts import QueryText, SomeTexts
    from moverank.indexer.settings import Settings
    from moverank.rerank.distance.evidence import Evidence
    from moverank.rerank.distance.explain import Explanation, WhyNot
    from moverank.rerank.distance.text_changes import TextChanges
    from moverank.rerank.ranking import Ranking
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

    @property
    def searcher(self) -> "Searchable":
        """Return the searcher of the state."""
        ...

    def contents(self) -> AbstractContextManager[DescribedDocuments]:
        """Open the documents."""
        ...


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What a server allows one operation."""

    stop: Callable[[], bool] | None = None
    """Called often; once it returns True, the work ends."""
    characters: int | None = None
    """The largest size of all texts together; TooLarge for longer ones."""
    answer: int | None = None
    """The largest size of the texts and flows of an answer, see `SearchOptions.most_characters`."""

    def of_search(self, options: SearchOptions) -> SearchOptions:
        """Return the options of a search within the limits."""
        return options if self.stop is None else replace(options, stop=self.stop, most_characters=self.answer)


NO_LIMITS = WorkLimits()


class Operation(Generic[Found]):
    """An ability of a collection. The docstring of a subclass describes it, an `Option` each of its fields."""

    __slots__ = ()

    NAME: ClassVar[str]
    """Its name in URLs."""
    ANSWER: ClassVar[type[Answer]]
    """The type of its answer."""

    def run(self, state: OperatedState, limits: WorkLimits = NO_LIMITS) -> Found:
        """Return the answer for a state of a collection."""
        raise NotImplementedError


class Operated:
    """A collection, here or behind a server, with the short forms of its operations.

    Those of searches take a `SearchOptions`, or its fields as keywords.
    """

    def run(self, operation: Operation[Found]) -> Found:
        """Return the answer to an operation."""
        raise NotImplementedError

    def similar(self, key: str, options: SearchOptions | None = None, **fields: Any) -> "Ranking":
        """Find the documents nearest to a stored one, which is excluded. Raises UnknownKey."""
        from moverank.indexer.operations.similar import Similar

        return self.run(Similar(key=key, options=SearchOptions.of(options, fields)))

    def explain(
        self,
        query: "QueryText | None" = None,
        key: str = "",
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        gamma: float | None = None,
        rank: str | None = None,
    ) -> "Explanation":
        """Return the exact distance of a text or record, `query`, from the document `key`, and its flows.

        `similar`: instead of a `query`, the key of a stored document that is compared with the document `key`.
        `gamma`: sensitivity to rank, and `rank`: the ranking whose terms are explained; by default the collection's.
        `vector` as in `search`. Raises UnknownKey.
        """
        from moverank.indexer.operations.explain import Explain

        return self.run(Explain(query=query, key=key, similar=similar, vector=vector, gamma=gamma, rank=rank))

    def why_not(
        self,
        query: "QueryText | None" = None,
        key: str = "",
        options: SearchOptions | None = None,
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> "WhyNot":
        """Return the stage at which a search for `query` excludes the document `key`, with its bounds and distance.

        `options` and `vector` are the search's; `similar` as in `explain`. Raises UnknownKey.
        """
        from moverank.indexer.operations.explain import ExplainExclusion

        chosen = SearchOptions.of(options, fields)
        return self.run(ExplainExclusion(query=query, key=key, options=chosen, similar=similar, vector=vector)).why_not

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
