"""Bodies of requests: which are too long, too many at a time, or left unfinished; and gzip of many small members."""

import asyncio
import gzip
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import repeat
from pathlib import Path

import pytest
from starlette.types import Message

from moverank.indexer.plugins.serving.bodies import Bodies
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import Reply, RunningServer
from tests.waiting import HUNG, wait_until

PROGRAM = """
import signal, sys
from pathlib import Path
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
limits = Limits(
    body=2**20, bodies=2**20, upload=2**21, uploaded=3 * 2**20, uploads=2, seconds=600, idle=600
)
run_server({"pets": Path(sys.argv[1])}, ServeOptions(port=0), limits, lambda url: print("serving at", url))
"""

UPLOAD = "/collections/pets/documents"
LONG = [json.dumps({"query": "dog", "texts": ["dog " * 180_000]}).encode()]


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the server's temporary files."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory, temporary: Path) -> Iterator[RunningServer]:
    """A server of small limits: a MiB of a body, two of an upload, three of all uploads."""
    folder = tmp_path_factory.mktemp("bounded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        running = RunningServer(make_collection(folder), log=folder / "log", program=PROGRAM)
    yield running
    assert running.stop() == 0
    lines = [line for line in running.log.read_text().splitlines() if not re.search(r"Z [0-9a-f]{16} ", line)]
    assert len(lines) == 2, lines  # its address, and that it ends
    assert not list(temporary.glob("*.jsonl"))


def _begun(server: RunningServer, path: str, size: int, method: str = "POST") -> socket.socket:
    """Return a connection by which a body has begun."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=HUNG)
    connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    connection.sendall(b"%x\r\n" % size + b" " * size + b"\r\n")
    return connection


def _until(status: int, ask: Callable[[], Reply]) -> Reply:
    """Ask until the status of the answer is the right one, and return the answer."""
    replies = list[Reply]()

    def is_right() -> bool:
        replies.append(ask())
        return replies[-1].status == status

    wait_until(is_right, lambda: replies[-1].json)
    return replies[-1]


@pytest.mark.parametrize(
    ("method", "path", "most"),
    [
        ("POST", UPLOAD, 2**21),
        ("POST", "/collections/pets/view/documents", 2**20),
        ("POST", "/collections/pets/view/collections/pets/documents", 2**20),
        ("PUT", f"{UPLOAD}/documents", 2**20),
        ("PUT", f"{UPLOAD}/t1", 2**20),
        ("POST", "/collections/pets/search", 2**20),
    ],
)
def test_a_body_that_is_too_long_is_refused(bounded: RunningServer, method: str, path: str, most: int) -> None:
    for reply in (
        bounded.ask(path, method=method, headers={"Content-Length": str(most + 1)}),
        bounded.send(path, repeat(b" " * 2**16, most // 2**16 + 1), method),
        bounded.send(path, [gzip.compress(os.urandom(most + 1))], method),
    ):
        assert (reply.status, reply.json["detail"]) == (413, f"at most {most:,} bytes are allowed in a body here")
    assert bounded.ask("/collections/pets").json["revision"] == 1


def test_an_upload_of_gzip_that_no_text_is_is_refused(bounded: RunningServer) -> None:
    reply = bounded.send(UPLOAD, [gzip.compress(b" " * 2**21)])
    assert (reply.status, "unzipped it is over 100 times as long" in reply.json["detail"]) == (413, True)


def test_an_upload_may_be_longer_than_other_bodies(bounded: RunningServer) -> None:
    assert bounded.send(UPLOAD, [b" " * (2**21 - 40), b'\n{"id": "no text"}']).status == 422


def test_few_uploads_arrive_at_a_time(bounded: RunningServer) -> None:
    def ask() -> Reply:
        return bounded.ask(UPLOAD, b'{"id": "no text"}')

    with closing(_begun(bounded, UPLOAD, 9)), closing(_begun(bounded, UPLOAD, 9)):
        time.sleep(1)  # the one that arrives later is refused
        reply = _until(503, ask)
        assert reply.json["detail"] == "too many long bodies arrive or wait: try again later"
        assert reply.headers["Retry-After"] == "1"
        assert bounded.ask("/collections/pets/search", {"query": "dog"}).status == 200
    _until(422, ask)


def test_uploads_together_have_a_size(bounded: RunningServer, temporary: Path) -> None:
    def ask() -> Reply:
        return bounded.send(UPLOAD, [b" " * (2**21 - 40), b'\n{"id": "no text"}'])

    def size() -> int:
        return sum(file.stat().st_size for file in temporary.glob("*.jsonl"))

    with closing(_begun(bounded, UPLOAD, 3 * 2**19)):
        wait_until(lambda: size() >= 3 * 2**19)
        assert ask().status == 503
        assert size() <= 3 * 2**20
        assert bounded.ask(UPLOAD, b'{"id": "no text"}').status == 422
    _until(422, ask)


def test_long_bodies_in_memory_have_a_size_and_short_ones_are_answered(bounded: RunningServer) -> None:
    def ask() -> Reply:
        with closing(_begun(bounded, "/rerank", 700_000)):
            time.sleep(0.2)  # the one that arrives later is refused
            reply = bounded.send("/rerank", LONG)
            assert bounded.ask("/rerank", {"query": "dog", "texts": ["cat"]}).status == 200
            return reply

    _until(503, ask)
    _until(200, lambda: bounded.send("/rerank", LONG))


def test_a_client_that_leaves_during_its_body_is_no_error(bounded: RunningServer) -> None:
    for _ in range(10):
        for method, path in (
            ("POST", UPLOAD),
            ("PUT", f"{UPLOAD}/t1"),
            ("POST", "/collections/pets/view/t1"),
            ("GET", "/collections/pets/search?q=dog&exact=true"),
        ):
            _begun(bounded, path, 9, method).close()
    _begun(bounded, "/collections/pets/search?q=dog", 2**20 + 9, "GET").close()

    def left() -> int:
        text = bounded.ask("/metrics").body.decode()
        assert 'status="500"' not in text
        assert 'status="400"' not in text
        return sum(int(float(number)) for number in re.findall(r'requests_total\{.*status="499"\} (\S+)', text))

    wait_until(lambda: left() >= 30)


def test_an_upload_has_to_arrive_as_a_whole_in_time() -> None:
    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" " * 2**16, "more_body": True}

    async def read() -> None:
        with Bodies(Limits(upload_seconds=1)).received({"method": "POST", "path": UPLOAD}, {}, receive) as received:
            while True:
                await received()

    began = time.monotonic()
    with pytest.raises(HttpProblem, match="the body did not arrive in time") as caught:
        asyncio.run(read())
    assert caught.value.status_code == 408
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("text", [b"", b"x", b'{"id": "new", "text": "dog"}\n'])
def test_many_small_members_of_gzip_are_few_messages_and_others_have_turns(text: bytes) -> None:
    count, turns = 5000, 0
    sent = gzip.compress(text) * count

    async def receive() -> Message:
        nonlocal sent
        part, sent = sent[: 2**17], sent[2**17 :]
        return {"type": "http.request", "body": part, "more_body": bool(sent)}

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def read() -> list[bytes]:
        task, found, more = asyncio.create_task(others()), list[bytes](), True
        with Bodies(Limits()).received({"method": "POST", "path": UPLOAD}, {}, receive) as received:
            while more:
                message = await received()
                found.append(message["body"])
                more = message["more_body"]
        task.cancel()
        return found

    pieces = len(sent) // 2**14
    found = asyncio.run(read())
    assert b"".join(found) == text * count
    assert len(found) <= len(text) * count // 2**16 + 2
    assert turns >= pieces


def test_records_of_small_members_are_stored(bounded: RunningServer) -> None:
    lines = b"".join(gzip.compress(json.dumps({"id": f"m{i}", "text": "dog"}).encode() + b"\n") for i in range(300))
    assert bounded.ask(UPLOAD, lines).json["added"] == 300
