"""Reranks stored documents for many queries, each with candidates of its own."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from moverank.indexer.errors import UnknownKey
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.search.batch import answer_many
from moverank.indexer.search.engine_scores import Scores
from moverank.indexer.search.query import Query
from moverank.indexer.search.query_parser import QueryParser
from moverank.indexer.search.stored_candidates import StoredCandidates
from moverank.indexer.search.view import View
from moverank.indexer.search.whole_ranking import Candidate, in_old_order
from moverank.indexer.store import Reader
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking

RerankTask = tuple[QueryText, Sequence[str], Scores | None]
"""A text or a record, the keys of its candidates, and the engine's scores of these."""


def rerank_many(
    reader: Reader,
    view: View,
    parser: QueryParser,
    tasks: Iterable[RerankTask],
    k: int | None,
    plain: Query,
    *,
    full: bool,
) -> Iterator[Ranking]:
    """Rank the candidates of each task, the first `k` (None: all) exactly, in the order of the tasks.

    `plain` is a query without words. `full`: with whole texts. Candidates of a query that cannot be answered stay in
    the order given.
    """
    waiting = deque[Sequence[str] | StoredCandidates]()

    def queries() -> Iterator[Query | str]:
        for text, keys, scores in tasks:
            waiting.append(keys)
            try:
                waiting[-1] = candidates = StoredCandidates.of(reader, keys, scores, full=full)
                yield parser.text(text, candidates.restrict(plain, k))
            except (NoKnownWords, UnknownKey) as error:
                yield str(error)

    for query, outcome in answer_many(view, queries()):
        candidates = waiting.popleft()
        if isinstance(candidates, StoredCandidates) and outcome is not None and not isinstance(query, str):
            yield candidates.ranking(outcome, query)
        elif isinstance(candidates, StoredCandidates):
            yield in_old_order(candidates.all, str(query))
        else:
            yield in_old_order([Candidate(index, key) for index, key in enumerate(candidates)], str(query))
