from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from moverank import Collection, Document, UsageError
from moverank.indexer.plugins.laboratory.evaluating import GammaExperiment, RetrievalExperiment
from moverank.indexer.plugins.laboratory.method import Table
from moverank.indexer.search import by_distance
from tests.indexer.world import MakeCollection, Twin, document

Evaluate = Callable[..., Table]


@pytest.fixture
def evaluate(indexed: Collection, tmp_path: Path) -> Evaluate:
    """Writes judgments, queries and candidates, and evaluates."""

    def run(qrels: str, queries: str | None = None, candidates: str | None = None, **options: object) -> Table:
        files = {"qrels": qrels, "queries": queries, "candidates": candidates}
        paths = {}
        for name, content in files.items():
            if content is not None:
                paths[name] = str(tmp_path / name)
                (tmp_path / name).write_text(content)
        return RetrievalExperiment(qrels=paths.pop("qrels"), **paths, **options).run(indexed.path)  # type: ignore[arg-type]

    return run


QRELS = "d0 0 d3 1\nd0 0 d4 2\nd1 0 d5 1\nd2 0 d6 0\ngone 0 d1 1\n"


def test_a_row_holds_the_means_over_all_judged_queries(evaluate: Evaluate, twin: Twin) -> None:
    table = evaluate(QRELS, methods=["random", "wmd"], measures=["mrr", "recall@3"])
    expected = []
    for query, relevant in (("d0", {"d3", "d4"}), ("d1", {"d5"})):
        near = twin.distances(twin.documents[query])
        order = sorted((key for key in near if key != query), key=lambda key: near[key])
        expected.append(1 / min(order.index(key) + 1 for key in relevant))
    by_name = {row["method"]: row for row in table.rows}
    assert by_name["wmd"]["mrr"] == pytest.approx(sum(expected) / 3)
    assert by_name["random"]["recall@3"] == pytest.approx((3 / 12 + 3 / 12) / 3, abs=0.05)
    assert by_name["random"]["p"] is None
    assert (table.facts["queries"], table.facts["documents"]) == (3, 14)
    assert table.notes == ("1 of 3 judged queries are not among the queries and count as 0, 'gone' first",)


def test_queries_can_be_texts(evaluate: Evaluate) -> None:
    queries = '{"id": "d0", "text": "cat dog"}\n{"id": "other", "text": "ant"}\n'
    table = evaluate("d0 0 d0 1\nd0 0 nowhere 1\n", queries, methods=["wmd"], measures=["recall@14"])
    assert table.rows[0]["recall@14"] == 0.5
    lost = "1 of 2 relevant documents are not in the collection, or have no word, and are never found, 'nowhere' first"
    assert lost in table.notes
    assert any("--without-self" in note for note in table.notes)
    without = evaluate("d0 0 d0 1\n", queries, methods=["wmd"], measures=["recall@14"], without_self=True)
    assert without.rows[0]["recall@14"] == 0


def test_candidates_and_their_own_order_are_measured(evaluate: Evaluate, twin: Twin) -> None:
    near = twin.distances(twin.documents["d0"])
    relevant = min(("d3", "d4", "d5"), key=lambda key: near[key])
    candidates = "query_id\tdoc_id\trank\n" + "".join(
        f"d0\t{key}\t{i}\n" for i, key in enumerate(("wordless", "d3", "d4", "d5"))
    )
    table = evaluate(f"d0 0 {relevant} 1\nd0 0 wordless 1\n", candidates=candidates, methods=["wmd"], measures=["map"])
    rows = {row["method"]: row["map"] for row in table.rows}
    rank = ["wordless", "d3", "d4", "d5"].index(relevant) + 1
    assert rows["engine"] == pytest.approx((1 + 2 / rank) / 2)
    assert rows["wmd"] == pytest.approx((1 + 2 / 4) / 2)


def test_figures_are_the_same_if_the_whole_rankings_are_written(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For these every distance is solved, for the figures alone few are."""
    monkeypatch.setattr(by_distance, "PLACES", 2)
    methods = ["wmd", "pwmd:gamma=0.5,weights=tfidf", "wmd:mu=5+0.5*cover+bm25"]
    figures = evaluate(QRELS, methods=methods, cutoff="all").rows
    written = evaluate(QRELS, methods=methods, cutoff="all", run_file=tmp_path / "run.trec").rows
    names = [name for name in written[0] if name != "hubness"]  # which depends on the first 10
    assert [{name: row[name] for name in names} for row in figures] == [
        {name: row[name] for name in names} for row in written
    ]


@pytest.mark.slow
def test_methods_have_p_values_against_the_reference(evaluate: Evaluate) -> None:
    qrels = "".join(f"d{i} 0 d{(i * 5 + 1) % 12} 1\n" for i in range(12))
    table = evaluate(qrels, methods=["wmd", "bow"], measures=["mrr"], reference="bow")
    assert [row["p"] is None for row in table.rows] == [False, True]
    assert 0 < float(table.rows[0]["p"] or 0) <= 1
    with pytest.raises(UsageError, match="the reference 'bm25' is none of the methods: wmd"):
        evaluate(qrels, methods=["wmd"], reference="bm25")


def test_the_reference_is_bm25_with_stems(evaluate: Evaluate) -> None:
    assert (
        evaluate(QRELS, methods=["wmd", "bm25", "bm25:stem=german,k1=1"]).facts["reference"] == "bm25:stem=german,k1=1"
    )
    assert evaluate(QRELS, methods=["wmd", "bm25", "bm25+bow"]).facts["reference"] == "bm25"
    assert evaluate(QRELS).facts["reference"] == "bm25:stem=english"


def test_stems_of_the_reference_are_those_of_the_collection(evaluate: Evaluate, indexed: Collection) -> None:
    indexed.change_settings(rank="wmd+bm25:stem=german")
    assert evaluate(QRELS).facts["reference"] == "bm25:stem=german"


@pytest.mark.slow
def test_judgments_without_the_prefix_of_the_keys(
    make_collection: MakeCollection, documents: list[Document], tmp_path: Path, evaluate: Evaluate
) -> None:
    """Keys with a prefix give the same figures as keys without one; without the option it is an error."""
    prefixed = make_collection()
    prefixed.index([replace(each, key=f"pets/{each.key}") for each in documents])
    queries = '{"id": "d0", "text": "cat dog"}\n{"id": "d1", "text": "ant"}\n'
    run = "d0 Q0 d3 1 2 x\nd0 Q0 d0 2 1 x\nd0 Q0 pets/d4 3 0 x\nd1 Q0 d5 1 1 x\nd1 Q0 d1 2 0 x\n"
    for texts, candidates, without_self in (
        (None, None, False),
        (queries, None, False),
        (queries, None, True),
        (queries, run, False),
        (None, run, False),
    ):
        plain = evaluate(QRELS, texts, candidates and candidates.replace("pets/", ""), without_self=without_self)
        paths = [
            str(tmp_path / name) if given else None for name, given in (("queries", texts), ("candidates", candidates))
        ]
        if candidates:
            (tmp_path / "candidates").write_text(candidates)
        options = {"queries": paths[0], "candidates": paths[1], "without_self": without_self}
        found = RetrievalExperiment(qrels=str(tmp_path / "qrels"), prefix="pets", **options).run(prefixed.path)  # type: ignore[arg-type]
        assert found.rows == plain.rows
    with pytest.raises(UsageError, match="the judgments have 'd1', the collection has 'pets/d1': --prefix pets puts"):
        RetrievalExperiment(qrels=str(tmp_path / "qrels")).run(prefixed.path)
    with pytest.raises(UsageError, match=r"the judgments have 'pets/d5', .* has 'd5': remove pets/ from the ids"):
        evaluate("pets/d0 0 pets/d5 1\n")


@pytest.mark.parametrize(
    ("qrels", "queries", "message"),
    [
        ("q 0 z 1\n", None, "1 relevant documents is in the collection: the judgments have 'z', the collection has"),
        ("q 0 d1 1\n", None, "none of the 1 judged queries is the key of a document: .* name their file by --queries"),
        (
            "q 0 d1 1\n",
            '{"id": "7", "text": "cat"}\n',
            "the judgments have 'q', the file of queries has '7'",
        ),
    ],
)
def test_judgments_of_nothing_in_the_collection_are_an_error(
    evaluate: Evaluate, qrels: str, queries: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(qrels, queries)


def test_proximity_adds_a_second_row_for_every_method(evaluate: Evaluate) -> None:
    table = evaluate(QRELS, methods=["random", "wmd", "bow:norm=l2"], proximity="empirical", measures=["map"])
    assert [row["method"] for row in table.rows] == [
        "random",
        "wmd",
        "wmd:proximity=empirical",
        "bow:norm=l2",
        "bow:norm=l2,proximity=empirical",
    ]
    assert all(isinstance(row["hubness"], float) for row in table.rows)


def test_duplicates_are_reported_and_left_out(
    evaluate: Evaluate, indexed: Collection, documents: list[Document]
) -> None:
    texts = [part.text for part in documents[3].parts]
    indexed.index([document("copy", *texts)])
    table = evaluate(QRELS, methods=["wmd"], measures=["map"])
    assert table.facts["duplicates"] == 1
    assert any("such as 'copy' and 'd3': --clean leaves them out;" in note for note in table.notes)
    clean = evaluate("d0 0 copy 1\nd0 0 d3 1\n", methods=["wmd"], measures=["map"], clean=True)
    assert clean.facts["documents"] == 14
    assert not any("not in the collection" in note for note in clean.notes)


def test_the_usual_methods_are_the_default(evaluate: Evaluate) -> None:
    table = evaluate(QRELS)
    assert [row["method"] for row in table.rows][:4] == ["random", "bow", "tfidf", "bm25"]
    assert table.columns == ("method", "map", "ndcg@10", "recall@100", "p", "hubness")


def test_gamma_is_chosen_on_other_queries(evaluate: Evaluate, indexed: Collection, tmp_path: Path) -> None:
    (tmp_path / "judged").write_text(QRELS)
    table = GammaExperiment(qrels=str(tmp_path / "judged"), grid="0,1", measures=["mrr"]).run(indexed.path)
    names = [f"pwmd:gamma={gamma},weights={weights}" for weights in ("tf", "tfidf") for gamma in (0, 1)]
    assert [row["method"] for row in table.rows] == [*names, "chosen"]
    plain = evaluate(QRELS, methods=["wmd"], measures=["mrr"])
    assert table.rows[0]["mrr"] == plain.rows[0]["mrr"]
    assert table.facts["grid"] == [0.0, 1.0]


def test_a_row_can_be_chosen_on_other_queries(evaluate: Evaluate) -> None:
    qrels = "".join(f"d{i} 0 d{(i * 5 + 1) % 12} 1\n" for i in range(12))
    table = evaluate(qrels, methods=["random", "wmd", "bow"], measures=["mrr", "p@1"], folds=0)
    rows = {row["method"]: row for row in table.rows}
    assert list(rows) == ["random", "wmd", "bow", "chosen"]
    assert sum(table.facts["chosen"].values()) == 12
    assert float(rows["chosen"]["mrr"] or 0) <= max(float(rows[name]["mrr"] or 0) for name in ("wmd", "bow")) + 0.1


def test_a_row_can_be_chosen_by_judgments_of_other_queries(evaluate: Evaluate, tmp_path: Path) -> None:
    shown = "".join(f"d{i} 0 d{(i * 5 + 1) % 12} 1\n" for i in range(6))
    others = "".join(f"d{i} 0 d{(i * 5 + 1) % 12} 1\n" for i in range(6, 12))
    (tmp_path / "train").write_text(others)
    methods = ["wmd", "bow", "bm25", "tfidf"]
    table = evaluate(shown, methods=methods, measures=["mrr"], train=str(tmp_path / "train"))
    trained = evaluate(others, methods=methods, measures=["mrr"])
    best = max(trained.rows, key=lambda row: float(row["mrr"] or 0))["method"]
    rows = {row["method"]: row for row in table.rows}
    assert list(rows) == [*methods, "chosen"]
    assert table.facts["chosen"] == {best: 6}
    assert rows["chosen"]["mrr"] == rows[best]["mrr"]
    with pytest.raises(UsageError, match="leave one out"):
        evaluate(shown, methods=methods, train=str(tmp_path / "train"), folds=2)
