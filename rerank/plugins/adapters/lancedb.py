"""LanceDB: a reranker of vector, full-text and hybrid queries."""

from copy import copy

from moverank.rerank.plugins.adapters.ranker import missing

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from lancedb.rerankers import Reranker
except ImportError as error:
    raise missing("LanceDB", "lancedb") from error

from moverank.rerank.errors import OptionError
from moverank.rerank.plugins.adapters.ranker import (
    HIGHLIGHTS,
    PASSAGE,
    GivenRanker,
    HeldRanker,
    Wanted,
    check_count,
    check_passage,
    place_metadata,
)

_PLACE = [(name, pa.int64()) for name in ("part", "start", "end")]
_HIGHLIGHTS = pa.list_(pa.struct([*_PLACE, ("word", pa.string()), ("source", pa.string()), ("cost", pa.float64())]))
_PASSAGE = pa.struct([*_PLACE, ("text", pa.string()), ("distance", pa.float64()), ("windows", pa.int64())])
_RELEVANCE = "_relevance_score"
_ENGINE = ("_distance", "_score")  # the columns that LanceDB adds to results of a vector query and of a full-text query


class MoverankReranker(Reranker):
    """Reranks results by a text column, exactly, as a search would: `.rerank(MoverankReranker(ranker))`.

    `ranker` is a `moverank.Reranker`, or the path of word vectors or of a collection; None: BM25 with stems, without
    word vectors. `column` holds the texts. `top_n`: the number of rows returned, all of them by default. `rank`:
    specification of the ranking, by default the ranker's. `return_score`: "relevance", or "all" to keep the scores of
    LanceDB, too. `highlight`: the rows have a column `moverank_highlights`, the places in the text where words of the
    query stand, and words near to them. `passage`: they have a column `moverank_passage`, the window of up to so many
    words that is nearest to the query.
    """

    def __init__(
        self,
        ranker: GivenRanker = None,
        column: str = "text",
        top_n: int | None = None,
        rank: str | None = None,
        return_score: str = "relevance",
        *,
        highlight: bool = False,
        passage: int | None = None,
    ) -> None:
        super().__init__(return_score)
        self.column, self.top_n, self.rank = column, check_count("top_n", top_n), rank
        self.highlight, self.passage = highlight, check_passage(passage)
        self._held = HeldRanker(ranker).load(rank)

    def __str__(self) -> str:
        return f"MoverankReranker(column={self.column!r}, rank={self.rank!r})"

    def rerank_vector(self, query: str, vector_results: pa.Table) -> pa.Table:
        """Return the rows of a vector query, best first; the query must be given as a string."""
        return self._reranked(query, vector_results)

    def rerank_fts(self, query: str, fts_results: pa.Table) -> pa.Table:
        """Return the rows of a full-text query, best first."""
        return self._reranked(query, fts_results)

    def rerank_hybrid(self, query: str, vector_results: pa.Table, fts_results: pa.Table) -> pa.Table:
        """Return the rows of both queries, each once, best first."""
        tables = [table for table in (vector_results, fts_results) if len(table)] or [vector_results]
        merged = self.merge_results(*tables) if len(tables) == 2 else tables[0]
        if len(tables) == 2:  # of a row in both tables, `merge_results` keeps only the first table's values
            for name, table in zip(_ENGINE, tables, strict=True):
                merged = _filled(merged, name, table)
        return self._reranked(query, merged)

    def rerank_multivector(
        self, vector_results: list[pa.Table], query: str | None, deduplicate: bool = False
    ) -> pa.Table:
        """Return the rows of several vector queries, best first; with `deduplicate`, each once."""
        everything = copy(self)
        everything.top_n = None  # cut afterwards: `top_n` counts no repeated rows
        return Reranker.rerank_multivector(everything, vector_results, query, deduplicate).slice(0, self.top_n)

    def _reranked(self, query: str | None, results: pa.Table) -> pa.Table:
        engine_scores = _engine_scores(results)
        if self.score == "relevance":
            results = results.drop_columns([name for name in _ENGINE if name in results.column_names])
        if not len(results):
            return self._handle_empty_results(results)
        if not isinstance(query, str):
            raise OptionError(f"the query must be a string, not {query!r}: .rerank(reranker, query_string=...)")
        if self.column not in results.column_names:
            raise OptionError(
                f"the results have no column {self.column!r}: select it, or name the column of the texts with column="
            )
        texts = results[self.column].to_pylist()
        wanted = Wanted(self.highlight, self.passage)
        found = self._held.places(query, texts, self.top_n, engine_scores, self.rank, wanted)
        places = found[: self.top_n]
        scores = pa.array([place.score for place in places], type=pa.float32())
        ranked = results.take([place.index for place in places]).append_column(_RELEVANCE, scores)
        added = [place_metadata(place.highlights, place.passage) for place in places]
        if self.highlight:
            highlights = [one.get(HIGHLIGHTS, []) for one in added]
            ranked = ranked.append_column(HIGHLIGHTS, pa.array(highlights, type=_HIGHLIGHTS))
        if self.passage is not None:
            passages = [one.get(PASSAGE) for one in added]
            ranked = ranked.append_column(PASSAGE, pa.array(passages, type=_PASSAGE))
        return ranked


def _engine_scores(results: pa.Table) -> list[float | None] | None:
    """Return the negative distances of a vector query or else the scores of a full-text query, None without both."""
    if "_distance" in results.column_names:
        return [None if each is None else -each for each in results["_distance"].to_pylist()]
    return list(results["_score"].to_pylist()) if "_score" in results.column_names else None


def _filled(merged: pa.Table, name: str, table: pa.Table) -> pa.Table:
    """Return `merged` with the values of the column `name` that its rows have in `table`."""
    if name not in table.column_names:
        return merged
    values = pc.take(table[name], pc.index_in(merged["_rowid"], table["_rowid"]))
    return merged.set_column(merged.column_names.index(name), table.schema.field(name), values)
