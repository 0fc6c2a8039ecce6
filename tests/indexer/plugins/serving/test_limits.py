"""A server that has reached its limits says so, and goes on."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.indexer.plugins.serving.running import Reply, RunningServer
from tests.waiting import wait_until

PROGRAM = """
import signal, sys
from pathlib import Path
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
limits = Limits(threads=1, queue=1, seconds=float(sys.argv[2]), texts=5000, writes=1)
run_server({"pets": Path(sys.argv[1])}, ServeOptions(port=0), limits, lambda url: print("serving at", url))
"""

LONG = {"query": "dog cat bird wine train", "texts": [f"{i} cat wine bus plane apple river " * 20 for i in range(1500)]}
"""Takes about a second."""


def _started(pets: Path, folder: Path, seconds: float) -> RunningServer:
    return RunningServer(pets, str(seconds), log=folder / "log", program=PROGRAM)


@pytest.fixture
def narrow(pets: Path, tmp_path: Path) -> Iterator[RunningServer]:
    """A server with one thread and one place to wait."""
    running = _started(pets, tmp_path, 300)
    running.ask("/rerank", {"query": "dog", "texts": ["cat"]})
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def test_a_full_queue_answers_429_and_goes_on(narrow: RunningServer) -> None:
    replies: list[Reply] = []
    threads = [threading.Thread(target=lambda: replies.append(narrow.ask("/rerank", LONG))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(reply.status for reply in replies)
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= 2
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.headers["Retry-After"] == "1"
    assert narrow.ask("/rerank", {"query": "dog", "texts": ["cat"]}).status == 200


def test_a_client_that_leaves_frees_its_place(narrow: RunningServer) -> None:
    body = json.dumps(LONG).encode()
    host, port = narrow.url.removeprefix("http://").split(":")
    head = "POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    for _ in range(2):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + body)
            time.sleep(0.1)

    def is_idle() -> bool:
        text = narrow.ask("/metrics").body.decode()
        return "moverank_requests_running 0.0" in text and "moverank_requests_waiting 0.0" in text

    wait_until(is_idle)
    assert narrow.ask("/rerank", {"query": "dog", "texts": ["cat"]}).status == 200
    assert 'status="499"' in narrow.ask("/metrics").body.decode()


def test_a_request_ends_with_its_time(pets: Path, tmp_path: Path) -> None:
    running = _started(pets, tmp_path, 1)
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        connection.settimeout(20)
        assert b" 408 " in connection.recv(65536)
    assert running.stop() == 0


TIMED: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "dog wine", "rank": "wmd", "k": 1}),
    ("search", {"queries": ["dog wine", "train"], "rank": "wmd", "k": 1}),
    ("search", {"query": "dog wine", "rank": "wmd", "group_by": "year"}),
    ("search", {"query": "dog wine", "rank": "bm25"}),
    ("similar", {"key": "t1", "k": 1, "rank": "wmd"}),
    ("similar", {"key": "t1", "rank": "bm25", "group_by": "label"}),
    ("explain", {"query": "dog wine", "key": "t1"}),
    ("why-not", {"query": "dog wine", "key": "t1", "k": 1, "rank": "wmd"}),
    ("rerank", {"query": "dog wine", "keys": ["t1", "t2"], "rank": "wmd"}),
]
"""Requests that take a budget."""


@pytest.mark.parametrize(("path", "body"), TIMED)
def test_a_budget_is_the_time_of_the_whole_request(server: RunningServer, path: str, body: dict[str, Any]) -> None:
    reply = server.ask(f"/collections/pets/{path}", body | {"budget": 1e-9})
    assert (reply.status, reply.json["title"]) == (504, "timeout")
    reply = server.ask(f"/collections/pets/{path}", body | {"budget": 20})
    assert reply.status == 200
