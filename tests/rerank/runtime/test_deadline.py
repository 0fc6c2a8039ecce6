import threading
from contextlib import nullcontext

import pytest

from moverank.rerank.errors import OutOfTime, RerankError
from moverank.rerank.runtime import thread_pool
from moverank.rerank.runtime.deadline import PatientLock, check_time, stopping, time_is_over
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded
from tests.rerank.stops import StopAfter


@pytest.fixture(autouse=True)
def _three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the pool's threads whatever this machine has."""
    monkeypatch.setattr(thread_pool, "core_count", lambda: 3)


def test_without_a_stop_nothing_ends() -> None:
    check_time()
    assert not time_is_over()
    assert issubclass(OutOfTime, RerankError)


def test_the_work_ends_once_stop_returns_true_and_only_inside_the_block() -> None:
    stopped = [False]
    with stopping(lambda: stopped[0]):
        check_time()
        stopped[0] = True
        assert time_is_over()
        with pytest.raises(OutOfTime):
            check_time()
    check_time()


def test_an_inner_block_keeps_the_outer_one() -> None:
    for outer, inner in ((True, False), (False, True), (True, True), (False, False)):
        with stopping(lambda outer=outer: outer):  # type: ignore[misc]
            with stopping(lambda inner=inner: inner):  # type: ignore[misc]
                assert time_is_over() == (outer or inner)
            assert time_is_over() == outer


@pytest.mark.parametrize("n", [1, 5, 63, 64, 1000])
@pytest.mark.parametrize("alone", [False, True])
def test_a_parallel_loop_ends_after_the_ranges_that_have_begun(n: int, alone: bool) -> None:
    ranges: list[tuple[int, int]] = []
    with stopping(StopAfter(2)), single_threaded() if alone else nullcontext(), pytest.raises(OutOfTime):
        parallel_for(lambda *each: ranges.append(each), 3 * n, most=1)
    assert len(ranges) == 2


@pytest.mark.parametrize("most", [1, 3, 64, 10_000])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_ranges_are_disjoint_cover_all_and_are_no_longer_than_the_limit(n: int, most: int) -> None:
    ranges: list[tuple[int, int]] = []
    parallel_for(lambda *each: ranges.append(each), n, most=most)
    assert sorted(number for each in ranges for number in range(*each)) == list(range(n))
    assert all(last - first <= most for first, last in ranges)


def test_pool_threads_see_the_stop_of_the_caller_and_no_other() -> None:
    seen: dict[str, set[bool]] = {"with": set(), "without": set()}
    barrier = threading.Barrier(2)

    def run(name: str) -> None:
        barrier.wait()
        for _ in range(20):
            if name == "with":
                with stopping(lambda: False):
                    parallel_for(lambda *_: seen[name].add(_has_stop()), 200)
            else:
                parallel_for(lambda *_: seen[name].add(_has_stop()), 200)

    callers = [threading.Thread(target=run, args=(name,)) for name in seen]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert seen == {"with": {True}, "without": {False}}


def _has_stop() -> bool:
    from moverank.rerank.runtime import deadline

    return deadline._stop.get() is not None  # noqa: SLF001 - a stop that is not reached cannot be seen from outside


def test_items_computed_ahead_end_with_the_caller() -> None:
    stopped = threading.Event()
    done: list[int] = []

    def work(item: int) -> int:
        check_time()
        done.append(item)
        return item

    def take() -> None:
        for item, _ in map_ahead(work, range(10_000)):
            if item == 5:
                stopped.set()

    with stopping(stopped.is_set), pytest.raises(OutOfTime):
        take()
    assert len(done) < 1000


def test_a_loop_that_is_short_is_not_interrupted() -> None:
    done: list[int] = []
    with stopping(lambda: True):
        parallel_for(lambda first, last: done.extend(range(first, last)), 1000, most=1000)
        with pytest.raises(OutOfTime):
            parallel_for(lambda first, last: done.extend(range(first, last)), 1001, most=1000)
    assert sorted(done) == list(range(1000))


def test_nothing_runs_any_more_when_a_loop_has_ended() -> None:
    running = threading.Semaphore(0)
    stopped = threading.Event()

    def work(*_: int) -> None:
        if threading.current_thread() is threading.main_thread():
            stopped.set()
        else:
            stopped.wait(5)
            running.release()

    for _ in range(20):
        stopped.clear()
        with stopping(stopped.is_set), pytest.raises(OutOfTime):
            parallel_for(work, 1000)
        while running.acquire(blocking=False):
            pass
        assert not running.acquire(timeout=0.01)


def test_a_thread_that_waits_for_a_lock_ends_with_its_time() -> None:
    lock, stopped, ended = PatientLock(), threading.Event(), threading.Event()

    def wait() -> None:
        with stopping(stopped.is_set), pytest.raises(OutOfTime), lock:
            pass
        ended.set()

    with lock, lock:  # reentrant
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not ended.wait(0.3)
        stopped.set()
        assert ended.wait(60)
    waiting.join()
    with lock:
        pass
