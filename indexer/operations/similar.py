"""The documents that are similar to a stored one."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import NO_LIMITS, OperatedState, Operation, WorkLimits
from moverank.indexer.option import Option
from moverank.indexer.options import SearchOptions
from moverank.rerank.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar(Operation[Ranking]):
    """Find the documents nearest to a stored one."""

    NAME: ClassVar = "similar"
    ANSWER: ClassVar = Ranking

    key: Annotated[str, Option("The key of the stored document.")]
    options: SearchOptions = field(default_factory=SearchOptions)

    def run(self, state: OperatedState, limits: WorkLimits = NO_LIMITS) -> Ranking:
        """Return the ranking, without the document itself; UnknownKey if there is none with the key."""
        return state.searcher.similar(self.key, limits.of_search(self.options))
