"""Fuzzes a running server, and treats it badly; it must answer others all the time, and never with 500.

First schemathesis, from the OpenAPI description, for some minutes: no answer of 500, none that takes longer than the
limit of a request. Then, while one client searches: bodies that arrive byte by byte, that are too long or broken,
requests cut off in the middle, and many open connections that send nothing. Needs schemathesis.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show, show_table
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer

LIMIT = 40
"""Seconds that an answer may take at most: the server's limit, and what a busy machine adds."""

HEAD = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def fuzz(server: RunningServer, seconds: int) -> bool:
    """Run schemathesis for so long; return whether it found nothing."""
    program = shutil.which("schemathesis", path=sysconfig.get_path("scripts")) or shutil.which("schemathesis")
    if program is None:
        raise SystemExit("schemathesis is missing: python -m pip install schemathesis")
    command = [
        program,
        "run",
        f"{server.url}/openapi.json",
        "--checks",
        "not_a_server_error",
        "--exclude-operation-id",  # JSONL, which schemathesis cannot write
        "add_documents_collections__name__documents_post",
        "--max-time",
        str(seconds),
    ]
    command += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--max-response-time", str(LIMIT)]
    command += ["--suppress-health-check", "all", "--warnings", "off"]
    return subprocess.run(command, check=False).returncode == 0


class Hostile:
    """Bad clients of the server at `address`."""

    def __init__(self, server: RunningServer, connections: int) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        self._address, self._connections = (host, int(port)), connections

    def _send(self, *parts: bytes, pause: float = 0.0) -> None:
        with socket.create_connection(self._address, timeout=LIMIT) as connection:
            try:
                for part in parts:
                    connection.sendall(part)
                    time.sleep(pause)
                connection.recv(4096)
            except OSError:
                return

    def slow_body(self) -> None:
        """Send a body byte by byte."""
        body = json.dumps({"query": "dog", "texts": ["cat"]}).encode()
        self._send(
            HEAD, b"Content-Length: %d\r\n\r\n" % len(body), *[body[i : i + 1] for i in range(len(body))], pause=0.2
        )

    def long_body(self) -> None:
        """Send more than is allowed, without saying how much."""
        self._send(HEAD, b"Transfer-Encoding: chunked\r\n\r\n", *[b"100000\r\n" + b" " * 0x100000 + b"\r\n"] * 12)

    def broken_json(self) -> None:
        """Send what is no JSON, nested deeply, and in another encoding."""
        for body in (b"{", b"[" * 100_000, b'{"query": "\xff"}', b"\x00" * 1000, b'{"query": 1e999, "texts": [NaN]}'):
            self._send(HEAD, b"Content-Length: %d\r\n\r\n" % len(body), body)

    def cut_off(self) -> None:
        """Leave in the middle of requests."""
        body = json.dumps({"query": "dog cat " * 1000, "texts": ["cat dog " * 500] * 200}).encode()
        for _ in range(20):
            with socket.create_connection(self._address, timeout=LIMIT) as connection:
                connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def open_connections(self) -> None:
        """Open many connections, and send nothing."""
        opened = []
        try:
            for _ in range(self._connections):
                opened.append(socket.create_connection(self._address, timeout=LIMIT))  # noqa: PERF401 - until one fails
        except OSError as error:
            show(f"{len(opened)} connections were opened, then: {error}")
        time.sleep(2)
        for connection in opened:
            connection.close()


def while_others_search(server: RunningServer, work: Callable[[], None]) -> list[float]:
    """Return the times of searches that were answered while `work` went on; raises if one was not."""
    times, done = list[float](), threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set() or not times:
        began = time.perf_counter()
        reply = server.ask("/collections/pets/search", {"query": "dog wine"})
        if reply.status not in (200, 429):
            raise SystemExit(f"a search was answered {reply.status}: {reply.body!r}")
        times.append(time.perf_counter() - began)
        time.sleep(0.02)
    thread.join()
    return times


def main() -> None:
    """Fuzz, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--connections", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moverank-fuzz-") as name:
        folder = Path(name)
        server = RunningServer("-i", make_collection(folder), log=folder / "log")
        try:
            clean = fuzz(server, arguments.seconds)
            show(f"schemathesis for {arguments.seconds} s: {'nothing found' if clean else 'FAILURES'}")
            hostile, rows = Hostile(server, arguments.connections), []
            server.ask("/collections/pets/search", {"query": "dog wine"})
            for work in (
                hostile.slow_body,
                hostile.long_body,
                hostile.broken_json,
                hostile.cut_off,
                hostile.open_connections,
            ):
                times = sorted(while_others_search(server, work))
                rows.append([work.__name__.replace("_", " "), len(times), f"{times[-1] * 1e3:.0f}"])
            show_table(["meanwhile", "searches answered", "slowest ms"], rows)
        except BaseException:
            server.stop(signal.SIGKILL)
            raise
        code = server.stop(signal.SIGTERM)
        log = (folder / "log").read_text()
        show(f"the server ended with {code}; tracebacks in its log: {log.count('Traceback')}")
        if not clean or code or "Traceback" in log or "a request failed" in log:
            show(log[-3000:])
            sys.exit(1)


if __name__ == "__main__":
    main()
