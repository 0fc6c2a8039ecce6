import threading
from collections.abc import Iterator

import pytest

from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import is_single_threaded


def test_results_are_in_order_and_each_is_computed_on_one_core() -> None:
    found = list(map_ahead(lambda item: (item * item, is_single_threaded()), range(50)))
    assert found == [(item, (item * item, True)) for item in range(50)]


def test_items_run_one_by_one_until_the_shared_state_is_initialised() -> None:
    started: list[int] = []

    def work(item: int) -> int:
        started.append(item)
        return item

    results = map_ahead(work, range(9), initialises=lambda item: item == 2)
    for item in range(3):
        assert next(results) == (item, item)
        assert started == list(range(item + 1))
    assert [item for item, _ in results] == list(range(3, 9))


def test_only_a_few_items_are_taken_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = map_ahead(abs, items())
    assert [next(results)[0] for _ in range(3)] == [0, 1, 2]
    assert len(taken) < 100
    results.close()


def test_a_failure_is_raised_and_cancels_items_that_have_not_started() -> None:
    blocked, done = threading.Event(), list[int]()

    def work(item: int) -> None:
        if item == 1:
            raise ValueError("one")
        if item > 1:
            blocked.wait(5)
        done.append(item)

    with pytest.raises(ValueError, match="one"):
        list(map_ahead(work, range(100)))
    blocked.set()
    assert len(done) < 100


def test_work_in_the_pool_runs_its_own_items_there() -> None:
    """Waiting for pool tasks inside the pool would deadlock."""

    def work(item: int) -> tuple[list[tuple[int, int]], bool]:
        own = threading.get_ident()
        found = list(map_ahead(lambda inner: (item * inner, threading.get_ident()), range(3)))
        return [(inner, product) for inner, (product, _) in found], all(thread == own for _, (_, thread) in found)

    for item, (found, alone) in map_ahead(work, range(20)):
        assert found == [(inner, item * inner) for inner in range(3)]
        assert alone
