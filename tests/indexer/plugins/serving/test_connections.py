"""Clients that connect and send little or nothing, many of them, and a server without free descriptors."""

import json
import os
import re
import resource
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.indexer.plugins.serving.running import Reply, RunningServer
from tests.waiting import HUNG

PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
import moverank.indexer.formatters.terminal  # as the command does
from moverank.indexer.commands.failures import NotesHandler
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server
import logging
logging.getLogger("moverank").addHandler(NotesHandler())
def end(*_):
    raise KeyboardInterrupt
held = []
def exhaust(*_):
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
def release(*_):
    while held:
        os.close(held.pop())
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, exhaust)
signal.signal(signal.SIGUSR2, release)
place, idle, connections, descriptors = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors), int(descriptors)))
limits = Limits(idle=float(idle), connections=int(connections), seconds=600)
run_server({"pets": Path(place)}, ServeOptions(port=0), limits, lambda url: print("serving at", url))
"""

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

Start = Callable[..., RunningServer]


@pytest.fixture
def start(pets: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a server of small limits."""
    with ExitStack() as stack:

        def started(*, idle: float = 1, connections: int = 1000, descriptors: int = 1000) -> RunningServer:
            limits = (str(idle), str(connections), str(descriptors))
            running = RunningServer(pets, *limits, log=tmp_path / "log", program=PROGRAM)
            stack.callback(running.stop)
            return running

        yield started
    assert "Traceback" not in (tmp_path / "log").read_text()


def _connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=HUNG)


def _sockets(server: RunningServer) -> int:
    """Return how many sockets the server has open."""
    count = 0
    for descriptor in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with suppress(OSError):
            count += str(descriptor.readlink()).startswith("socket:")
    return count


def _is_open(server: int, client: int) -> bool:
    """Return whether the server's end of a TCP connection is open, by both ports."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        *ports, state = line.split()[1:4]
        if [int(one.rpartition(":")[2], 16) for one in ports] == [server, client]:
            return state == "01"
    return False


def _processor_seconds(server: RunningServer) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _closed_during(connection: socket.socket, trickle: bytes) -> bool:
    """Send the bytes of `trickle`, five a second, and return whether the connection was closed before the last one."""
    for byte in trickle:
        with suppress(OSError):
            connection.sendall(bytes([byte]))
        if select.select([connection], [], [], 0.2)[0]:
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
            return True
    return False


def _read_answer(connection: socket.socket) -> None:
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(65536)
        assert part
        answer += part
    assert b" 200 " in answer


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize(("sent", "trickle"), [(b"", b""), (b"GET /hea", b""), (b"GET /", b"a" * 150)])
def test_a_connection_without_a_whole_request_is_closed(
    start: Start, answered: bool, sent: bytes, trickle: bytes
) -> None:
    server = start()
    with _connected(server) as connection:
        if answered:
            connection.sendall(REQUEST)
            _read_answer(connection)
        connection.sendall(sent)
        if trickle:
            assert _closed_during(connection, trickle)
        else:
            assert connection.recv(100) == b""  # the end, before the timeout of a minute


def test_a_request_that_is_answered_is_not_idle(start: Start) -> None:
    server = start()
    body = json.dumps({"query": "dog", "texts": ["cat"]}).encode()
    head = f"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with _connected(server) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        for i in range(0, len(body), 3):  # three seconds
            connection.sendall(body[i : i + 3])
            time.sleep(0.2)
        assert b" 200 " in connection.recv(65536)


def test_an_answer_that_nobody_reads_is_given_up(start: Start) -> None:
    server = start()
    body = json.dumps({"query": "dog", "texts": ["dog " * 240_000] * 8, "return_text": True}).encode()
    head = f"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = server.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        assert b" 200 " in connection.recv(100)
        own, until = connection.getsockname()[1], time.monotonic() + HUNG
        while _is_open(int(port), own):
            assert time.monotonic() < until
            time.sleep(0.1)


def test_idle_connections_give_way_to_new_ones(start: Start) -> None:
    server = start(idle=600, connections=20)
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(_connected(server)).sendall(b"GET /")
        assert [server.ask("/health").status for _ in range(5)] == [200] * 5
        assert _sockets(server) <= 30
    log = server.log.read_text()
    assert log.count("20 connections are open, as many as may be: idle ones are closed") == 1


_UPLOAD = "/collections/pets/documents"
_HEAD = "POST {} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("path", ["/rerank", _UPLOAD])
@pytest.mark.parametrize("trickles", [False, True])
def test_bodies_that_do_not_arrive_give_way_to_new_connections(start: Start, path: str, trickles: bool) -> None:
    server = start(idle=600, connections=20)
    answers = []
    for _ in range(20):
        steady = _SteadyUpload(server)
        _crowd(server, path, trickles=trickles)
        if steady.ended():
            return
        # On a busy machine it is not steady, or its bytes are read late: then it may be closed, too.
        answers.append(steady.answers)
    pytest.fail(f"no steady upload was kept: {answers}")


def _crowd(server: RunningServer, path: str, *, trickles: bool) -> None:
    """Open five times as many connections as may be, whose bodies do not arrive, while other requests are answered."""
    assert server.ask("/health").status == 200
    with ExitStack() as stack:
        slow = [stack.enter_context(_connected(server)) for _ in range(100)]
        for connection in slow:
            connection.sendall(_HEAD.format(path).encode())
        for _ in range(5):
            for connection in slow if trickles else ():
                with suppress(OSError):
                    _send_chunk(connection, 1)
            assert server.ask("/health").status == 200


class _SteadyUpload:
    """An upload that goes on until `ended`."""

    def __init__(self, server: RunningServer) -> None:
        self._begun, self._done = Event(), Event()
        self.answers = list[Reply | Exception]()
        self._thread = Thread(target=self._upload, args=(server,))
        self._thread.start()
        self._begun.wait()

    def ended(self) -> bool:
        """End the upload; return whether it was answered."""
        self._done.set()
        self._thread.join()
        return all(isinstance(answer, Reply) and answer.status == 200 for answer in self.answers)

    def _upload(self, server: RunningServer) -> None:
        try:
            self.answers.append(server.send(_UPLOAD, self._pieces()))
        except (OSError, HTTPException) as error:
            self.answers.append(error)

    def _pieces(self) -> Iterator[bytes]:
        yield b" " * 2**15
        self._begun.set()  # the head and the first piece are sent
        while not self._done.wait(0.5):
            yield b" " * 2**15


def test_an_upload_has_to_go_on(start: Start) -> None:
    server = start(idle=2)
    with _connected(server) as slow, _connected(server) as steady:
        for connection in (slow, steady):
            connection.sendall(_HEAD.format(_UPLOAD).encode())
        until = time.monotonic() + HUNG
        while not select.select([slow], [], [], 0.2)[0]:
            assert time.monotonic() < until
            _send_chunk(slow, 1)
            _send_chunk(steady, 2**16)
        assert b" 408 " in slow.recv(65536)
        _send_chunk(steady, 1)
        steady.sendall(b"0\r\n\r\n")
        assert b" 200 " in steady.recv(65536)


def _send_chunk(connection: socket.socket, size: int) -> None:
    connection.sendall(b"%x\r\n" % size + b" " * size + b"\r\n")


def test_few_descriptors_and_thousands_of_connections(start: Start) -> None:
    server = start(idle=600, descriptors=90)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        for _ in range(min(3000, most - 500)):
            connection = stack.enter_context(socket.socket())
            connection.setblocking(False)
            host, port = server.url.removeprefix("http://").split(":")
            connection.connect_ex((host, int(port)))
        before, began = _processor_seconds(server), time.monotonic()
        time.sleep(4)
        used = (_processor_seconds(server) - before) / (time.monotonic() - began)
    assert used < 0.5
    assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200
    assert len(server.log.read_text().splitlines()) <= 3


def test_without_descriptors_the_server_waits(start: Start) -> None:
    server = start(idle=600, descriptors=90)
    assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200
    until = time.monotonic() + HUNG
    while len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) < 90:
        assert time.monotonic() < until
        server.process.send_signal(signal.SIGUSR1)  # again: a thread may have closed a file meanwhile
        time.sleep(0.2)
    with ExitStack() as stack:
        waiting = [stack.enter_context(_connected(server)) for _ in range(30)]
        for connection in waiting:
            connection.sendall(REQUEST)
        before, began = _processor_seconds(server), time.monotonic()
        time.sleep(4)
        used = (_processor_seconds(server) - before) / (time.monotonic() - began)
        answered = select.poll()  # `select` takes no descriptor above 1,023
        for connection in waiting:
            answered.register(connection, select.POLLIN)
        assert not answered.poll(0)
        server.process.send_signal(signal.SIGUSR2)
        for connection in waiting:
            _read_answer(connection)
    assert used < 0.5
    assert server.log.read_text().count("no connection can be accepted now, new ones wait: Too many open files") == 1
    about_requests = len(re.findall(r"Z [0-9a-f]{16} ", server.log.read_text()))
    assert len(server.log.read_text().splitlines()) - about_requests <= 4  # one is that changes cannot be seen now
    assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200


def test_invented_methods_paths_and_upgrades_leave_no_trace(start: Start) -> None:
    server = start()

    def send(connection: HTTPConnection, i: int) -> None:
        connection.request(f"INVENTED{i}", f"/nowhere{i}?{i * 'long'}", headers={"Host": "another.example"})
        assert connection.getresponse().read()
        connection.request(f"{i}", f"/collections/{i}/search")
        assert connection.getresponse().read()
        connection.request("GET", "/health", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        assert connection.getresponse().read()

    def memory() -> int:
        return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[0])

    with closing(HTTPConnection(server.url.removeprefix("http://"), timeout=HUNG)) as connection:
        for i in range(100):
            send(connection, i)
        assert server.ask("/metrics").status == 200
        labels = server.ask("/metrics").body.count(b"{")
        before = memory()
        for i in range(100, 1100):
            send(connection, i)
    assert server.ask("/metrics").body.count(b"{") == labels
    assert set(re.findall(r'method="(\w+)"', server.ask("/metrics").body.decode())) == {"GET", "other"}
    assert memory() - before < 10_000  # KB; before, a label took 30
    with _connected(server) as garbage:
        garbage.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert b" 400 " in garbage.recv(1000)
    lines = server.log.read_text().splitlines()
    assert len(lines) <= 1 + 3 * 1100 + 5  # no more than one for each request
    assert max(map(len, lines)) < 200
