import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rerank.cores import blas_alone, one_core, spread


def _blas_threads() -> set[int]:
    """How many threads numpy's BLAS has, and scipy's."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in found if any(n in library["filepath"] for n in ("numpy", "scipy"))}


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_every_row_is_done_once(n: int) -> None:
    done = np.zeros(n, int)

    def work(first: int, last: int) -> None:
        done[first:last] += 1

    spread(work, n)
    assert np.all(done == 1)


def test_one_core_keeps_the_work_in_its_thread() -> None:
    threads: set[int] = set()
    with one_core():
        spread(lambda _first, _last: threads.add(threading.get_ident()), 10_000)
    assert threads == {threading.get_ident()}


def test_a_failure_is_not_lost() -> None:
    def fail(first: int, _last: int) -> None:
        if first:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        spread(fail, 10_000)


def test_blas_is_alone_whoever_comes_first_and_leaves_last() -> None:
    # threadpoolctl listens to one thread only: the one that spoke first.
    before = _blas_threads()
    with blas_alone():
        assert _blas_threads() == {1}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        held = ExitStack(), ExitStack()
        for stack, thread in zip(held, (one, other), strict=True):
            thread.submit(stack.enter_context, blas_alone()).result()
            assert _blas_threads() == {1}
        one.submit(held[0].close).result()
        assert _blas_threads() == {1}
        other.submit(held[1].close).result()
    assert _blas_threads() == before
    with threadpool_limits(limits=1, user_api="blas"):  # nobody holds on to the right to say so
        assert _blas_threads() == {1}
    assert _blas_threads() == before


def test_blas_is_given_back_by_the_last_that_wanted_it() -> None:
    before = _blas_threads()
    with blas_alone():
        assert _blas_threads() == {1}
        with ThreadPoolExecutor(2) as threads, blas_alone():
            assert set().union(*threads.map(lambda _: _blas_threads(), range(4))) == {1}
        assert _blas_threads() == {1}
    assert _blas_threads() == before
