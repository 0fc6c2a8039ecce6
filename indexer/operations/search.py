"""The documents nearest to a text, to a stored document, or among stored candidates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.values.option import Option, options_of
from moverank.indexer.values.queries import QueryText, Scores, StoredKey, vector_numbers, with_vector
from moverank.indexer.values.search_options import Gamma, Rank, SearchOptions
from moverank.rerank.ranking import Ranking

_OPTIONS = options_of(SearchOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Operation[Ranking]):
    """Find the documents nearest to a text or a record."""

    NAME: ClassVar = "search"
    ANSWER: ClassVar = Ranking

    query: Annotated[QueryText, Option("A text, or a record with a title and a text, or a thread.", noun="the query")]
    vector: Annotated[Iterable[float] | None, Option("The vector of the query, where the first stage is `given`.")] = (
        None
    )
    options: SearchOptions = field(default_factory=SearchOptions)

    def __post_init__(self) -> None:
        """Raise QueryVectorError for a vector that is no list of numbers."""
        if self.vector is not None:
            object.__setattr__(self, "vector", vector_numbers(self.vector))

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Ranking:
        """Return the ranking; QueryVectorError if candidates are chosen by vectors, and that of the query is unusable.

        The key of a record does not matter: a stored document with the same content is a hit at distance 0.
        """
        query = with_vector(self.query, self.vector, state.settings.encoder)
        return state.searcher.answer(query, work.of_search(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar(Operation[Ranking]):
    """Find the documents nearest to a stored one."""

    NAME: ClassVar = "similar"
    ANSWER: ClassVar = Ranking

    key: Annotated[str, Option("The key of the stored document.")]
    options: SearchOptions = field(default_factory=SearchOptions)

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Ranking:
        """Return the ranking, without the document itself; UnknownKey if there is none with the key."""
        return state.searcher.answer(StoredKey(self.key), work.of_search(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank(Operation[Ranking]):
    """Rank stored documents, the candidates of another engine, by key."""

    NAME: ClassVar = "rerank"
    ANSWER: ClassVar = Ranking

    query: Annotated[QueryText, Option("A text or a record.", noun="the query")]
    keys: Annotated[Sequence[str], Option("The keys of the candidates.", noun="candidate")]
    k: Annotated[int | None, Option("How many hits are exact.", "all", least=1)] = None
    scores: Annotated[
        Scores | None,
        Option(
            "The scores of the other engine, one for each key, for a ranking with the term `vector`; null: it has none."
        ),
    ] = None
    rank: Rank = None
    gamma: Gamma = None
    full: Annotated[bool, _OPTIONS["full"].option] = False
    highlight: Annotated[bool, _OPTIONS["highlight"].option] = False
    passage: Annotated[int | None, _OPTIONS["passage"].option] = None

    @property
    def options(self) -> SearchOptions:
        """Return the options by which the candidates are ranked."""
        return SearchOptions(
            rank=self.rank, gamma=self.gamma, full=self.full, highlight=self.highlight, passage=self.passage
        )

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Ranking:
        """Return all candidates; UnknownKey if the collection lacks all of the keys."""
        return state.searcher.rerank(self.query, self.keys, self.k, self.scores, work.of_search(self.options))
