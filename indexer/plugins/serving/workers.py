"""A bounded pool of request threads: limits on running and waiting requests; requests of clients that left are dropped.

Light requests run first, long requests beside them.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Event
from time import monotonic
from typing import Any, TypeVar

from fastapi import Request

from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.runtime.thread_pool import single_threaded

_ENDING = "the server is ending: send the request again when it is back"
_LATE = "the time of the request was over before it began: try again later"
_HANGS = "the work on the request hangs: it was given up"
_LIGHT = 4096  # bytes of a request
_SPARE = 5.0  # seconds after the time limit for work to end by itself

_Answer = TypeVar("_Answer")


class Task:
    """The work on one request: it has to end once its client has left, or `seconds` have passed."""

    def __init__(self, seconds: float) -> None:
        self._deadline, self._left = monotonic() + seconds, Event()

    def over(self) -> bool:
        """Return whether the work has to end: the client has left, or the time is used up."""
        return self._left.is_set() or monotonic() > self._deadline

    def remaining(self) -> float:
        """Return the seconds that are left, 0 if none are."""
        return max(0.0, self._deadline - monotonic())

    def stop(self) -> None:
        """End the work: the client has left."""
        self._left.set()


@dataclass(slots=True, order=True)
class _Place:
    """A request in the queue, in order of `weight`; `turn` is done once it has a thread, or is refused."""

    weight: int
    number: int
    turn: "asyncio.Future[None]" = field(compare=False)


@dataclass(slots=True)
class _Running:
    """A request that a thread works on; `is_long` after a while, `is_refused` if too many are long already."""

    task: Task
    is_long: bool = False
    is_refused: bool = False


class Workers:
    """Runs the work of requests on a bounded pool of threads, from one event loop.

    `threads` requests run at a time, and the lightest waiting request is next: its weight grows with its size. A
    request that has run for `short` seconds is long: `long` of them continue beside the others, so that light requests
    need not wait for them, and a further one is refused. So one client with heavy requests cannot block the others.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads + limits.long, "moverank-request")
        self._queue: list[_Place] = []
        self._tasks = set[Task]()
        self._ending = False
        self._numbers = count()
        self._short = self._long = 0  # requests that run

    @property
    def running(self) -> int:
        """Return how many requests run."""
        return self._short + self._long

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a thread."""
        return len(self._queue)

    async def run(self, request: Request, work: Callable[[Task], _Answer], budget: float | None = None) -> _Answer:
        """Return `work(task)`, computed by a thread; the time of the task is the limit or the `budget`, from now on.

        Raises HttpProblem: 429 if too many requests wait or run already, 504 if no time is left when a thread is free,
        or if the thread hangs, as when a database does not answer, and 499 if the client has left; its work is stopped.
        """
        task = Task(min(self._limits.seconds, budget or self._limits.seconds))
        end = monotonic() + self._limits.seconds + _SPARE
        if self._ending:
            raise HttpProblem(503, _ENDING)
        self._tasks.add(task)
        left = asyncio.ensure_future(_left(request))
        try:
            await self._turn(_weight(request), task, left)
            running = _Running(task)
            future = self._started(running, work)
            either: set[asyncio.Future[Any]] = {future, left}
            await asyncio.wait(either, timeout=end - monotonic(), return_when=asyncio.FIRST_COMPLETED)
            has_left = left.done()
        except asyncio.CancelledError:
            task.stop()
            raise
        finally:
            left.cancel()
            self._tasks.discard(task)
        if not future.done():
            task.stop()
            raise HttpProblem(499, "the client has left") if has_left else HttpProblem(504, _HANGS)
        if running.is_refused:
            raise HttpProblem(429, "too many long requests run: try again later, or ask for less", {"Retry-After": "1"})
        return future.result()

    async def _turn(self, weight: int, task: Task, left: "asyncio.Future[None]") -> None:
        """Return once a thread is free for a request, or raise HttpProblem."""
        if self._short < self._limits.threads:
            self._short += 1
            return
        if len(self._queue) >= self._limits.queue:
            self._refuse_heaviest(weight)
        place = _Place(weight, next(self._numbers), asyncio.get_running_loop().create_future())
        heappush(self._queue, place)
        either: set[asyncio.Future[Any]] = {place.turn, left}
        try:
            await asyncio.wait(either, timeout=task.remaining(), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if place.turn.done() and not place.turn.exception():
                self._next()
            raise
        finally:
            if not place.turn.done():
                self._remove(place)
        if not place.turn.done() and left.done():
            raise HttpProblem(499, "the client has left")
        if not place.turn.done():
            raise HttpProblem(504, _LATE)
        place.turn.result()

    def _refuse_heaviest(self, weight: int) -> None:
        """Make room in the full queue for a request of a weight, or raise HttpProblem 429."""
        busy = HttpProblem(429, "too many requests wait: try again later", {"Retry-After": "1"})
        heaviest = max(self._queue, default=None)
        if heaviest is None or heaviest.weight <= weight:
            raise busy
        self._remove(heaviest)
        heaviest.turn.set_exception(busy)

    def _remove(self, place: _Place) -> None:
        self._queue.remove(place)
        heapify(self._queue)

    def _started(self, running: _Running, work: Callable[[Task], _Answer]) -> "asyncio.Future[_Answer]":
        """Return the work of a request, which runs in a thread."""
        alone = self.running == 1 and not self._queue
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._pool, _work, running.task, work, alone)
        timer = loop.call_later(self._limits.short, self._becomes_long, running)

        def done(_: "asyncio.Future[_Answer]") -> None:
            timer.cancel()
            if not future.cancelled():
                future.exception()  # retrieved, so that asyncio does not log it after the client has left
            if running.is_long:
                self._long -= 1
            else:
                self._next()

        future.add_done_callback(done)
        return future

    def _becomes_long(self, running: _Running) -> None:
        """Let a request continue beside the others, or end it if too many are long already."""
        if self._long >= self._limits.long:
            running.is_refused = True
            running.task.stop()
            return
        running.is_long = True
        self._long += 1
        self._next()

    def _next(self) -> None:
        """Give the thread of a request to the lightest one that waits."""
        if self._queue:
            heappop(self._queue).turn.set_result(None)
        else:
            self._short -= 1

    def stop(self) -> None:
        """Stop the work on all running and waiting requests; may be called in any thread."""
        self._ending = True
        for task in tuple(self._tasks):
            task.stop()

    def close(self) -> None:
        """Wait for the running work, and end the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _work(task: Task, work: Callable[[Task], _Answer], alone: bool) -> _Answer:
    if task.over():
        raise HttpProblem(504, _LATE)
    # A lone request uses all cores; several use one each.
    with stopping(task.over), nullcontext() if alone else single_threaded():
        return work(task)


def _weight(request: Request) -> int:
    """Return the number of doublings of a request's size in bytes beyond `_LIGHT`: a longer query takes longer.

    Usual requests are equally light and take turns: the longest of them would else wait for ever on a busy server.
    """
    length = request.headers.get("content-length", "")
    size = len(request.url.query) + (int(length) if length.isdecimal() else 0)
    return (size // _LIGHT).bit_length()


async def _left(request: Request) -> None:
    """Return once the client has left, or sends more of a body that is refused and that no code reads."""
    with suppress(HttpProblem):
        while (await request.receive())["type"] != "http.disconnect":
            pass
