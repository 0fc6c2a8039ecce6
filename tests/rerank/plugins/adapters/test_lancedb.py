import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Reranker
from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("lancedb")
import lancedb
import pyarrow as pa
from lancedb.index import FTS

from moverank.rerank.plugins.adapters.lancedb import MoverankReranker

VECTORS = np.random.default_rng(5).normal(size=(len(world.TEXTS), 4)).astype(np.float32)
COLUMNS = ["key", "text", "number", "vector"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a table of the texts with vectors that say nothing about them, and a full-text index."""
    rows = [
        {"key": key, "text": text, "number": number, "vector": vector}
        for number, ((key, text), vector) in enumerate(zip(world.TEXTS.items(), VECTORS, strict=True))
    ]
    created = lancedb.connect(tmp_path_factory.mktemp("lance")).create_table("texts", rows)
    created.create_index("text", config=FTS())
    return created


def _check(result: pa.Table, expected: list[str], query: str = world.QUERY) -> None:
    """Check the order, the scores, and that all other columns are those of the rows."""
    assert result["key"].to_pylist() == expected
    scores = result["_relevance_score"]
    assert scores.type == pa.float32()
    assert scores.to_pylist() == sorted(scores.to_pylist(), reverse=True)
    for row in result.to_pylist():
        number = list(world.TEXTS).index(row["key"])
        assert (row["text"], row["number"]) == (world.TEXTS[row["key"]], number)
        assert row["vector"] == VECTORS[number].tolist()
        if row["key"] != "wordless":
            score = 1 / (1 + world.distance(query, row["text"]))
            assert row["_relevance_score"] == pytest.approx(score, rel=1e-6)


def test_a_vector_query(table: Any, ranker: Reranker) -> None:
    result = table.search(VECTORS[0]).rerank(MoverankReranker(ranker), query_string=world.QUERY).to_arrow()
    _check(result, world.order())
    assert set(result.column_names) == {*COLUMNS, "_relevance_score"}
    everything = MoverankReranker(ranker, return_score="all")
    kept = table.search(VECTORS[0]).rerank(everything, query_string=world.QUERY).to_arrow()
    plain = table.search(VECTORS[0]).to_arrow()
    distances = dict(zip(plain["key"].to_pylist(), plain["_distance"].to_pylist(), strict=True))
    assert [distances[key] for key in kept["key"].to_pylist()] == kept["_distance"].to_pylist()


def test_the_limit_is_that_of_the_candidates_and_top_n_that_of_the_result(table: Any, ranker: Reranker) -> None:
    counting = world.CountingRanker(ranker)
    query = table.search(VECTORS[0]).limit(5).rerank(MoverankReranker(counting, top_n=2), query_string=world.QUERY)
    candidates = set(table.search(VECTORS[0]).limit(5).to_arrow()["key"].to_pylist())
    _check(query.to_arrow(), [key for key in world.order() if key in candidates][:2])
    assert counting.depths == [2]


def test_a_full_text_query(table: Any, ranker: Reranker) -> None:
    found = [key for key in world.order("plug hot") if set(world.TEXTS[key].split()) & {"plug", "hot"}]
    result = table.search("plug hot", query_type="fts").rerank(MoverankReranker(ranker)).to_arrow()
    _check(result, found, "plug hot")
    assert "_score" not in result.column_names
    kept = table.search("plug hot", query_type="fts").rerank(MoverankReranker(ranker, return_score="all")).to_arrow()
    assert kept["_score"].null_count == 0


@pytest.mark.parametrize("return_score", ["relevance", "all"])
def test_a_hybrid_query(table: Any, ranker: Reranker, return_score: str) -> None:
    def _hybrid(limit: int) -> pa.Table:
        query = table.search(query_type="hybrid").vector(VECTORS[0]).text("plug hot").limit(limit)
        return query.rerank(MoverankReranker(ranker, return_score=return_score)).to_arrow()

    result = _hybrid(8)
    _check(result, world.order("plug hot"), "plug hot")
    assert result.schema.field("vector").type == table.schema.field("vector").type
    assert {"_distance", "_score"} <= set(result.column_names) or return_score == "relevance"
    two = _hybrid(2)["key"].to_pylist()
    _check(_hybrid(2), [key for key in world.order("plug hot") if key in two], "plug hot")
    assert len(two) == 2
    if return_score == "all":
        scores = {row["key"]: row["_score"] for row in result.to_pylist()}
        plain = table.search("plug hot", query_type="fts").to_arrow().to_pylist()
        assert scores == dict.fromkeys(world.TEXTS) | {row["key"]: row["_score"] for row in plain}


def test_scores_of_rows_that_both_queries_found_are_complete(ranker: Reranker) -> None:
    vector = pa.table({"text": ["cat", "dog"], "_rowid": [1, 2], "_distance": [0.5, 0.7]})
    text = pa.table({"text": ["dog", "roof"], "_rowid": [2, 3], "_score": [4.0, 3.0]})
    merged = MoverankReranker(ranker, return_score="all").rerank_hybrid("dog", vector, text)
    assert {row["_rowid"]: (row["_distance"], row["_score"]) for row in merged.to_pylist()} == {
        1: (0.5, None), 2: (0.7, 4.0), 3: (None, 3.0)
    }  # fmt: skip


def test_scores_of_the_engine_can_be_a_part_of_the_ranking(table: Any, ranker: Reranker) -> None:
    by_engine = MoverankReranker(ranker, rank="wmd+1000*vector")
    plain = [key for key in table.search(VECTORS[0]).to_arrow()["key"].to_pylist() if key != "wordless"]
    result = table.search(VECTORS[0]).rerank(by_engine, query_string=world.QUERY).to_arrow()
    assert result["key"].to_pylist() == [*plain, "wordless"]
    fts = table.search("warm hot", query_type="fts")
    assert fts.rerank(by_engine).to_arrow()["key"].to_pylist()[0] == fts.to_arrow()["key"].to_pylist()[0]


def test_several_vector_queries(table: Any, ranker: Reranker) -> None:
    tables = [table.search(vector).limit(8).with_row_id(True).to_arrow() for vector in VECTORS[:2]]
    reranker = MoverankReranker(ranker, top_n=3)
    _check(reranker.rerank_multivector(tables, world.QUERY, deduplicate=True), world.order()[:3])
    assert reranker.rerank_multivector(tables, world.QUERY)["key"].to_pylist() == ["same", "same", world.order()[1]]


def test_nothing_found(table: Any, ranker: Reranker) -> None:
    for return_score in ("relevance", "all"):
        reranker = MoverankReranker(ranker, return_score=return_score)
        empty = table.search(VECTORS[0]).where("number > 99").rerank(reranker, query_string="cat").to_arrow()
        assert len(empty) == 0
        assert "_relevance_score" in empty.column_names
        assert len(table.search("absent", query_type="fts").rerank(reranker).to_arrow()) == 0
        half = table.search(query_type="hybrid").vector(VECTORS[0]).text("absent cat").rerank(reranker).to_arrow()
        assert set(half["key"].to_pylist()) == set(world.TEXTS)
        none = table.search(query_type="hybrid").vector(VECTORS[0]).text("absent").rerank(reranker).to_arrow()
        assert len(none) == len(world.TEXTS)


def test_a_query_without_known_words_keeps_the_order(table: Any, ranker: Reranker) -> None:
    plain = table.search(VECTORS[0]).to_arrow()["key"].to_pylist()
    result = table.search(VECTORS[0]).rerank(MoverankReranker(ranker), query_string=world.UNKNOWN).to_arrow()
    assert result["key"].to_pylist() == plain
    scores = result["_relevance_score"].to_pylist()
    assert len(set(scores)) == len(scores)
    assert scores == sorted(scores, reverse=True)


def test_the_asynchronous_client(tmp_path: Path, ranker: Reranker) -> None:
    async def _found() -> list[str]:
        connection = await lancedb.connect_async(tmp_path)
        rows = [
            {"key": key, "text": text, "vector": vector}
            for (key, text), vector in zip(world.TEXTS.items(), VECTORS, strict=True)
        ]
        created = await connection.create_table("texts", rows)
        query = await created.search(VECTORS[0])
        result = await query.rerank(MoverankReranker(ranker), query_string=world.QUERY).to_arrow()
        return [str(key) for key in result["key"].to_pylist()]

    assert asyncio.run(_found()) == world.order()


def test_a_missing_text_is_last(ranker: Reranker, tmp_path: Path) -> None:
    rows = [{"words": None, "vector": [0.0]}, {"words": "roof", "vector": [1.0]}]
    created = lancedb.connect(tmp_path).create_table(
        "t", rows, schema=pa.schema({"words": pa.string(), "vector": pa.list_(pa.float32(), 1)})
    )
    result = created.search([0.0]).rerank(MoverankReranker(ranker, column="words"), query_string="cat").to_arrow()
    assert result["words"].to_pylist() == ["roof", None]


def test_invalid_arguments_are_named(table: Any, ranker: Reranker) -> None:
    with pytest.raises(ValueError, match="the results have no column 'body': select it, or name the column"):
        table.search(VECTORS[0]).rerank(MoverankReranker(ranker, column="body"), query_string="cat").to_arrow()
    with pytest.raises(ValueError, match="top_n must be a whole number of 1 or more"):
        MoverankReranker(ranker, top_n=-1)
    with pytest.raises(ValueError, match="must be either 'relevance' or 'all'"):
        MoverankReranker(ranker, return_score="some")
    with pytest.raises(ValueError, match="the query must be a string, not None"):
        MoverankReranker(ranker).rerank_multivector([table.to_arrow()], None)


def test_rows_have_highlights(table: Any, ranker: Reranker) -> None:
    reranker = MoverankReranker(ranker, top_n=2, highlight=True, passage=2)
    result = table.search(VECTORS[0]).rerank(reranker, query_string=world.QUERY).to_arrow()
    for row in result.to_pylist():
        assert row["moverank_highlights"]
        assert all(row["text"][one["start"] : one["end"]] == one["word"] for one in row["moverank_highlights"])
        passage = row["moverank_passage"]
        assert row["text"][passage["start"] : passage["end"]] == passage["text"]
    unknown = table.search(VECTORS[0]).rerank(reranker, query_string=world.UNKNOWN).to_arrow()
    assert unknown["moverank_highlights"].to_pylist() == [[], []]
    assert unknown["moverank_passage"].to_pylist() == [None, None]
    assert unknown.schema == result.schema
    assert unknown.schema.field("moverank_highlights").type == result.schema.field("moverank_highlights").type


def test_without_a_file_words_alone_rank() -> None:
    given = pa.table({"key": list(world.TEXTS), "text": list(world.TEXTS.values())})
    found = MoverankReranker().rerank_fts(world.QUERY, given)
    assert found["key"].to_pylist() == world.order_by_words()
