from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.runtime.parallel import batches


@given(st.integers(0, 40), st.integers(1, 12))
def test_batches_are_full_but_the_last(count: int, size: int) -> None:
    found = list(batches(range(count), size))
    assert [item for batch in found for item in batch] == list(range(count))
    assert [len(batch) for batch in found] == [min(size, count - start) for start in range(0, count, size)]


def test_a_batch_is_read_when_it_is_needed() -> None:
    read = []

    def items() -> Iterator[int]:
        for item in range(9):
            read.append(item)
            yield item

    found = batches(items(), 3)
    assert read == []
    assert next(found) == [0, 1, 2]
    assert read == [0, 1, 2]
