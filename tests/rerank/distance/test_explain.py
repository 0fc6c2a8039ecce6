import math

import numpy as np
import pytest
from hypothesis import given

from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.explain import Explanation, explain_distance
from tests import naive
from tests.rerank.problems import Problem, problems


def _explained(problem: Problem, bag: Bag) -> Explanation:
    query = problem.query
    names = [f"q{word}" for word in query.bag.words], [f"d{word}" for word in bag.words]
    return explain_distance(query.bag, bag, (query.vectors, problem.vectors[bag.words]), names)


@given(problems())
def test_the_distance_is_the_sum_of_the_flows(problem: Problem) -> None:
    query = problem.query
    for bag in problem.bags:
        explanation = _explained(problem, bag)
        flows = explanation.flows
        expected = naive.wmd(query.bag, query.vectors, bag, problem.vectors)
        assert explanation.distance == pytest.approx(expected, rel=1e-12, abs=problem.rounding)
        assert math.fsum(flow.mass * flow.cost for flow in flows) == pytest.approx(explanation.distance, rel=1e-12)
        assert math.fsum(flow.mass for flow in flows) == pytest.approx(1, abs=1e-12)
        assert all(flow.mass > 0 and flow.cost >= 0 for flow in flows)
        assert math.fsum(flow.share for flow in flows) == pytest.approx(1 if explanation.distance else 0, abs=1e-12)


@given(problems())
def test_each_word_sends_and_receives_its_weight(problem: Problem) -> None:
    query = problem.query
    cost = {}
    for bag in problem.bags:
        flows = _explained(problem, bag).flows
        table = naive.costs(query.vectors, bag, problem.vectors)
        for i, mine in enumerate(query.bag.words.tolist()):
            sent = math.fsum(flow.mass for flow in flows if flow.source == f"q{mine}")
            assert sent == pytest.approx(query.bag.weights[i], rel=1e-9, abs=1e-15)
            cost.update({(f"q{mine}", f"d{word}"): table[i][j] for j, word in enumerate(bag.words.tolist())})
        for word, weight in zip(bag.words.tolist(), bag.weights.tolist(), strict=True):
            received = math.fsum(flow.mass for flow in flows if flow.target == f"d{word}")
            assert received == pytest.approx(weight, rel=1e-9, abs=1e-15)
        assert all(flow.cost == pytest.approx(cost[flow.source, flow.target], rel=1e-12) for flow in flows)


def test_the_largest_share_comes_first_and_shared_words_last() -> None:
    vectors = np.array([[0, 0], [1, 0], [10, 0], [10, 3]], np.float32)
    source, target = Bag.of([0, 1, 2], [2, 1, 1]), Bag.of([0, 1, 3], [1, 2, 1])
    explanation = explain_distance(
        source, target, (vectors[source.words], vectors[target.words]), (["a", "b", "c"], ["a", "b", "d"])
    )
    assert explanation.distance == pytest.approx(1)
    assert [(flow.source, flow.target) for flow in explanation.flows] == [
        ("c", "d"),
        ("a", "b"),
        ("a", "a"),
        ("b", "b"),
    ]
    assert [flow.mass for flow in explanation.flows] == pytest.approx([0.25, 0.25, 0.25, 0.25])
    assert [flow.cost for flow in explanation.flows] == [3, 1, 0, 0]
    assert [flow.share for flow in explanation.flows] == pytest.approx([0.75, 0.25, 0, 0])


def test_shares_of_a_zero_distance_are_zero() -> None:
    bag = Bag.of([0, 1], [1, 3])
    vectors = np.eye(2, dtype=np.float32)
    explanation = explain_distance(bag, bag, (vectors, vectors), (["a", "b"], ["a", "b"]))
    assert explanation.distance == 0
    assert [(flow.source, flow.target, flow.mass, flow.share) for flow in explanation.flows] == [
        ("b", "b", 0.75, 0),
        ("a", "a", 0.25, 0),
    ]
