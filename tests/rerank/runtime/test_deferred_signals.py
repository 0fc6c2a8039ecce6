"""Signals that wait until processes have been started."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import pytest

from moverank.rerank.runtime.deferred_signals import deferred_signals


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Let Python handle interruptions: a process that a script starts in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interruption_comes_after_the_block() -> None:
    before, done = signal.getsignal(signal.SIGINT), []

    def block() -> None:
        with deferred_signals():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_do_not_handle_signals() -> None:
    def block() -> None:
        with deferred_signals():
            done.append(True)

    done: list[bool] = []
    thread = Thread(target=block)
    thread.start()
    thread.join()
    assert done == [True]


STARTING = """
import multiprocessing, signal
from moverank.rerank.runtime.deferred_signals import deferred_signals

process = multiprocessing.get_context("spawn").Process(target=signal.raise_signal, args=(signal.SIGINT,))
with deferred_signals():
    process.start()
process.join()
print(process.exitcode, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_a_process_started_in_the_block_is_not_interrupted() -> None:
    ran = subprocess.run([sys.executable, "-c", STARTING], capture_output=True, text=True, check=True)
    assert (ran.stdout.split(), ran.stderr) == (["0", "False"], "")
