"""A running server of the test's own: the command `serve` as a process, over its own socket."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.indexer.plugins.serving.forking import ForkedCommand
from tests.waiting import HUNG, wait_until

_READY = re.compile(r"serving at (http://\S+/)")


@dataclass(frozen=True)
class Reply:
    """The status, the headers and the body of an answer."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        """Return the JSON value of the body."""
        return json.loads(self.body)


def descendants(process: int) -> list[int]:
    """Return the processes that a process and its children have started, without Python's resource trackers."""
    parents = dict[int, int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if b"resource_tracker" not in (path.parent / "cmdline").read_bytes():
                parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
    found, new = list[int](), [process]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return sorted(found)


class RunningServer:
    """`moverank serve` with `arguments` in a process of its own, at a free port; `url` is its address.

    `program` is run instead of the command: it gets the arguments, and prints what the command prints. `python` is the
    interpreter; without both, and unless it is to be `fresh`, the process is forked from one that has imported all.
    """

    def __init__(
        self,
        *arguments: str | Path,
        log: Path,
        program: str | None = None,
        python: str = sys.executable,
        fresh: bool = False,
    ) -> None:
        self.log = log
        self.process = self._started([*map(str, arguments)], program, python, fresh=fresh)
        self.url = self._wait()

    def _started(
        self, arguments: list[str], program: str | None, python: str, *, fresh: bool
    ) -> "ForkedCommand | subprocess.Popen[bytes]":
        if program is None and python == sys.executable and not fresh:
            self.log.write_bytes(b"")
            return ForkedCommand(["serve", "--port", "0", *arguments], self.log)
        own = ["-m", "moverank", "serve", "--port", "0"] if program is None else ["-c", program]
        with self.log.open("wb") as file:
            return subprocess.Popen(
                [python, *own, *arguments],
                stdout=file,
                stderr=file,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )

    def _wait(self) -> str:
        deadline = time.monotonic() + HUNG
        while time.monotonic() < deadline:
            found = _READY.search(self.log.read_text())
            if found:
                return found[1].rstrip("/")
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise AssertionError(f"the server did not start: {self.log.read_text()}")

    def ask(
        self, path: str, body: Any = None, *, method: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request, with a JSON body unless it is bytes, and return the answer, whatever its status."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | dict(headers or {})
        request = Request(self.url + path, data, sent, method=method)  # noqa: S310 - our own server
        try:
            with urlopen(request, timeout=HUNG) as answer:  # noqa: S310 - likewise
                return Reply(answer.status, answer.headers, answer.read())
        except HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())

    def send(self, path: str, pieces: Iterable[bytes], method: str = "POST") -> Reply:
        """Send a request with a body in chunks, to its end even if the answer comes earlier, and return the answer."""
        with closing(HTTPConnection(self.url.removeprefix("http://"), timeout=HUNG)) as connection:
            connection.request(method, path, pieces, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())

    def wait_for(self, name: str, revision: int) -> None:
        """Wait until a collection is searched at a revision."""
        wait_until(lambda: self.ask(f"/collections/{name}").json["revision"] >= revision)

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """End the server, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        return self.process.wait(timeout=HUNG)
