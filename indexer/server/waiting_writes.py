"""The changes of a served collection that run or wait: there is a limit of them."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from moverank.indexer.documents import Changes
from moverank.indexer.server.problems import Problem


class WaitingWrites:
    """Counts the changes that run or wait, at most `limit`; `count` is their number."""

    def __init__(self, limit: int) -> None:
        self.count, self._limit, self._lock = 0, limit, Lock()

    def add(self, submit: "Callable[[], Future[Changes]]") -> "Future[Changes]":
        """Return the change that `submit` puts in the queue, counted until it is done; Problem 503 if too many wait."""
        with self._lock:
            if self.count >= self._limit:
                raise Problem(503, "too many changes wait: try again later", {"Retry-After": "2"})
            self.count += 1
        try:
            change = submit()
        except BaseException:
            self._remove()
            raise
        change.add_done_callback(self._remove)
        return change

    def _remove(self, _: "Future[Changes] | None" = None) -> None:
        with self._lock:
            self.count -= 1
