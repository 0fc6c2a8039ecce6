"""The number of distances that an experiment takes is reported before it starts."""

from pathlib import Path

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.plugins.laboratory import bound_tightness
from moverank.indexer.plugins.laboratory.bound_tightness import pairs_of
from moverank.indexer.plugins.laboratory.evaluating import KnnExperiment, RetrievalExperiment
from moverank.rerank.evaluation.knn import Split


def test_a_short_run_is_not_announced(indexed: Collection, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "qrels").write_text("d1 0 d2 1\n")
    RetrievalExperiment(qrels=str(tmp_path / "qrels"), methods=["wmd"]).run(indexed.path)
    assert caplog.messages == []


def test_a_long_run_is_announced(
    indexed: Collection, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_tightness, "LONG_EXPERIMENT", 10)
    (tmp_path / "qrels").write_text("d1 0 d2 1\nd2 0 d3 1\n")
    n = indexed.info()["documents"]
    RetrievalExperiment(qrels=str(tmp_path / "qrels"), methods=["bow", "wmd", "pwmd:gamma=1"]).run(indexed.path)
    RetrievalExperiment(qrels=str(tmp_path / "qrels"), methods=["bow", "wcd"]).run(indexed.path)
    KnnExperiment(methods=["wmd"], k=1, split="random", times=2).run(indexed.path)
    retrieval, knn = caplog.messages
    assert retrieval == (
        f"{2 * n} distances by each of 2 methods (2 queries, {n} documents): bounds exclude most of them"
    )
    assert knn.endswith(" documents, splits: 2): bounds exclude most of them")


def test_the_pairs_of_splits_include_those_that_choose_k() -> None:
    split = Split(np.arange(10), np.arange(10, 15))
    inner = split.validation_split()
    assert pairs_of([split, split], 3) == 100
    assert pairs_of([split], None) == 50 + len(inner.train) * len(inner.test)
