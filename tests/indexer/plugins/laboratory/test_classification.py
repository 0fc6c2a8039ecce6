import csv
import logging
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from moverank import Collection, Document, UsageError
from moverank.indexer.plugins.laboratory import classification
from moverank.indexer.plugins.laboratory.evaluating import KnnExperiment
from moverank.indexer.plugins.laboratory.method import Method
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.knn import draw_split
from moverank.rerank.evaluation.measures import holm, randomisation
from tests import naive_evaluation as naive
from tests.indexer.world import WORDS, MakeCollection, Twin, document

SIDES = {"a": WORDS[:7], "b": WORDS[5:]}


@pytest.fixture
def labelled() -> list[Document]:
    """Documents of two labels whose words overlap, one without a known word, and one without a label."""
    rng = np.random.default_rng(4)
    made = []
    for i in range(40):
        label, mark = "ab"[i % 2], "train" if i < 28 else "test"
        text = " ".join(rng.choice(SIDES[label], 4))
        made.append(document(f"d{i}", text, label=label, metadata={"split": mark}))
    return [*made, document("unknown", "quux", label="a", metadata={"split": "test"}), document("bare", "cat dog")]


@pytest.fixture
def indexed(make_collection: MakeCollection, labelled: list[Document]) -> Collection:
    collection = make_collection()
    collection.index(labelled)
    return collection


def _error(documents: list[Document], train: list[int], test: list[int], k: int) -> float:
    """The error by brute force: distances from POT, votes in a loop."""
    twin = Twin()
    twin.add([documents[row] for row in train])
    wrong = 0
    for row in test:
        if documents[row].key == "unknown":
            wrong += 1
            continue
        near = twin.distances(documents[row])
        order = sorted(near, key=lambda key: near[key])
        labels = ["ab".index(twin.documents[key].label or "") for key in order]
        wrong += naive.vote(labels, k) != "ab".index(documents[row].label or "")
    return wrong / len(test)


def test_the_error_equals_that_of_brute_force(indexed: Collection, labelled: list[Document]) -> None:
    table = KnnExperiment(methods=["wmd"], k=5).run(indexed.path)
    assert table.rows[0]["error"] == pytest.approx(_error(labelled, list(range(28)), list(range(28, 41)), 5))
    assert table.rows[0]["k"] == "5"
    facts = {name: table.facts[name] for name in ("documents", "labels", "splits", "train", "test")}
    assert facts == {"documents": 41, "labels": 2, "splits": 1, "train": 28, "test": 13}


@pytest.mark.slow
def test_k_is_chosen_on_the_training_part(indexed: Collection, labelled: list[Document]) -> None:
    table = KnnExperiment(methods=["wmd"], split="random", times=2, seed=3).run(indexed.path)
    expected, ks = [], []
    for turn in range(2):
        split = draw_split(41, 0.7, 3 + turn)
        inner = split.validation_split()
        errors = [_error(labelled, inner.train.tolist(), inner.test.tolist(), k) for k in range(1, 20)]
        ks.append(1 + errors.index(min(errors)))
        expected.append(_error(labelled, split.train.tolist(), split.test.tolist(), ks[-1]))
    assert table.rows[0]["k"] == " ".join(map(str, ks))
    assert table.rows[0]["error"] == pytest.approx(np.mean(expected))
    assert table.rows[0]["deviation"] == pytest.approx(np.std(expected, ddof=1))


@pytest.mark.slow
def test_every_kind_of_method_can_classify(indexed: Collection) -> None:
    methods = [
        "random",
        "wmd:weights=tfidf",
        "rwmd",
        "wcd",
        "bow",
        "bm25",
        "centroid",
        "bow:proximity=gaussian",
        "bow+wcd",
    ]
    table = KnnExperiment(methods=methods).run(indexed.path)
    errors = {row["method"]: row["error"] for row in table.rows}
    assert list(errors) == methods
    assert all(isinstance(error, float) and 0 <= error <= 1 for error in errors.values())
    assert float(errors["wmd:weights=tfidf"] or 0) < float(errors["random"] or 0)


def test_p_is_that_of_mcnemars_exact_test(indexed: Collection, labelled: list[Document], tmp_path: Path) -> None:
    """Of one split: of the documents that one method alone gets right, each is as likely to be either's."""
    path = tmp_path / "predictions.csv"
    table = KnnExperiment(methods=["wmd", "random"], k=3, reference="random", predictions=path).run(indexed.path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == table.facts["test"] == 13
    assert {row["split"] for row in rows} == {"1"}
    right = {name: [row[name] == row["label"] for row in rows] for name in ("wmd", "random")}
    for row in table.rows:
        assert row["error"] == pytest.approx(1 - np.mean(right[str(row["method"])]))
    only = [sum(a and not b for a, b in zip(right[x], right[y], strict=True)) for x, y in (right, tuple(right)[::-1])]
    assert [row["p"] for row in table.rows] == [pytest.approx(binomtest(only[0], sum(only)).pvalue), None]
    assert table.facts["reference"] == "random"
    labels = {each.key: each.label for each in labelled}
    assert all(labels[row["key"]] == row["label"] for row in rows)


@pytest.mark.slow
def test_documents_are_the_pairs_of_several_splits(indexed: Collection, tmp_path: Path) -> None:
    path, methods = tmp_path / "predictions.csv", ["wmd", "bow", "bm25:stem=english", "wcd"]
    table = KnnExperiment(methods=methods, split="random", times=4, k=3, predictions=path).run(indexed.path)
    assert table.facts["reference"] == "bm25:stem=english"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    keys = sorted({row["key"] for row in rows})
    shares = [
        np.array([np.mean([row[name] != row["label"] for row in rows if row["key"] == key]) for key in keys])
        for name in methods
    ]
    expected = holm([randomisation(shares[i], shares[2]) for i in (0, 1, 3)])
    assert [row["p"] for row in table.rows if row["p"] is not None] == pytest.approx(expected, abs=0.02)
    with pytest.raises(UsageError, match="the reference 'bm25' is none of the methods: wmd"):
        KnnExperiment(methods=["wmd"], reference="bm25").run(indexed.path)
    with pytest.raises(UsageError, match="there is no directory"):
        KnnExperiment(predictions=tmp_path / "gone" / "predictions.csv").run(indexed.path)


@pytest.mark.slow
def test_methods_side_by_side_have_the_same_results(indexed: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = ["lda:topics=3,passes=2", "bow", "bm25", "lsi:dim=4", "wcd", "wmd", "random"]
    together = KnnExperiment(methods=methods, split="random", times=3).run(indexed.path)
    monkeypatch.setattr(Method, "uses_all_cores", True)
    assert KnnExperiment(methods=methods, split="random", times=3).run(indexed.path) == together
    assert logging.getLogger("gensim").level == logging.NOTSET


def test_an_error_cancels_the_other_splits(indexed: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fails(*_: object) -> classification.Classified:
        calls.append(1)
        if len(calls) == 1:
            raise EvaluationError("nothing to learn from")
        time.sleep(0.05)
        return classification.Classified(np.zeros(1, np.int64), 1)

    monkeypatch.setattr(classification, "_classified", fails)
    with pytest.raises(EvaluationError, match="nothing to learn from"):
        KnnExperiment(methods=["bow", "bm25"], split="random", times=50).run(indexed.path)
    assert len(calls) < 20


def test_duplicates_can_be_left_out(indexed: Collection, labelled: list[Document]) -> None:
    text = labelled[0].parts[0].text
    indexed.index([document("copy", text, label="a", metadata={"split": "test"})])
    table = KnnExperiment(methods=["bow"], k=1).run(indexed.path)
    clean = KnnExperiment(methods=["bow"], k=1, clean=True).run(indexed.path)
    assert int(table.facts["duplicates"]) >= 1
    assert clean.facts["duplicates"] == 0
    assert clean.facts["documents"] == table.facts["documents"] - table.facts["duplicates"]


def test_documents_without_labels_or_splits_are_refused(make_collection: MakeCollection) -> None:
    bare = make_collection()
    bare.index([document("d1", "cat")])
    with pytest.raises(UsageError, match="no document has a label: index records with a field `label`"):
        KnnExperiment(methods=["bow"], split="random", times=1).run(bare.path)
    bare.index([*(document(key, "dog", label="a") for key in ("d2", "d3", "d4"))])
    with pytest.raises(UsageError, match="all documents have the label 'a'"):
        KnnExperiment(methods=["bow"], split="random", times=1).run(bare.path)
    bare.index([document("d5", "dog", label="b")])
    with pytest.raises(UsageError, match="no document has a field `split`"):
        KnnExperiment(methods=["bow"], split="predefined").run(bare.path)
