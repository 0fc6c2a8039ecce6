"""The group `evaluate`: tables, files and invalid arguments."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.indexer.commands.program import WORDS, Call


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    path = tmp_path / "qrels.tsv"
    path.write_text("".join(f"d{i}\t0\td{(i + 3) % 10}\t1\n" for i in range(4)))
    return path


def test_evaluate_retrieval_prints_a_row_for_each_method(call: Call, collection: Path, judgments: Path) -> None:
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments, "--method", "wmd", "--method", "bm25")
    result = call(*arguments, "--json").json
    assert [row["method"] for row in result["rows"]] == ["wmd", "bm25"]
    assert 0 < result["rows"][0]["map"] <= 1
    assert (result["table"], result["queries"], result["reference"]) == ("retrieval", 4, "bm25")
    shown = call(*arguments, "--measure", "map")
    assert shown.code == 0
    assert shown.out.startswith("method")
    assert "documents 10, queries 4" in shown.out


def test_evaluate_writes_the_rows_to_a_file(call: Call, collection: Path, judgments: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments, "--method", "bow", "--measure", "mrr")
    assert call(*arguments, "--csv", file).code == 0
    head, row = file.read_text().splitlines()
    assert head == "method,mrr,p,hubness"
    assert row.startswith("bow,")


def test_candidates_are_ranked_as_by_rerank(call: Call, empty: Path, tmp_path: Path) -> None:
    """ir-measures computes the same from what `rerank` writes, also where the engine's score is a term.

    There are more documents than a sample has, documents without a known word, and candidates that are gone.
    """
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice([*WORDS, "zorp", "quux"], rng.integers(2, 9))) for _ in range(400)] + ["zorp quux"]
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    asked = [{"id": f"q{i}", "text": " ".join(rng.choice(WORDS, 4))} for i in range(8)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in asked))
    run, qrels = list[str](), list[str]()
    for query in asked:
        keys = [*(f"d{i}" for i in rng.permutation(400)[:40]), "d400", "gone"]
        scores = sorted(rng.normal(size=len(keys)), reverse=True)
        lines = zip(rng.permutation(keys), scores, strict=True)
        run += [f"{query['id']} Q0 {key} {rank} {score:.3f} engine" for rank, (key, score) in enumerate(lines, start=1)]
        qrels += [f"{query['id']} 0 {key} {rng.integers(0, 3)}" for key in rng.permutation(keys)[:12]]
    (tmp_path / "run").write_text("\n".join(run))
    (tmp_path / "qrels").write_text("\n".join(qrels))
    assert call("index", tmp_path / "docs.jsonl", "-i", empty).code == 0
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures, of the extra test")
    judged = list(ir_measures.read_trec_qrels("\n".join(qrels)))
    methods = ["vector", "wmd+2*vector", "bm25", "wmd:mu=20,weights=tfidf+bm25:stem=english+cosine", "0.5*vector+tfidf"]
    files = ("--queries", tmp_path / "queries.jsonl", "-i", empty)
    named = [part for method in methods for part in ("--method", method)]
    measured = (
        "--qrels",
        tmp_path / "qrels",
        "--candidates",
        tmp_path / "run",
        "--measure",
        "map",
        "--measure",
        "ndcg@10",
    )
    rows = {
        row["method"]: row for row in call("evaluate", "retrieval", *files, *measured, *named, "--json").json["rows"]
    }
    for method in methods:
        reranked = call("rerank", "--run", tmp_path / "run", "--rank", method, *files).out
        ranked = list(ir_measures.read_trec_run(reranked))
        found = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG @ 10], judged, ranked)
        assert rows[method]["map"] == pytest.approx(found[ir_measures.AP])
        assert rows[method]["ndcg@10"] == pytest.approx(found[ir_measures.nDCG @ 10])
    assert rows["vector"]["map"] == pytest.approx(rows["engine"]["map"], abs=0.01)  # but for the one that is gone


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--method", "cosinus"), 2, "there is no ranking 'cosinus'"),
        (("--cutoff", "0"), 2, "--cutoff is a whole number above 0, or all, not '0'"),
        (("--run", "nowhere/run"), 2, "nowhere/run: cannot be written: there is no directory"),
        (("--csv", "nowhere/rows.csv"), 2, "nowhere/rows.csv: cannot be written: there is no directory nowhere"),
        (("--csv", "."), 2, ".: cannot be written: it is a directory"),
        (("--plot", "nowhere/figure.svg"), 2, "nowhere/figure.svg: cannot be written: there is no directory"),
        (("--method", "wmd+prior:field=label"), 2, "no document has a number in the field 'label'"),
        (("--measure", "recall"), 2, "there is no measure 'recall'"),
        (("--measure", "ndgc@5"), 2, "there is no measure 'ndgc@5' (did you mean ndcg@5?): choose map"),
        (("--measure", "p@x"), 2, "there is no measure 'p@x': choose map"),
        (("--reference", "bm25", "--method", "wmd"), 2, "the reference 'bm25' is none of the methods"),
        (("--queries", "nowhere.jsonl"), 1, "nowhere.jsonl"),
    ],
)
def test_invalid_arguments_of_evaluate_are_one_sentence(
    arguments: tuple[str, ...], code: int, message: str, call: Call, collection: Path, judgments: Path
) -> None:
    answer = call("evaluate", "retrieval", "-i", collection, "--qrels", judgments, *arguments)
    assert answer.code == code
    assert message in answer.sentence


def test_a_figure_that_cannot_be_drawn_is_reported_first(
    call: Call, collection: Path, judgments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        pytest.fail("the experiment began")

    monkeypatch.setattr("moverank.indexer.plugins.laboratory.experiments.evaluate_retrieval", refused)
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments)
    if find_spec("matplotlib"):
        for options, message in (
            (("--plot", tmp_path / "figure.doc"), "name a figure .svg, .pdf or .png"),
            (("--plot", tmp_path / "figure.svg", "--measure", "map"), "a recall curve needs measures"),
        ):
            answer = call(*arguments, *options)
            assert (answer.code, message in answer.sentence) == (2, True)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = call(*arguments, "--plot", tmp_path / "figure.svg")
    assert (answer.code, "pip install 'moverank[plot]'" in answer.sentence) == (1, True)


@pytest.mark.parametrize("command", ["gamma", "tune"])
def test_an_unknown_measure_is_wrong_usage(command: str, call: Call, collection: Path, judgments: Path) -> None:
    group = [] if command == "tune" else ["evaluate"]
    answer = call(*group, command, "-i", collection, "--qrels", judgments, "--measure", "foo")
    assert (answer.code, "there is no measure 'foo'" in answer.sentence) == (2, True)


def test_labels_of_no_document_are_named(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("zz\ta,b\nyy\tc\n")
    answer = call("evaluate", "multilabel", "-i", collection, "--labels", tmp_path / "labels.tsv")
    assert answer.code == 2
    assert answer.sentence.endswith("none of its keys is that of a document with a word: its first is 'zz', not 'd0'")


def test_a_cutoff_shortens_the_rankings(call: Call, collection: Path, judgments: Path, tmp_path: Path) -> None:
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments, "--method", "wmd", "--json")
    for cutoff, count in (("2", 2), ("all", 9)):
        assert call(*arguments, "--cutoff", cutoff, "--run", tmp_path / "run", "--per-query", tmp_path / "q").code == 0
        assert len((tmp_path / "run").read_text().splitlines()) == 4 * count
        assert len((tmp_path / "q").read_text().splitlines()) == 1 + 4


def test_evaluate_knn_prints_errors(call: Call, collection: Path) -> None:
    result = call("evaluate", "knn", "-i", collection, "--method", "wcd", "--times", "2", "-k", "1", "--json").json
    assert (result["table"], result["labels"], result["splits"]) == ("knn", 2, 2)
    assert 0 <= result["rows"][0]["error"] <= 1


def test_evaluate_gamma_and_bounds_print_tables(call: Call, collection: Path, judgments: Path, documents: Path) -> None:
    result = call("evaluate", "gamma", "-i", collection, "--qrels", judgments, "--grid", "0,1", "--json").json
    assert result["rows"][-1]["method"] == "chosen"
    documents.write_text(documents.read_text() + "".join(f'{{"id": "e{i}", "text": "{WORDS[i]}"}}\n' for i in range(3)))
    assert call("index", documents, "-i", collection).code == 0
    bounds = call("evaluate", "bounds", "-i", collection, "--sample", "3", "--json").json
    assert [row["bound"] for row in bounds["rows"]][-1] == "wmd"
    assert call("evaluate", "bounds", "-i", collection, "--depths", "--json").json["rows"][-1]["recall"] == 1
