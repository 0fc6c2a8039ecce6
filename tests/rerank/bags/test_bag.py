from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags, row_entries
from moverank.rerank.errors import BagError

IDS = st.integers(0, 50)
AMOUNTS = st.floats(0, allow_infinity=False, allow_nan=False)
ROWS = st.lists(st.dictionaries(IDS, st.floats(0.01, 10), min_size=1, max_size=6), max_size=8)


def _bags(rows: list[dict[int, float]]) -> list[Bag]:
    return [Bag.of(list(row), list(row.values())) for row in rows]


def _same(one: Bag, other: Bag) -> bool:
    return np.array_equal(one.words, other.words) and np.array_equal(one.weights, other.weights)


@given(st.lists(st.tuples(IDS, AMOUNTS), min_size=1).filter(lambda entries: any(amount for _, amount in entries)))
def test_of_returns_a_valid_bag_at_any_scale(entries: list[tuple[int, float]]) -> None:
    bag = Bag.of([word for word, _ in entries], [amount for _, amount in entries])
    assert [str(bag.words.dtype), str(bag.weights.dtype)] == ["int32", "float64"]
    assert all(before < after for before, after in pairwise(bag.words.tolist()))
    assert all(weight > 0 for weight in bag.weights.tolist())
    assert bag.weights.sum() == pytest.approx(1, abs=1e-12)
    largest = max(amount for _, amount in entries)
    # Relative to the largest weight.
    expected: dict[int, float] = {}
    for word, amount in entries:
        expected[word] = expected.get(word, 0.0) + amount / largest
    total = sum(expected.values())
    for word, weight in zip(bag.words.tolist(), bag.weights.tolist(), strict=True):
        assert weight == pytest.approx(expected[word] / total, rel=1e-12)


@pytest.mark.parametrize("amount", [5e-324, 1e-310, 1.0, 1.7e308])
def test_of_accepts_subnormal_and_huge_weights(amount: float) -> None:
    bag = Bag.of([3, 1, 3], [amount, amount, amount])
    assert bag.words.tolist() == [1, 3]
    assert bag.weights.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_of_drops_words_without_weight() -> None:
    assert Bag.of([4, 2, 9], [0, 1, 0]).words.tolist() == [2]
    assert Bag.of([4, 2], [1e-320, 1e308]).words.tolist() == [2]


@pytest.mark.parametrize(
    ("words", "weights", "reason"),
    [
        ([1, 2], [1.0], "as many weights as words"),
        ([[1]], [[1.0]], "as many weights as words"),
        ([], [], "one positive"),
        ([1], [0.0], "one positive"),
        ([1, 2], [1.0, -1.0], "none negative"),
        ([1], [np.nan], "finite"),
        ([1], [np.inf], "finite"),
        ([-1, 2], [1.0, 1.0], "from 0 to"),
    ],
)
def test_of_rejects_invalid_arguments(words: list[int], weights: list[float], reason: str) -> None:
    with pytest.raises(BagError, match=reason):
        Bag.of(words, weights)


@pytest.mark.parametrize(
    ("words", "weights", "reason"),
    [
        ([1, 2], [1.0], "as many weights as words"),
        ([[1]], [[1.0]], "as many weights as words"),
        ([], [], "at least one word"),
        ([2, 1], [0.5, 0.5], "strictly increasing"),
        ([1, 1], [0.5, 0.5], "strictly increasing"),
        ([-1, 1], [0.5, 0.5], "0 or more"),
        ([1, 2], [1.0, 0.0], "positive and sum to 1"),
        ([1, 2], [0.5, 0.4], "positive and sum to 1"),
        ([1, 2], [np.nan, 0.4], "positive and sum to 1"),
        ([1, 2], [np.inf, 0.4], "positive and sum to 1"),
    ],
)
def test_invalid_bags_are_rejected(words: list[int], weights: list[float], reason: str) -> None:
    with pytest.raises(BagError, match=reason):
        Bag(np.array(words, np.int32), np.array(weights))


def test_a_bag_has_the_length_of_its_words_and_is_frozen() -> None:
    bag = Bag.of([1, 5], [1, 1])
    assert len(bag) == 2
    with pytest.raises(AttributeError):
        bag.words = bag.words  # type: ignore[misc]  # the assignment must fail


@given(ROWS)
def test_bags_return_the_packed_bags(rows: list[dict[int, float]]) -> None:
    bags = _bags(rows)
    packed = Bags.of(bags)
    assert len(packed) == len(bags)
    assert [str(a.dtype) for a in (packed.starts, packed.words, packed.weights)] == ["int64", "int32", "float64"]
    assert all(_same(one, other) for one, other in zip(packed, bags, strict=True))
    assert all(_same(packed[i], bag) for i, bag in enumerate(bags))


@given(ROWS.filter(bool), st.data())
def test_take_returns_the_requested_order(rows: list[dict[int, float]], data: st.DataObject) -> None:
    bags = _bags(rows)
    chosen = data.draw(st.lists(st.integers(0, len(bags) - 1)))
    taken = Bags.of(bags).take(np.array(chosen, np.int64))
    assert len(taken) == len(chosen)
    assert all(_same(one, bags[i]) for one, i in zip(taken, chosen, strict=True))


@given(st.lists(st.integers(0, 5), min_size=1), st.data())
def test_row_entries_equal_the_loop(lengths: list[int], data: st.DataObject) -> None:
    starts = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1)))
    selected, entries = row_entries(np.array(starts), np.array(chosen, np.int64))
    assert entries.tolist() == [entry for row in chosen for entry in range(starts[row], starts[row + 1])]
    assert selected.tolist() == [sum(lengths[row] for row in chosen[:i]) for i in range(len(chosen) + 1)]


@pytest.mark.parametrize("words", [[2**32 + 1], [2**40], [1.7], [-1]])
def test_invalid_word_ids_are_rejected(words: list[float]) -> None:
    with pytest.raises(BagError, match="whole numbers"):
        Bag.of(words, [1.0])
