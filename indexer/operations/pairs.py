"""The nearest pairs of documents."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.pair_options import DedupeOptions, PairOptions, PairSearch, far_words
from moverank.indexer.search.near_documents import Pairs
from moverank.indexer.search_options import SearchOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FindPairs(Operation[Pairs]):
    """Find the documents that are near each other: the nearest pairs, exactly."""

    NAME: ClassVar = "pairs"
    ANSWER: ClassVar = Pairs
    SERVED: ClassVar = False

    search: PairOptions

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Pairs:
        """Return the pairs; UsageError for a ranking that compares none."""
        asked = self.search
        within = inf if asked.within is None else asked.within
        search = PairSearch(within, asked.k, work.progress, asked.resumed, far_words(asked.unknown))
        return state.searcher.pairs(search, work.of_search(compared_by(asked, state)))


def compared_by(asked: PairOptions | DedupeOptions, state: OperatedState) -> SearchOptions:
    """Return how pairs are compared: without a ranking, by WMD or P-WMD with the collection's word weights."""
    from moverank.indexer.ranking_spec import distance_of

    rank, gamma = distance_of(asked.rank, asked.gamma, state.settings.ranking)
    return SearchOptions(rank=rank, gamma=gamma, where=asked.where)
