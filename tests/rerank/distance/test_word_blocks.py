import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import word_blocks as module
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.word_blocks import max_words, word_blocks


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 25), st.integers(0, 2**32))
def test_blocks_are_the_rows_in_order_and_as_large_as_the_limit_allows(
    lengths: list[int], limit: int, seed: int
) -> None:
    bags = Bags.of([Bag.of(np.arange(length), np.ones(length)) for length in lengths])
    rows = np.random.default_rng(seed).permutation(len(lengths))
    blocks = list(word_blocks(bags, rows, limit))
    assert np.concatenate(blocks).tolist() == rows.tolist()
    sizes = [sum(lengths[row] for row in block) for block in blocks]
    assert all(size <= limit or len(block) == 1 for size, block in zip(sizes, blocks, strict=True))
    for size, following in zip(sizes, blocks[1:], strict=False):
        assert size + lengths[following[0]] > limit


@pytest.mark.parametrize(("words", "dim", "expected"), [(2, 5, 10), (10, 5, 5), (100, 5, 1)])
def test_a_block_fits_into_memory_and_has_a_word_at_least(
    monkeypatch: pytest.MonkeyPatch, words: int, dim: int, expected: int
) -> None:
    monkeypatch.setattr(module, "MATRIX_BYTES", 4 * 50)
    query = QueryBag(Bag.of(np.arange(words), np.ones(words)), np.ones((words, dim), np.float32))
    assert max_words(query) == expected
