"""Threads for requests: light ones pass long ones, the heaviest is refused, and nothing stays of clients that left."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")

from fastapi import Request

from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.workers import Task, Workers

HANG = 30


class Client:
    """A client that has sent a body of so many bytes, and may leave."""

    def __init__(self, weight: int) -> None:
        self.left = asyncio.Event()
        headers = [(b"content-length", str(1024 * weight).encode())]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
        self.request = Request(scope, self._receive)

    async def _receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


class Gate:
    """Work that goes on until it is opened, or has to end."""

    def __init__(self) -> None:
        self.began, self.open, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, task: Task) -> str:
        self.began.set()
        while not self.open.wait(0.005) and not task.over():
            pass
        self.ended.set()
        return "done"

    async def begun(self) -> None:
        """Wait until the work has begun."""
        assert await asyncio.to_thread(self.began.wait, HANG)


def run(test: Callable[[Workers], Awaitable[None]], **limits: Any) -> None:
    async def main() -> None:
        workers = Workers(Limits(**({"threads": 1, "queue": 2, "short": 0.05, "long": 1} | limits)))
        try:
            async with asyncio.timeout(HANG):
                await test(workers)
            assert (workers.running, workers.waiting) == (0, 0)
        finally:
            workers.close()

    asyncio.run(main())


def test_a_light_request_does_not_wait_for_a_long_one() -> None:
    async def test(workers: Workers) -> None:
        gate = Gate()
        long = asyncio.create_task(workers.run(Client(9).request, gate))
        await gate.begun()
        assert await workers.run(Client(5).request, lambda _: "light") == "light"
        assert workers.running == 1
        gate.open.set()
        assert await long == "done"

    run(test)


def _append(order: list[int], number: int, _: Task) -> None:
    order.append(number)


def test_the_lightest_request_that_waits_is_next() -> None:
    async def test(workers: Workers) -> None:
        gate, order = Gate(), list[int]()
        first = asyncio.create_task(workers.run(Client(1).request, gate))
        await gate.begun()
        waiting = [
            asyncio.create_task(workers.run(Client(n).request, partial(_append, order, n))) for n in (9, 3, 5, 2)
        ]
        await asyncio.sleep(0)
        while workers.waiting < 4:
            await asyncio.sleep(0.001)
        gate.open.set()
        await asyncio.gather(first, *waiting)
        assert order == [3, 2, 5, 9]  # usual requests take turns

    run(test, queue=4, short=HANG)


def test_one_more_long_request_is_ended_and_refused() -> None:
    async def test(workers: Workers) -> None:
        gate, more = Gate(), Gate()
        long = asyncio.create_task(workers.run(Client(9).request, gate))
        await gate.begun()
        with pytest.raises(HttpProblem, match="too many long requests run") as refused:
            await workers.run(Client(9).request, more)
        assert refused.value.status_code == 429
        assert more.ended.is_set()
        assert not gate.ended.is_set()
        gate.open.set()
        assert await long == "done"

    run(test)


def test_a_full_queue_refuses_the_heaviest() -> None:
    async def test(workers: Workers) -> None:
        gate = Gate()
        first = asyncio.create_task(workers.run(Client(1).request, gate))
        await gate.begun()
        heavy, middle = (asyncio.create_task(workers.run(Client(n).request, lambda _: "late")) for n in (100, 50))
        while workers.waiting < 2:
            await asyncio.sleep(0.001)
        light = asyncio.create_task(workers.run(Client(5).request, lambda _: "light"))
        with pytest.raises(HttpProblem, match="too many requests wait"):
            await heavy
        with pytest.raises(HttpProblem, match="too many requests wait"):
            await workers.run(Client(50).request, lambda _: "never")
        gate.open.set()
        assert [await one for one in (first, middle, light)] == ["done", "late", "light"]

    run(test, short=HANG)


def test_clients_that_leave_free_their_places() -> None:
    async def test(workers: Workers) -> None:
        gate, never = Gate(), Gate()
        clients = Client(1), Client(2)
        running = asyncio.create_task(workers.run(clients[0].request, gate))
        await gate.begun()
        waiting = asyncio.create_task(workers.run(clients[1].request, never))
        while not workers.waiting:
            await asyncio.sleep(0.001)
        for client in clients[::-1]:
            client.left.set()
        for one in (waiting, running):
            with pytest.raises(HttpProblem, match="the client has left") as left:
                await one
            assert left.value.status_code == 499
        assert await asyncio.to_thread(gate.ended.wait, HANG)
        while workers.running:
            await asyncio.sleep(0.001)
        assert not never.began.is_set()

    run(test, short=HANG)


def test_the_time_of_a_request_passes_while_it_waits() -> None:
    async def test(workers: Workers) -> None:
        async def waited() -> None:
            with pytest.raises(HttpProblem, match="before it began") as late:
                await workers.run(Client(2).request, lambda _: "never")
            assert late.value.status_code == 504

        gate = Gate()
        running = asyncio.create_task(workers.run(Client(1).request, lambda _: gate(Task(HANG))))
        await gate.begun()
        await waited()
        gate.open.set()
        assert await running == "done"

    run(test, short=HANG, seconds=0.2)


def test_a_request_whose_thread_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a database did not answer: the work does not see that its time is over."""
    monkeypatch.setattr("moverank.indexer.plugins.serving.workers._SPARE", 0.1)

    async def test(workers: Workers) -> None:
        gate = Gate()
        with pytest.raises(HttpProblem, match="the work on the request hangs: it was given up") as given_up:
            await workers.run(Client(1).request, lambda _: gate(Task(HANG)))
        assert given_up.value.status_code == 504
        assert workers.running == 1
        assert await workers.run(Client(1).request, lambda _: "other") == "other"
        gate.open.set()
        while workers.running:
            await asyncio.sleep(0.001)

    run(test, threads=2, short=HANG, seconds=0.1)


def test_a_cancelled_request_frees_its_place() -> None:
    async def test(workers: Workers) -> None:
        gate = Gate()
        running = asyncio.create_task(workers.run(Client(1).request, gate))
        await gate.begun()
        waiting = asyncio.create_task(workers.run(Client(1).request, lambda _: "never"))
        while not workers.waiting:
            await asyncio.sleep(0.001)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.open.set()
        assert await running == "done"
        assert await workers.run(Client(1).request, lambda _: "next") == "next"

    run(test, short=HANG)
