"""Runs and figures of single queries are what other tools read."""

import csv
import itertools
import shlex
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, UsageError
from moverank.indexer.plugins.laboratory.evaluating import RetrievalExperiment
from moverank.indexer.plugins.laboratory.retrieval import run_path

METHODS = ("wmd", "bm25", "wmd:mu=5+0.5*cover+bm25", "bow")
NAMES = {
    "wmd": "run.wmd.trec",
    "bm25": "run.bm25.trec",
    "wmd:mu=5+0.5*cover+bm25": "run.wmd-mu=5+0.5xcover+bm25.trec",
    "bow": "run.bow.trec",
}
_QRELS = "".join(f"d{i} 0 d{(3 * i + 1) % 12} 1\nd{i} 0 d{(5 * i + 2) % 12} 2\n" for i in range(8))


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    (tmp_path / "qrels").write_text(_QRELS)
    return str(tmp_path / "qrels")


@pytest.mark.parametrize("cutoff", ["all", 5])
def test_ir_measures_computes_the_same_from_the_run(
    indexed: Collection, qrels: str, tmp_path: Path, cutoff: int | str
) -> None:
    table = RetrievalExperiment(
        qrels=qrels,
        methods=METHODS,
        measures=["map", "ndcg@10"],
        cutoff=cutoff,
        run_file=tmp_path / "run.trec",
        per_query=tmp_path / "queries.csv",
    ).run(indexed.path)
    rows = list(csv.DictReader((tmp_path / "queries.csv").read_text().splitlines()))
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures, of the extra test")
    judged = list(ir_measures.read_trec_qrels(_QRELS))
    for row, method in zip(table.rows, METHODS, strict=True):
        lines = (tmp_path / NAMES[method]).read_text().splitlines()
        assert {line.split()[5] for line in lines} == {method}
        run = list(ir_measures.read_trec_run("\n".join(lines)))
        found = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG @ 10], judged, run)
        assert row["map"] == pytest.approx(found[ir_measures.AP])
        assert row["ndcg@10"] == pytest.approx(found[ir_measures.nDCG @ 10])
        own = [float(each["map"]) for each in rows if each["method"] == method]
        assert np.mean(own) == pytest.approx(row["map"])
    assert [row["query"] for row in rows[:8]] == [f"d{i}" for i in range(8)]


@pytest.mark.parametrize("method", METHODS)
def test_a_cut_ranking_is_the_complete_one_cut(indexed: Collection, qrels: str, tmp_path: Path, method: str) -> None:
    runs = []
    for cutoff in ("all", 4):
        path = tmp_path / f"run-{cutoff}"
        RetrievalExperiment(qrels=qrels, methods=[method], measures=["map"], cutoff=cutoff, run_file=path).run(
            indexed.path
        )
        lines = [line.split() for line in path.read_text().splitlines()]
        runs.append({(query, rank): key for query, _, key, rank, _, _ in lines if int(rank) <= 4})
    assert runs[0] == runs[1]


def test_scores_are_those_of_the_method(indexed: Collection, qrels: str, tmp_path: Path) -> None:
    """A scorer's own, negated distances, and negated totals, best first: those of a search."""
    for method in METHODS:
        RetrievalExperiment(qrels=qrels, methods=[method], cutoff=5, run_file=tmp_path / "run").run(indexed.path)
        lines = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
        scores = [np.float32(line[4]) for line in lines if line[0] == "d3"]
        assert all(one > other for one, other in itertools.pairwise(scores))
        hits = indexed.similar("d3", k=5, rank=method).hits
        values = [hit.distance if hit.total is None else hit.total for hit in hits]
        expected = [hit.scored for hit in hits] if method == "bm25" else [-value for value in values]
        assert scores == pytest.approx(expected, rel=1e-5)


def test_names_of_files_are_safe_for_shells(tmp_path: Path) -> None:
    label = "0.3*pl2:gamma=0,stem=german+wmd:weights=tfidf;$(rm x) '\"/"
    name = run_path(tmp_path / "run.trec", label).name
    assert shlex.split(name) == [name]
    assert name == "run.0.3xpl2-gamma=0,stem=german+wmd-weights=tfidf---rm-x-----.trec"
    long = [run_path(tmp_path / "run", "+".join(["wmd"] * count)).name for count in (99, 100)]
    assert len(set(long)) == 2
    assert max(map(len, long)) < 150


def test_a_missing_directory_is_noticed_first(indexed: Collection, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no directory"):
        RetrievalExperiment(qrels="nowhere", run_file=tmp_path / "gone" / "run").run(indexed.path)
