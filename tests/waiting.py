"""Waiting for events of other threads and processes, however slow the machine is."""

import time
from collections.abc import Callable

HUNG = 300.0
"""Seconds after which a test that waits is taken for hung."""
_PAUSE = 0.05


def wait_until(condition: Callable[[], object], shown: Callable[[], object] = lambda: "") -> None:
    """Return once a condition holds; fail with what is `shown` if the test hangs."""
    end = time.monotonic() + HUNG
    while not condition():
        assert time.monotonic() < end, shown()
        time.sleep(_PAUSE)
