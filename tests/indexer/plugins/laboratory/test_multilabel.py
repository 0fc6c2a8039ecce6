from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from moverank import Document, UsageError
from moverank.indexer.plugins.laboratory.evaluating import MultilabelExperiment
from tests.indexer.world import WORDS, MakeCollection, Twin, document

LABELS = ("new", "old", "odd")


@pytest.fixture
def films() -> list[Document]:
    rng = np.random.default_rng(8)
    made = [document(f"f{i}", " ".join(rng.choice(WORDS, 3)), " ".join(rng.choice(WORDS, 3))) for i in range(15)]
    return [*made, document("same", made[0].parts[0].text, made[0].parts[1].text), document("bare", "ant")]


@pytest.fixture
def labelled(films: list[Document], tmp_path: Path) -> tuple[str, dict[str, set[str]]]:
    rng = np.random.default_rng(9)
    labels = {film.key: set(rng.choice(LABELS, 2).tolist()) for film in films if film.key != "bare"}
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"{key}\t{','.join(sorted(own))}\n" for key, own in labels.items()))
    return str(path), labels


def test_labels_are_predicted_by_the_nearest_others(
    make_collection: MakeCollection, films: list[Document], labelled: tuple[str, dict[str, set[str]]]
) -> None:
    collection, (path, labels) = make_collection(), labelled
    collection.index(films)
    table = MultilabelExperiment(labels=path, methods=["bow", "wmd", "pwmd"], ks=[3]).run(collection.path)
    twin = Twin()
    twin.add([film for film in films if film.key in labels])
    answers = []
    for key in labels:
        near = twin.distances(twin.documents[key])
        nearest = sorted((other for other in near if other != key), key=lambda other: near[other])[:3]
        votes = [sum(name in labels[other] for other in nearest) for name in LABELS]
        answers.append([2 * count >= 3 for count in votes])
    truth = [[name in own for name in LABELS] for own in labels.values()]
    expected = f1_score(truth, answers, average="macro", zero_division=0)
    rows = {row["method"]: row for row in table.rows}
    assert rows["wmd"]["f1@3"] == pytest.approx(expected)
    assert rows["wmd"]["improvement@3"] == pytest.approx(expected / float(rows["bow"]["f1@3"] or 0) - 1)
    assert rows["bow"]["improvement@3"] == 0
    assert (table.facts["documents"], table.facts["labels"]) == (16, 3)


def test_proximity_and_blends_predict_labels(
    make_collection: MakeCollection, films: list[Document], labelled: tuple[str, dict[str, set[str]]]
) -> None:
    collection = make_collection()
    collection.index(films)
    table = MultilabelExperiment(labels=labelled[0], methods=["bow", "bow+wcd"], proximity="empirical").run(
        collection.path
    )
    assert [row["method"] for row in table.rows] == ["bow", "bow:proximity=empirical", "bow+wcd"]
    with pytest.raises(UsageError, match="there must be more than k"):
        MultilabelExperiment(labels=labelled[0], methods=["bow"], ks=[16]).run(collection.path)
    with pytest.raises(UsageError, match="k must be"):
        MultilabelExperiment(labels=labelled[0], methods=["bow"], ks=[0]).run(collection.path)
