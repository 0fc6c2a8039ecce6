import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.evaluation.duplicate_groups import duplicate_groups
from tests import naive_evaluation

COUNTS = st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3), min_size=1), min_size=1, max_size=8)


@given(COUNTS, st.sampled_from([0.8, 0.95, 1.0]))
def test_groups_equal_the_naive_ones(bags: list[dict[int, int]], near: float) -> None:
    packed = Bags.of([Bag.of(list(bag), list(bag.values())) for bag in bags])
    assert duplicate_groups(packed, near).tolist() == naive_evaluation.duplicate_groups(bags, near)


def test_many_documents_are_compared_block_by_block() -> None:
    words = np.arange(1500) % 700
    packed = Bags.of([Bag.of([word], [1]) for word in words.tolist()])
    assert duplicate_groups(packed).tolist() == words.tolist()


def test_no_documents_have_no_groups() -> None:
    assert not len(duplicate_groups(Bags.of([])))
