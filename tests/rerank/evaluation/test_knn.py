from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.knn import (
    KnnError,
    choose_k,
    deciding_votes,
    draw_split,
    error_rate,
    improvement,
    macro_f1,
    predefined_split,
    predict,
    predict_labels,
    random_splits,
)
from tests import naive_evaluation as naive

VOTES = st.lists(st.lists(st.integers(-1, 3), min_size=7, max_size=7), min_size=1, max_size=6)


def _filled_first(row: Sequence[int]) -> list[int]:
    """Move missing neighbours to the end."""
    return sorted(row, key=lambda label: label < 0)


@given(VOTES, st.integers(1, 7))
def test_predictions_equal_the_naive_ones(rows: list[list[int]], k: int) -> None:
    votes = np.array([_filled_first(row) for row in rows], np.int64)
    assert predict(votes, k, labels=4).tolist() == [naive.vote(row, k) for row in votes.tolist()]


def test_without_half_of_the_votes_the_two_farthest_are_dropped() -> None:
    votes = np.array([[2, 0, 1, 1, 0], [0, 1, 2, 1, 1], [0, 0, 0, 1, 2]])
    assert predict(votes, 5, labels=3).tolist() == [2, 1, 0]
    assert predict(votes, 2, labels=3).tolist() == [2, 0, 0]


def test_the_votes_that_decide_are_counted() -> None:
    votes = np.array([[2, 0, 1, 1, 0], [0, 1, 2, 1, 1], [0, 0, 0, 1, -1], [-1, -1, -1, -1, -1]])
    labels, voters = deciding_votes(votes, 5, labels=3)
    assert (labels.tolist(), voters.tolist()) == ([2, 1, 0, -1], [1, 5, 4, 0])


def test_two_classes_and_an_odd_k_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    points, truth = rng.random((80, 2)), rng.integers(0, 2, 80)
    classifier = KNeighborsClassifier(5, algorithm="brute").fit(points[:50], truth[:50])
    nearest = classifier.kneighbors(points[50:], return_distance=False)
    assert predict(truth[nearest], 5, labels=2).tolist() == classifier.predict(points[50:]).tolist()


def test_the_smallest_of_the_best_k_is_chosen() -> None:
    votes = np.array([[1, 0, 0, 0], [0, 1, 1, 1]])
    truth = np.array([0, 1])
    assert error_rate(votes, truth, 1, labels=2) == 1.0
    assert choose_k(votes, truth, labels=2) == 3


def test_errors_have_a_mean_and_a_sample_deviation() -> None:
    several = KnnError((0.1, 0.2, 0.3), (1, 3, 5))
    assert several.mean == pytest.approx(0.2)
    assert several.deviation == pytest.approx(0.1)
    assert KnnError((0.1,), (1,)).deviation == 0


@given(st.integers(4, 60), st.integers(0, 99))
def test_a_split_contains_every_document_once(n: int, seed: int) -> None:
    for split in random_splits(n, times=3, seed=seed):
        assert sorted([*split.train, *split.test]) == list(range(n))
        assert len(split.train) == round(0.7 * n)
        inner = split.validation_split()
        assert sorted([*inner.train, *inner.test]) == split.train.tolist()
    assert draw_split(n, 0.7, seed).test.tolist() == random_splits(n, seed=seed)[0].test.tolist()


def test_documents_can_be_marked_for_training_or_test() -> None:
    split = predefined_split(["train", "test", None, "Train"])
    assert split.train.tolist() == [0, 3]
    assert split.test.tolist() == [1]


def test_labels_are_voted_on_independently() -> None:
    labels = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], bool)
    neighbours = np.array([[1, 2], [0, 2], [3, -1], [-1, -1]])
    predicted = predict_labels(labels, neighbours, 2)
    assert predicted.tolist() == [[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]]


@given(st.integers(0, 10**6))
def test_macro_f1_equals_scikit_learn(seed: int) -> None:
    truth, answers = np.random.default_rng(seed).integers(0, 2, (2, 9, 4)).astype(bool)
    assert macro_f1(truth, answers) == pytest.approx(f1_score(truth, answers, average="macro", zero_division=0))


def test_improvement_is_relative_to_the_baseline() -> None:
    assert improvement(0.3, 0.2) == pytest.approx(0.5)


def test_invalid_arguments_are_rejected() -> None:
    votes = np.zeros((1, 3), np.int64)
    for invalid in (
        lambda: predict(votes, 4, 1),
        lambda: choose_k(votes, np.zeros(1, np.int64), 1, ks=(5,)),
        lambda: predict_labels(np.ones((1, 1), bool), votes, 4),
        lambda: macro_f1(np.ones((1, 2), bool), np.ones((1, 3), bool)),
        lambda: improvement(0.3, 0.0),
        lambda: draw_split(10, 1.0, 0),
        lambda: draw_split(1, 0.5, 0),
        lambda: predefined_split(["train", "dev"]),
    ):
        with pytest.raises(EvaluationError):
            invalid()
