"""Contexts that several threads may be within at once, because what they change belongs to the whole process."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock


class SharedContext:
    """The context that `make` returns, entered by the first who comes and left by the last who goes, in any order."""

    def __init__(self, make: Callable[[], AbstractContextManager[object]]) -> None:
        self._make, self._lock, self._within = make, Lock(), 0
        self._context = make()

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._context = self._make()
                self._context.__enter__()
            self._within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._context.__exit__(None, None, None)
