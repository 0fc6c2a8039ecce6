"""The deadline of this thread's work: a function that the caller sets and all loops check; `rerank` reads no clock."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import RLock

from moverank.rerank.errors import OutOfTime

_POLL = 0.1  # seconds between two checks of a thread that waits

NO_ANSWER = "the time was used up before there was an answer: allow more time, or ask for less"

_stop: ContextVar[Callable[[], bool] | None] = ContextVar("moverank_stop", default=None)


@contextmanager
def stopping(stop: Callable[[], bool]) -> Iterator[None]:
    """End the work of this thread, and of the pool threads that work for it, once `stop()` returns True.

    `stop` is called often and in any thread. Inside another such block, the work ends when either function returns
    True. Work in the block raises OutOfTime where it has nothing to return.
    """
    outer = _stop.get()
    token = _stop.set(stop if outer is None else lambda: stop() or outer())
    try:
        yield
    finally:
        _stop.reset(token)


def time_is_over() -> bool:
    """Return whether the work of this thread has to end."""
    stop = _stop.get()
    return stop is not None and stop()


def check_time() -> None:
    """Raise OutOfTime if the work of this thread has to end; loops call it between portions of well under a second."""
    if time_is_over():
        raise OutOfTime(NO_ANSWER)


class PatientLock:
    """A reentrant lock, as a context: a thread that waits for it raises OutOfTime when its time is used up."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=_POLL):
            check_time()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def held(self) -> AbstractContextManager[object]:
        """Return a context that holds the lock, and waits for it however long that takes: for the end of some work."""
        return self._lock
