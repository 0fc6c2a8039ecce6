"""Runs functions in forked child processes, with a time limit or until they are killed.

A process that has threads must not be forked, so libraries are limited to one thread: import this module before numpy.
"""

import contextlib
import faulthandler
import os
import signal
import time
import traceback
from collections.abc import Callable

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

Report = Callable[[str], None]
"""Writes a line to the parent process."""

TIME_LIMIT = 600.0
"""Seconds: on a busy machine a process may be delayed for minutes; a hang takes longer."""
FAILED = "!"
"""The first character of the output of a function which has raised an exception."""
_PIPE_BUFFER = 60_000  # bytes that can be written before the parent reads


def start(function: Callable[[Report], str]) -> tuple[int, int]:
    """Run a function in a child process; return the child's process id and the pipe from which to read its output.

    The output is the lines that the function reports, and the string it returns, or after `FAILED` its traceback.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.write(writing, _output(function, writing).encode()[:_PIPE_BUFFER])
        os._exit(0)
    os.close(writing)
    return child, reading


def read_output(pipe: int) -> str:
    """Return the output of a child once it has ended, and close its pipe."""
    with os.fdopen(pipe, "rb") as file:
        return file.read().decode()


def run_in_child(function: Callable[[], str], limit: float = TIME_LIMIT) -> str:
    """Run a function in a child process, and return its string, or its traceback after `FAILED`.

    A child that takes more than `limit` seconds is killed; before that, it writes its stack to standard error.
    """

    def watched(_: Report) -> str:
        faulthandler.dump_traceback_later(0.8 * limit)
        return function()

    child, pipe = start(watched)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit)
    output = read_output(pipe)
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, status = os.waitpid(child, 0)
    return output if status == 0 else f"{FAILED} killed after {limit} s, or crashed: status {status}"


def run_until_killed(function: Callable[[Report], None], seconds: float) -> list[str]:
    """Run a function in a child process, kill it by SIGKILL after some seconds, and return the lines it has reported.

    A function that ends before that is not repeated; one that fails adds its traceback, which begins with `FAILED`.
    """

    def endless(report: Report) -> str:
        function(report)
        while True:
            signal.pause()

    child, pipe = start(endless)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    output = read_output(pipe)
    os.waitpid(child, 0)
    return output.splitlines()


def _output(function: Callable[[Report], str], pipe: int) -> str:
    def report(line: str) -> None:
        os.write(pipe, f"{line}\n".encode())

    try:
        return function(report)
    except BaseException:  # noqa: BLE001 - reported, whatever it is
        return f"{FAILED} {traceback.format_exc(limit=-6)}"
