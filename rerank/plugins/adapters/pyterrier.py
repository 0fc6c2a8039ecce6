"""PyTerrier: a reranker and a retriever as transformers. Neither starts Java."""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from moverank.rerank.plugins.adapters.ranker import missing

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise missing("PyTerrier", "pyterrier") from error

from moverank.rerank.errors import OptionError
from moverank.rerank.falling_scores import strictly_falling
from moverank.rerank.plugins.adapters.ranker import STATUS, GivenRanker, HeldRanker, Placed, check_count
from moverank.rerank.plugins.adapters.stored import GivenCollection, HeldCollection


class _Cut(pt.Transformer):
    """A transformer that returns `num_results` rows a query: fewer rows take less work."""

    num_results: int | None
    schematic: ClassVar[dict[str, object]] = {"help_url": None}  # else drawing a pipeline downloads PyTerrier's index

    def fuse_rank_cutoff(self, k: int) -> Self | None:
        """Return a transformer equal to this one followed by `% k`; this one if it already returns at most k rows."""
        if self.num_results is not None and self.num_results <= k:
            return self
        if k < 1:
            return None
        fused = copy(self)
        fused.num_results = k
        return fused

    def __mod__(self, right: int) -> pt.Transformer:
        # pt.Experiment runs pipelines as they are written, not compiled.
        return self.fuse_rank_cutoff(right) or super().__mod__(right)


class MoverankReranker(_Cut):
    """Reranks results: `bm25 >> MoverankReranker(ranker) % 10`.

    Either `ranker`, a `moverank.Reranker` or the path of word vectors or of a collection, ranks the texts of the column
    `text`; or `collection`, an open `moverank.Collection` or the path of one, ranks its own documents by `docno`,
    without texts. Without both, BM25 with stems ranks the texts, without word vectors. `num_results`: the number of
    rows returned for a query, all of them by default. `rank`: specification of the ranking, by default that of the
    ranker or collection.

    The column `moverank_status` is "exact", "wordless" (a text without known words) or "unranked" (a query without
    known words, whose rows keep their order).
    """

    def __init__(
        self,
        ranker: GivenRanker = None,
        *,
        collection: GivenCollection | None = None,
        num_results: int | None = None,
        rank: str | None = None,
        text: str = "text",
    ) -> None:
        if not (ranker is None or collection is None):
            raise OptionError("give either a ranker, for texts, or a collection, for its own documents")
        self.rank, self.text, self.num_results = rank, text, check_count("num_results", num_results)
        self._ranked: HeldRanker | HeldCollection
        if collection is not None:
            self._ranked, self._column = HeldCollection(collection).open(), "docno"
        else:
            self._ranked, self._column = HeldRanker(ranker).load(rank), text

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of each query, best first; needs qid, query, docno and, without a collection, the texts."""
        pt.validate.result_frame(inp, ["query", *({self._column} - {"docno"})], context=self)
        ordered = inp.sort_values("rank", kind="stable") if "rank" in inp.columns else inp
        groups = dict(iter(ordered.groupby("qid", sort=False)))
        frames = [groups[qid] for qid in dict.fromkeys(inp["qid"])]  # the queries in their order before sorting
        if not frames:
            return inp.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int), **{STATUS: pd.Series(dtype=str)})
        queries = [str(rows["query"].iloc[0]) for rows in frames]
        candidates = [rows[self._column].fillna("").astype(str).tolist() for rows in frames]
        scores = [rows["score"].tolist() if "score" in rows.columns else None for rows in frames]
        places = self._ranked.places_of_many(queries, candidates, self.num_results, scores, self.rank)
        return pd.concat(map(self._reranked, frames, places), ignore_index=True)

    def _reranked(self, rows: pd.DataFrame, places: list[Placed]) -> pd.DataFrame:
        """Return the rows of one query, best first."""
        kept = places[: self.num_results]
        return rows.iloc[[place.index for place in kept]].assign(
            **{
                "score": [place.score for place in kept],
                "rank": range(pt.model.FIRST_RANK, pt.model.FIRST_RANK + len(kept)),
                STATUS: [place.status for place in kept],
            }
        )

    def __repr__(self) -> str:
        return f"MoverankReranker(num_results={self.num_results!r}, rank={self.rank!r})"


class MoverankRetriever(_Cut):
    """Retrieves the nearest documents of a collection, an open `moverank.Collection` or the path of one.

    `num_results`: their number. `rank`: specification of the ranking, as "bm25"; by default the collection's.
    `options`: other fields of `moverank.SearchOptions`. `text`: also return the texts of the documents. A query without
    known words has no results.
    """

    def __init__(
        self,
        collection: GivenCollection,
        *,
        num_results: int = 1000,
        rank: str | None = None,
        options: Mapping[str, Any] | None = None,
        text: bool = False,
    ) -> None:
        self.rank, self.options, self.text = rank, dict(options or {}), text
        if num_results is None:
            raise OptionError(
                "num_results must be a whole number of 1 or more: a retriever returns no whole collection"
            )
        self.num_results = check_count("num_results", num_results)
        self._stored = HeldCollection(collection).open()

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents found for each query, best first; needs qid and query."""
        pt.validate.query_frame(inp, ["query"], context=self)
        columns = ["docno", "score", "rank", *(["text"] if self.text else [])]
        kept = inp.drop(columns=[name for name in columns if name in inp.columns])
        found = pd.DataFrame(self._rows(kept["query"].tolist()), columns=["_place", *columns])
        return kept.assign(_place=range(len(kept))).merge(found, on="_place").drop(columns="_place")

    def _rows(self, queries: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the index of the query, the key, score and rank of each hit, and its text if it is requested."""
        if not queries:
            return
        options = {"k": self.num_results, "rank": self.rank} | self.options
        for place, ranking in enumerate(self._stored.search_many(queries, **options)):
            # A scorer gives some documents equal scores: PyTerrier's measures would order these by docno.
            scores = strictly_falling(np.array([hit.score for hit in ranking.hits])).tolist()
            for rank, (hit, score) in enumerate(zip(ranking.hits, scores, strict=True), start=pt.model.FIRST_RANK):
                yield (place, hit.key, score, rank, *([self._stored.text(hit.key)] if self.text else []))

    def __repr__(self) -> str:
        return f"MoverankRetriever(num_results={self.num_results!r}, rank={self.rank!r})"
