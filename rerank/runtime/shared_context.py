"""Process-wide contexts that several threads can use at the same time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock


class SharedContext:
    """The context that `make` returns, entered with the first concurrent user and exited with the last."""

    def __init__(self, make: Callable[[], AbstractContextManager[object]]) -> None:
        self._make, self._lock, self._users = make, Lock(), 0
        self._context = make()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._context = self._make()
                self._context.__enter__()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._context.__exit__(None, None, None)
