"""A function for `stopping` without a clock: it counts how often it is called."""

from threading import Lock


class StopAfter:
    """Returns True from its call number `polls` + 1 on, in whichever thread; `calls` counts those until then."""

    def __init__(self, polls: int) -> None:
        self._lock, self._polls, self.calls = Lock(), polls, 0

    def __call__(self) -> bool:
        """Return whether the work has to end."""
        with self._lock:
            if self.calls > self._polls:
                return True
            self.calls += 1
            return self.calls > self._polls
