import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.evaluation.duplicates import duplicate_groups


def _naive(bags: list[dict[int, int]], near: float) -> list[int]:
    """Join what is alike until nothing changes."""

    def cosine(one: dict[int, int], other: dict[int, int]) -> float:
        product = sum(count * other.get(word, 0) for word, count in one.items())
        lengths = [sum(count**2 for count in bag.values()) ** 0.5 for bag in (one, other)]
        return float(product / (lengths[0] * lengths[1]))

    group = list(range(len(bags)))
    changed = True
    while changed:
        changed = False
        for i, one in enumerate(bags):
            for j, other in enumerate(bags):
                if cosine(one, other) >= near - 1e-9 and group[i] != group[j]:
                    group[i] = group[j] = min(group[i], group[j])
                    changed = True
    return group


COUNTS = st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3), min_size=1), min_size=1, max_size=8)


@given(COUNTS, st.sampled_from([0.8, 0.95, 1.0]))
def test_groups_are_those_of_the_loop(bags: list[dict[int, int]], near: float) -> None:
    packed = Bags.of([Bag.of(list(bag), list(bag.values())) for bag in bags])
    assert duplicate_groups(packed, near).tolist() == _naive(bags, near)


def test_many_documents_are_compared_block_by_block() -> None:
    words = np.arange(1500) % 700
    packed = Bags.of([Bag.of([word], [1]) for word in words.tolist()])
    assert duplicate_groups(packed).tolist() == words.tolist()


def test_no_documents_are_no_trouble() -> None:
    assert not len(duplicate_groups(Bags.of([])))
