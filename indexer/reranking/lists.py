"""Ranks the candidate lists of a run: stored documents by their bags, others by their texts; streaming."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from moverank.indexer.collection import Collection
from moverank.indexer.errors import NoCollection
from moverank.indexer.reading.inputs.candidate_lists import CandidateList
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.search.candidate_rankings import Candidate, ranking_in_given_order
from moverank.indexer.values.documents import Document
from moverank.rerank.ranking import AUTO_RANK, Ranking
from moverank.rerank.runtime.parallel import batches
from moverank.rerank.words.languages import DEFAULT

_log = logging.getLogger("moverank")

_BATCH = 64  # lists that are ranked together
_NO_QUERY = "there is no text of this query: give it by --queries"


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """How lists are ranked."""

    k: int | None = None  # how many of the first hits are exact; None: all
    rank: str | None = None  # as in `Reranker.rank`
    gamma: float | None = None  # as in `Reranker.rank`
    full: bool = False  # stored candidates come with their whole texts
    language: str | None = None  # that of texts which the word vectors of a file compare, as in `Reranker`
    highlight: bool = False  # as in `Reranker.rank`
    passage: int | None = None  # as in `Reranker.rank`


class ListReranker:
    """Ranks candidates of `queries`, by id: of the collection `index`, or texts by the word vectors `embedding`.

    Without both, texts are ranked by BM25 with stems, which is reported in the log.
    """

    def __init__(
        self, index: Path | None, embedding: str | None, queries: Mapping[str, Document], options: RerankOptions
    ) -> None:
        self._index, self._embedding, self._queries, self._options = index, embedding, queries, options
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def rank(self, lists: Iterable[CandidateList]) -> Iterator[tuple[CandidateList, Ranking]]:
        """Yield the ranking of each list, in order; a list that cannot be ranked keeps its order, and has a problem."""
        for batch in batches(lists, _BATCH):
            good = [one for one in batch if not self._problem(one)]
            stored, texts = ([one for one in good if (one.documents is None) == is_key] for is_key in (True, False))
            rankings = {True: self._rank_stored(stored), False: iter(self._rank_texts(texts))}
            for one in batch:
                problem = self._problem(one)
                if problem:
                    candidates = [Candidate(i, key) for i, key in enumerate(one.keys)]
                    yield one, ranking_in_given_order(candidates, problem)
                else:
                    yield one, next(rankings[one.documents is None])

    def _problem(self, one: CandidateList) -> str | None:
        if one.problem or not self._query(one):
            return one.problem or _NO_QUERY
        return self._missing_collection if one.documents is None else None

    @cached_property
    def _missing_collection(self) -> str | None:
        """Return why candidates without texts cannot be ranked; None if there is a collection.

        Candidates with texts need no collection if a file has the word vectors, or if none is named.
        """
        try:
            _ = self._collection
        except NoCollection as error:
            if self._embedding is None and self._index is not None:
                raise
            return (
                f"the candidates have ids only: give their texts, or name the collection that has them by -i ({error})"
            )
        return None

    def _query(self, one: CandidateList) -> Document | None:
        return one.query or self._queries.get(one.id)

    def _arguments(self, lists: Sequence[CandidateList]) -> list[Document]:
        return [query for one in lists if (query := self._query(one))]

    def _rank_stored(self, lists: Sequence[CandidateList]) -> Iterator[Ranking]:
        if not lists:
            return iter(())
        queries, keys, scores = self._arguments(lists), [one.keys for one in lists], [one.scores for one in lists]
        own = self._options
        more: dict[str, Any] = {"full": own.full, "highlight": own.highlight, "passage": own.passage}
        return self._collection.rerank_many(queries, keys, own.k, scores, own.rank, own.gamma, **more)

    def _rank_texts(self, lists: Sequence[CandidateList]) -> Sequence[Ranking]:
        if not lists:
            return ()
        queries, texts, scores = (
            self._arguments(lists),
            [one.documents or () for one in lists],
            [one.scores for one in lists],
        )
        own = self._options
        more: dict[str, Any] = {"highlight": own.highlight, "passage": own.passage}
        return self._reranker.rank_many(queries, texts, own.k, scores, own.rank, own.gamma, **more)

    @cached_property
    def _collection(self) -> Collection:
        if self._index is None:
            raise NoCollection("none is named")
        return self._closing.enter_context(Collection.open(self._index))

    @cached_property
    def _reranker(self) -> Reranker:
        own = self._options
        if self._index is None and self._embedding is None:
            _log.warning("no collection and no word vectors: BM25 with stems ranks; --embedding FILE adds word vectors")
            return Reranker(rank=own.rank or AUTO_RANK, language=own.language or DEFAULT)
        return Reranker.load(self._embedding or self._collection.path, rank=own.rank, language=own.language)
