import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from moverank.rerank.runtime.thread_pool import (
    _BlasLimit,
    core_count,
    parallel_for,
    single_threaded,
    single_threaded_blas,
)
from tests.waiting import HUNG


def _blas_threads() -> set[int]:
    """Return the thread counts of numpy's BLAS and of scipy's."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in found if any(n in library["filepath"] for n in ("numpy", "scipy"))}


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_every_row_is_processed_once(n: int) -> None:
    done = np.zeros(n, int)

    def work(first: int, last: int) -> None:
        done[first:last] += 1

    parallel_for(work, n)
    assert np.all(done == 1)


def test_a_single_threaded_loop_stays_in_its_thread() -> None:
    threads: set[int] = set()
    with single_threaded():
        parallel_for(lambda _first, _last: threads.add(threading.get_ident()), 10_000)
    assert threads == {threading.get_ident()}


def test_a_failure_is_raised() -> None:
    def fail(first: int, _last: int) -> None:
        if first:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        parallel_for(fail, 10_000)


def test_blas_has_one_thread_whatever_the_order_of_users() -> None:
    # threadpoolctl restores a limit only in the thread that set it.
    before = _blas_threads()
    with single_threaded_blas():
        assert _blas_threads() == {1}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        held = ExitStack(), ExitStack()
        for stack, thread in zip(held, (one, other), strict=True):
            thread.submit(stack.enter_context, single_threaded_blas()).result()
            assert _blas_threads() == {1}
        one.submit(held[0].close).result()
        assert _blas_threads() == {1}
        other.submit(held[1].close).result()
    assert _blas_threads() == before
    with threadpool_limits(limits=1, user_api="blas"):  # the limit can still be set by others
        assert _blas_threads() == {1}
    assert _blas_threads() == before


def test_the_last_user_restores_the_threads_of_blas() -> None:
    before = _blas_threads()
    with single_threaded_blas():
        assert _blas_threads() == {1}
        with ThreadPoolExecutor(2) as threads, single_threaded_blas():
            assert set().union(*threads.map(lambda _: _blas_threads(), range(4))) == {1}
        assert _blas_threads() == {1}
    assert _blas_threads() == before


def test_nested_loops_of_several_callers_do_not_deadlock() -> None:
    # All threads of the pool run outer loops: an inner loop that waited for the pool would deadlock.
    def outer(first: int, last: int) -> None:
        time.sleep(0.01)
        parallel_for(lambda *_: time.sleep(0.001), 100)
        done.extend(range(first, last))

    done: list[int] = []
    with ThreadPoolExecutor(3) as callers:
        futures = [callers.submit(parallel_for, outer, 20, 2) for _ in range(3)]
        for future in futures:
            future.result(timeout=HUNG)
    assert sorted(done) == sorted([*range(20)] * 3)


def test_a_failure_in_the_caller_stops_the_other_threads() -> None:
    done, left = [], threading.Event()

    def work(first: int, _: int) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        left.wait(HUNG)
        done.append(first)

    with pytest.raises(KeyboardInterrupt):
        parallel_for(work, 1000)
    left.set()
    time.sleep(0.1)
    assert len(done) <= core_count()


def test_a_limit_that_could_not_be_set_leaves_blas_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_users", 0), ("_holder", threading.Thread()), ("_released", threading.Event())):
        monkeypatch.setattr(_BlasLimit, name, value)  # an unfinished iterator of another test may hold the limit
    before = _blas_threads()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt), single_threaded_blas():
            pass
    with single_threaded_blas():
        assert _blas_threads() == {1}
    assert _blas_threads() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are not UTF-8")
def test_a_blas_in_a_directory_that_is_not_utf8_keeps_its_threads(tmp_path: Path) -> None:
    """threadpoolctl fails on such a path, which only costs time: nothing is printed."""
    (blas,) = {Path(library["filepath"]) for library in threadpool_info() if "numpy" in library["filepath"]}
    directory = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(blas.parent, directory)
    statements = (
        "import ctypes, sys",
        "ctypes.CDLL(sys.argv[1])",
        "from threadpoolctl import ThreadpoolController",
        "try: ThreadpoolController()",
        "except UnicodeError: print('fails')",
        "from moverank.rerank.runtime.thread_pool import single_threaded_blas",
        "with single_threaded_blas(): pass",
    )
    command = [sys.executable, "-c", "\n".join(statements), str(directory / blas.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("fails\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_process_has_its_own_threads() -> None:
    parallel_for(lambda *_: None, 1000)
    code = """
import os
from moverank.rerank.runtime.thread_pool import single_threaded_blas, parallel_for

parallel_for(lambda *_: None, 1000)
with single_threaded_blas():
    child = os.fork()
    if not child:
        parallel_for(lambda *_: None, 1000)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HUNG, check=True)
    assert done.stdout.split() == ["7"]
