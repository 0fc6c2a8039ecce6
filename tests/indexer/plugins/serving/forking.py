"""Runs the command by forking a process that has imported it: a start takes .6 s instead of 3.

The process that forks has one thread, and has computed nothing. A test process has one, `ready()`.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORTED = ("faiss", "scipy.sparse", "moverank.indexer.plugins.serving.run_server", "uvicorn")
"""The modules that are imported before a fork, with what they import."""
_STEP = 0.02


class Ready:
    """A process that forks the command; one request at a time is sent to it, and answered."""

    def __init__(self) -> None:
        own, other = socket.socketpair()
        with other:
            code = (
                f"from tests.indexer.plugins.serving.forking import fork_on_request; fork_on_request({other.fileno()})"
            )
            self._process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[other.fileno()])
        self._file = own.makefile("rw", encoding="utf-8")

    def ask(self, **request: Any) -> Any:
        """Send a request, and return the answer."""
        self._file.write(json.dumps(request) + "\n")
        self._file.flush()
        return json.loads(self._file.readline())


@cache
def ready() -> Ready:
    """Return the process of this test process."""
    return Ready()


class ForkedCommand:
    """`moverank` with `arguments`, in a process of its own; what it prints is written to `log`. As a `Popen`."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        asked = {"arguments": arguments, "log": str(log), "cwd": str(Path.cwd()), "environment": environment}
        self.pid: int = ready().ask(**asked)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = ready().ask(poll=self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Return the exit code, once it has ended."""
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("moverank", timeout)
            time.sleep(_STEP)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def fork_on_request(descriptor: int) -> None:
    """Fork for each request that a socket sends, until its other end is closed."""
    for name in _IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rw", encoding="utf-8") as file:
        for line in file:
            request = json.loads(line)
            answer = _exit_code(request["poll"]) if "poll" in request else _forked(request, connection)
            file.write(json.dumps(answer) + "\n")
            file.flush()


def _exit_code(pid: int) -> int | None:
    with suppress(ChildProcessError):
        found, status = os.waitpid(pid, os.WNOHANG)
        return None if found == 0 else os.waitstatus_to_exitcode(status)
    return 0


def _forked(request: dict[str, Any], connection: socket.socket) -> int:
    """Return the number of the process that runs the command."""
    pid = os.fork()
    if pid:
        return pid
    os.close(connection.fileno())
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = ["moverank", *request["arguments"]]
    for name in ("stdout", "stderr"):
        getattr(sys, name).reconfigure(line_buffering=True, write_through=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from moverank.cli import run

    run()
    raise AssertionError("the command ends the process")
