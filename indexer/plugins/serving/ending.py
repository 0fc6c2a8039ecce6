"""The end of the server: after a signal, running requests have some seconds, then the process ends."""

import logging
import os
import signal
from collections.abc import Callable
from contextvars import Context
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread, current_thread, main_thread
from time import sleep
from types import FrameType
from typing import Any

GRACE = 15
"""Seconds after a signal in which running requests and changes may finish."""

LAST = 5
"""Seconds after `GRACE` in which running work is stopped, and the server ends."""

_log = logging.getLogger("moverank")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """Ends this process within `GRACE` + `LAST` seconds of SIGINT or SIGTERM; `stop` stops running and waiting work.

    A process that is killed in the end leaves the last committed state: changes are atomic. A second signal ends the
    process at once.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop, self._begun = stop, False

    def handle_signals(self) -> None:
        """Extend the present handlers of the signals; outside of the main thread, do nothing."""
        if current_thread() is main_thread():
            for number in _SIGNALS:
                before = signal.getsignal(number)
                signal.signal(number, lambda own, frame, before=before: self._signalled(before, own, frame))  # type: ignore[misc]

    def _signalled(self, before: Any, number: int, frame: FrameType | None) -> None:
        # A second signal ends only the first process: a terminal, systemd and the first process signal all others.
        if self._begun and parent_process() is None:
            _end_now(number)
        if not self._begun:
            self._begun = True
            if parent_process() is None:
                Context().run(_report)  # without the number of the request whose work the signal interrupts
            Thread(target=self._end, name="moverank-ending", daemon=True).start()
            if callable(before):
                before(number, frame)

    def _end(self) -> None:
        sleep(GRACE)
        self._stop()
        sleep(LAST)
        _log.warning("what still runs is given up: changes that were not committed were not made")
        os._exit(1)


def _report() -> None:
    """Log that the server ends, and when."""
    _log.warning(
        "ending: requests that run have %d s, and the server ends within %d s; a second signal ends it at once",
        GRACE,
        GRACE + LAST,
    )


def _end_now(number: int) -> None:
    """End this process by a signal; the processes that it started end with it."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)


def end_with_parent() -> None:
    """End this process when its parent process has ended; without a parent, do nothing."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, name="moverank-watch", daemon=True).start()
