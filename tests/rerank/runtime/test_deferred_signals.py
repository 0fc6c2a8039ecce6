"""Signals that wait until processes have been started."""

import signal
from threading import Thread

import pytest

from moverank.rerank.runtime.deferred_signals import deferred_signals


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
