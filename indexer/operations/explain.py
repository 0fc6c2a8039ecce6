"""The flows behind a distance, and the stage at which a search excludes a document."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.values.option import Option
from moverank.indexer.values.queries import QueryText, StoredKey, explained_query, vector_numbers
from moverank.indexer.values.search_options import Gamma, Rank, SearchOptions
from moverank.rerank.answer import Answer
from moverank.rerank.distance.explain import Explanation, WhyNot


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOrKey:
    """A query, or a stored document in its place."""

    query: Annotated[QueryText | None, Option("A text or a record.", noun="the query")] = None
    similar: Annotated[str | None, Option("The key of a stored document, instead of `query`.")] = None
    vector: Annotated[Iterable[float] | None, Option("The vector of the query, where the first stage is `given`.")] = (
        None
    )

    def __post_init__(self) -> None:
        """Raise QueryVectorError for a vector that is no list of numbers."""
        if self.vector is not None:
            object.__setattr__(self, "vector", vector_numbers(self.vector))

    def compared(self, state: OperatedState) -> QueryText | StoredKey:
        """Return the query or the key; UsageError for both or none."""
        return explained_query(self.query, self.similar, self.vector, state.settings.encoder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared(QueryOrKey):
    """A query, or a stored document in its place, and the document that it is compared with."""

    key: Annotated[str, Option("The key of the document that is compared.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(_Compared, Operation[Explanation]):
    """Show which words of a query, or of a stored document, moved to which words of another, and at what cost."""

    NAME: ClassVar = "explain"
    ANSWER: ClassVar = Explanation

    rank: Rank = None
    gamma: Gamma = None

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Explanation:
        """Return the exact distance and its flows; UnknownKey if there is no such document."""
        options = work.of_search(SearchOptions(rank=self.rank, gamma=self.gamma, highlight=True))
        found = state.searcher.explain(self.compared(state), self.key, options)
        return replace(found, query_key=self.similar)


@dataclass(frozen=True, slots=True)
class Excluded(Answer):
    """Why a document is not among the hits."""

    OBJECT = "WhyNot"

    why_not: WhyNot
    """The stage, and the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainExclusion(_Compared, Operation[Excluded]):
    """Show the bound that excludes a stored document from the hits of a search."""

    NAME: ClassVar = "why-not"
    ANSWER: ClassVar = Excluded

    options: SearchOptions = field(default_factory=SearchOptions)

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Excluded:
        """Return the stage, the bounds and the exact distance; UnknownKey if there is no such document."""
        options = work.of_search(self.options)
        return Excluded(state.searcher.why_not(self.compared(state), self.key, options))
