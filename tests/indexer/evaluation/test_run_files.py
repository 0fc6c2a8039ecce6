"""Runs and figures of single queries are what other tools read."""

import csv
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from moverank import Collection, UsageError
from moverank.indexer.evaluation.experiments import evaluate_retrieval
from moverank.indexer.evaluation.run_files import RunFiles

METHODS = ("wmd", "bm25", "wmd:mu=5+0.5*cover+bm25", "bow")
_QRELS = "".join(f"d{i} 0 d{(3 * i + 1) % 12} 1\nd{i} 0 d{(5 * i + 2) % 12} 2\n" for i in range(8))


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    (tmp_path / "qrels").write_text(_QRELS)
    return str(tmp_path / "qrels")


@pytest.mark.parametrize("cutoff", [None, 5])
def test_ir_measures_computes_the_same_from_the_run(
    indexed: Collection, qrels: str, tmp_path: Path, cutoff: int | None
) -> None:
    files = RunFiles(tmp_path / "run", tmp_path / "queries.csv")
    table = evaluate_retrieval(
        indexed.path, qrels, methods=METHODS, measures=["map", "ndcg@10"], cutoff=cutoff, files=files
    )
    rows = list(csv.DictReader((tmp_path / "queries.csv").read_text().splitlines()))
    judged = list(ir_measures.read_trec_qrels(_QRELS))  # type: ignore[no-untyped-call]
    for row, method in zip(table.rows, METHODS, strict=True):
        lines = [line for line in (tmp_path / "run").read_text().splitlines() if line.endswith(f" {method}")]
        run = list(ir_measures.read_trec_run("\n".join(lines)))  # type: ignore[no-untyped-call]
        found = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG @ 10], judged, run)
        assert row["map"] == pytest.approx(found[ir_measures.AP])
        assert row["ndcg@10"] == pytest.approx(found[ir_measures.nDCG @ 10])
        own = [float(each["map"]) for each in rows if each["method"] == method]
        assert np.mean(own) == pytest.approx(row["map"])
    assert [row["query"] for row in rows[:8]] == [f"d{i}" for i in range(8)]


@pytest.mark.parametrize("method", METHODS)
def test_a_cut_ranking_is_the_complete_one_cut(indexed: Collection, qrels: str, tmp_path: Path, method: str) -> None:
    runs = []
    for cutoff in (None, 4):
        path = tmp_path / f"run-{cutoff}"
        evaluate_retrieval(indexed.path, qrels, methods=[method], measures=["map"], cutoff=cutoff, files=RunFiles(path))
        lines = [line.split() for line in path.read_text().splitlines()]
        runs.append({(query, rank): key for query, _, key, rank, _, _ in lines if int(rank) <= 4})
    assert runs[0] == runs[1]


def test_a_missing_directory_is_noticed_first(indexed: Collection, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no directory"):
        evaluate_retrieval(indexed.path, "nowhere", files=RunFiles(tmp_path / "gone" / "run"))
