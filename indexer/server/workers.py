"""The threads that answer requests: so many at a time, so many waiting, and none for a client that has left."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Event, Lock
from time import monotonic
from typing import Any, TypeVar

from fastapi import Request

from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import Problem
from moverank.rerank.runtime.threads import single_threaded

_Answer = TypeVar("_Answer")


class Task:
    """The work on one request: it is over once its client has left, or `seconds` have passed."""

    def __init__(self, seconds: float) -> None:
        self._deadline, self._left = monotonic() + seconds, Event()

    def over(self) -> bool:
        """Return whether the work has to end: the client has left, or the time is used up."""
        return self._left.is_set() or monotonic() > self._deadline

    def stop(self) -> None:
        """End the work: the client has left."""
        self._left.set()


class Workers:
    """Runs the work of requests on a bounded pool of threads; `running` and `waiting` are the numbers at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads, "moverank-request")
        self._lock = Lock()
        self.running = self._entered = 0

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a thread."""
        return max(0, self._entered - self.running)

    async def run(self, request: Request, work: Callable[[Task], _Answer]) -> _Answer:
        """Return `work(task)`, computed by a thread; the time of the task is the limit.

        Raises a Problem: 429 if too many requests wait already, 504 if none of the time is left when a thread is free,
        and 499 if the client has left, whose work is stopped.
        """
        task = Task(self._limits.seconds)
        with self._lock:
            if self._entered >= self._limits.threads + self._limits.queue:
                raise Problem(429, "too many requests wait: try again later", {"Retry-After": "1"})
            self._entered += 1
        try:
            future = asyncio.get_running_loop().run_in_executor(self._pool, self._work, task, work)
        except BaseException:
            self._leave()
            raise
        future.add_done_callback(self._done)
        gone = asyncio.ensure_future(_left(request))
        either: set[asyncio.Future[Any]] = {future, gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not future.done():
            task.stop()
            raise Problem(499, "the client has left")
        return future.result()

    def _done(self, future: "asyncio.Future[_Answer]") -> None:
        """Forget a request; its error is not reported again if its client has left."""
        if not future.cancelled():
            future.exception()
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._entered -= 1

    def _work(self, task: Task, work: Callable[[Task], _Answer]) -> _Answer:
        if task.over():
            raise Problem(504, "the time of the request was over before it began: try again later")
        with self._lock:
            self.running += 1
            alone = self._entered == 1
        try:
            # A lone request uses all cores; several use one each.
            with nullcontext() if alone else single_threaded():
                return work(task)
        finally:
            with self._lock:
                self.running -= 1

    def close(self) -> None:
        """Wait for the running work, and end the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


async def _left(request: Request) -> None:
    """Return once the client has left; its body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
