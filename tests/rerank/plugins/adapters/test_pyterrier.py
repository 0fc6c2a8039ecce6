import pickle
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Reranker
from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("pyterrier")
import pandas as pd
import pyterrier as pt

from moverank.rerank.plugins.adapters.pyterrier import MoverankReranker, MoverankRetriever

# PyTerrier 1.1 and pandas 3.1: PyTerrier itself drops columns in place.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame:DeprecationWarning")

QUERIES = pd.DataFrame([["q2", world.QUERY], ["q1", "dog cat"], ["q3", world.UNKNOWN]], columns=["qid", "query"])


def _results() -> pd.DataFrame:
    """Return all texts for each query, scored by their place, in an order of rows that is not that of the ranks."""
    rows = [
        {"qid": qid, "query": query, "docno": key, "text": text, "score": -float(place), "rank": place, "number": place}
        for qid, query in QUERIES.itertuples(index=False)
        for place, (key, text) in enumerate(world.TEXTS.items())
    ]
    return pd.DataFrame(rows[::-1])


def _keys(frame: pd.DataFrame, qid: str) -> list[str]:
    return [str(key) for key in frame[frame["qid"] == qid].sort_values("rank")["docno"]]


def test_results_come_back_by_distance(ranker: Reranker) -> None:
    given = _results()
    found = MoverankReranker(ranker)(given)
    pd.testing.assert_frame_equal(given, _results())
    pt.validate.result_frame(found, ["query", "text", "score", "rank"])
    assert list(dict.fromkeys(found["qid"])) == ["q3", "q1", "q2"]
    assert _keys(found, "q2") == world.order()
    assert _keys(found, "q1") == world.order("dog cat")
    assert _keys(found, "q3") == list(world.TEXTS)
    first = found[found["qid"] == "q2"]
    expected = [pytest.approx(1 / (1 + distance)) for distance in world.nearest().values()]
    assert first["score"].tolist()[:-1] == expected
    assert first["rank"].tolist() == list(range(len(world.TEXTS)))
    assert first["moverank_status"].tolist() == ["exact"] * 7 + ["wordless"]
    assert set(found[found["qid"] == "q3"]["moverank_status"]) == {"unranked"}
    assert [list(world.TEXTS)[number] for number in first["number"]] == first["docno"].tolist()
    for _, rows in found.groupby("qid"):  # ranks are those that PyTerrier derives from the scores
        assert pt.model.add_ranks(rows.copy())["rank"].tolist() == rows["rank"].tolist()


def test_a_collection_needs_no_text(collection: Collection, ranker: Reranker) -> None:
    found = MoverankReranker(collection=collection)(_results().drop(columns="text"))
    expected = MoverankReranker(ranker)(_results())
    assert found["docno"].tolist() == expected["docno"].tolist()
    assert found["moverank_status"].tolist() == expected["moverank_status"].tolist()
    exact = expected["moverank_status"] == "exact"
    assert found["score"][exact].tolist() == pytest.approx(expected["score"][exact].tolist())


def test_a_cut_off_reaches_the_ranker(ranker: Reranker) -> None:
    counting = world.CountingRanker(ranker)
    whole = MoverankReranker(counting) >> pt.RankCutoff(2)
    expected = whole(_results())
    solved = counting.solved
    for pipeline in (MoverankReranker(counting) % 2, whole.compile()):
        counting.solved, counting.depths = 0, []
        found = pipeline(_results())
        pd.testing.assert_frame_equal(found, expected)
        assert set(counting.depths) == {2}
        assert counting.solved < solved


def test_cut_offs_are_fused_to_the_strictest(ranker: Reranker) -> None:
    reranker = MoverankReranker(ranker)
    assert (reranker % 10).num_results == 10
    assert (reranker % 10 % 5).num_results == 5
    assert (reranker % 5 % 10).num_results == 5
    assert reranker.num_results is None
    assert len((reranker % 0)(_results())) == 0


def test_the_retriever_and_the_pipeline(collection: Collection, ranker: Reranker) -> None:
    bm25 = MoverankRetriever(collection, rank="bm25", text=True)
    assert set(bm25.search("plug hot")["docno"]) >= {"same", "close", "half"}
    pipeline = bm25 >> MoverankReranker(ranker) % 3
    assert (
        _keys(pipeline(QUERIES), "q2")
        == [key for key in world.order() if key in set(bm25.search(world.QUERY)["docno"])][:3]
    )
    assert isinstance(pipeline.compile(), pt.Compose)
    moverank = MoverankRetriever(collection) % 3
    assert moverank.num_results == 3
    found = moverank(QUERIES)
    assert _keys(found, "q2") == world.order()[:3]
    assert _keys(found, "q1") == world.order("dog cat")[:3]
    assert _keys(found, "q3") == []  # no known word
    assert found.columns.tolist() == ["qid", "query", "docno", "score", "rank"]
    filtered = MoverankRetriever(collection, options={"where": {"label": "r"}})
    assert _keys(filtered(QUERIES), "q2") == ["roofs"]


def test_equal_scores_of_a_scorer_fall_in_the_order_of_the_ranks(collection: Collection) -> None:
    found = MoverankRetriever(collection, rank="bm25").search("warm")
    plain = [hit.score for hit in collection.search("warm", k=1000, rank="bm25").hits]
    assert len(set(plain)) < len(plain)
    assert (found["score"].diff().dropna() < 0).all()
    assert found["rank"].tolist() == list(range(len(plain)))
    assert found["score"].tolist() == pytest.approx(plain)


def test_an_experiment_without_java(collection: Collection) -> None:
    qrels = pd.DataFrame(
        [["q2", world.order()[1], 1], ["q1", world.order("dog cat")[2], 1]], columns=["qid", "docno", "label"]
    )
    moverank = MoverankRetriever(collection)
    reranked = MoverankRetriever(collection, rank="bm25") >> MoverankReranker(collection=collection) % 2
    table: Any = pt.Experiment(
        [moverank, moverank % 2, reranked], QUERIES, qrels, ["recip_rank", "P_1"], names=["all", "two", "reranked"]
    )
    assert table["recip_rank"].tolist()[:2] == pytest.approx([(1 / 2 + 1 / 3) / 2, 1 / 4])
    assert not pt.java.started()


@pytest.mark.parametrize("by", ["path", "object"])
def test_transformers_are_picklable(collection: Collection, vectors_file: Path, by: str) -> None:
    given = collection if by == "object" else str(collection.path)
    for transformer in (
        MoverankReranker(vectors_file) % 4,
        MoverankReranker(collection=given),
        MoverankRetriever(given) % 2,
    ):
        again = pickle.loads(pickle.dumps(transformer))  # noqa: S301 - made here
        inputs = QUERIES if isinstance(transformer, MoverankRetriever) else _results()
        pd.testing.assert_frame_equal(again(inputs), transformer(inputs))


def test_missing_columns_are_reported_by_pyterrier(ranker: Reranker, collection: Collection) -> None:
    for transformer, inputs in [
        (MoverankReranker(ranker), [["qid", "docno", "query", "text"]]),
        (MoverankReranker(ranker, text="body"), [["qid", "docno", "query", "body"]]),
        (MoverankReranker(collection=collection), [["qid", "docno", "query"]]),
        (MoverankRetriever(collection), [["qid", "query"]]),
    ]:
        assert pt.inspect.transformer_inputs(transformer) == inputs
        with pytest.raises(pt.validate.InputValidationError):
            transformer(pd.DataFrame({"qid": ["q1"]}))
        outputs = pt.inspect.transformer_outputs(transformer, inputs[0])
        assert {"qid", "docno", "score", "rank"} <= set(outputs)


def test_invalid_arguments_are_named(ranker: Reranker, collection: Collection) -> None:
    with pytest.raises(ValueError, match="give either a ranker, for texts, or a collection"):
        MoverankReranker(ranker, collection=collection)
    for count in (0, None):
        with pytest.raises(ValueError, match="num_results must be a whole number of 1 or more"):
            MoverankRetriever(collection, num_results=count)  # type: ignore[arg-type]


@pytest.mark.parametrize("check", ["test_inspect_io", "test_schematic"])
def test_pyterrier_s_own_checks(check: str, ranker: Reranker, collection: Collection) -> None:
    for transformer in (
        MoverankReranker(ranker),
        MoverankReranker(collection=collection),
        MoverankRetriever(collection),
    ):
        case = pt.testing.TransformerTestCase(check)
        case.transformer, case.io_configs = transformer, []
        case.debug()


def test_without_a_file_words_alone_rank() -> None:
    found = pickle.loads(pickle.dumps(MoverankReranker()))(_results())  # noqa: S301 - made here
    given = list(dict.fromkeys(_results().sort_values("rank")["docno"]))
    assert given == list(world.TEXTS)
    assert _keys(found, "q2") == world.order_by_words()
