"""The nearest pairs of documents."""

from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.search.near_documents import Pairs
from moverank.indexer.values.pair_options import DedupeOptions, PairOptions, PairSearch, far_words
from moverank.indexer.values.search_options import SearchOptions
from moverank.rerank.runtime.deadline import stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class FindPairs(Operation[Pairs]):
    """Find the documents that are near each other: the nearest pairs, exactly; a server needs their number, `k`."""

    NAME: ClassVar = "pairs"
    ANSWER: ClassVar = Pairs

    search: PairOptions

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Pairs:
        """Return the pairs; UsageError for a ranking that compares none, and for no `k` where the work is limited."""
        asked, limited = self.search, work.stop is not None
        if limited and asked.k is None:
            raise UsageError("give k, the number of pairs: a server does not return all pairs within a distance")
        within, resumed = inf if asked.within is None else asked.within, asked.resumed and not limited
        search = PairSearch(within, asked.k, work.progress, resumed, far_words(asked.unknown))
        with stopping(work.stop) if work.stop else nullcontext():
            return state.searcher.pairs(search, work.of_search(compared_by(asked, state)))


def compared_by(asked: PairOptions | DedupeOptions, state: OperatedState) -> SearchOptions:
    """Return how pairs are compared: without a ranking, by WMD or P-WMD with the collection's word weights."""
    from moverank.indexer.values.ranking_spec import distance_of

    rank, gamma = distance_of(asked.rank, asked.gamma, state.settings.ranking)
    return SearchOptions(rank=rank, gamma=gamma, where=asked.where)
