"""Runs benchmarks side by side, in children of one process that has loaded libraries and compiled kernels for all.

`python -m tests.indexer.side_by_side COMMAND...`: each command is a script of tests/benchmarks with its arguments. The
output of those that fail is printed, and the exit code is 1 then.
"""

from tests.benchmarks.child_process import FAILED, Report, read_output, start  # isort: split

import io
import os
import runpy
import sys
from contextlib import redirect_stdout
from functools import partial

from tests.benchmarks.small_collection import prepare


def run(command: str, _: Report) -> str:
    """Run a benchmark, and return its output after `FAILED` if its exit code is not 0."""
    script, *arguments = command.split()
    sys.argv = [script, *arguments]
    output = io.StringIO()
    with redirect_stdout(output):
        try:
            runpy.run_module(f"tests.benchmarks.{script}", run_name="__main__")
        except SystemExit as end:
            return f"{FAILED} {command}\n{output.getvalue()}" if end.code else ""
    return f"{FAILED} {command} has no exit code\n"


def main(commands: list[str]) -> int:
    """Run all commands at the same time; return the exit code."""
    prepare()
    children = [start(partial(run, command)) for command in commands]
    failures = "".join(read_output(pipe) for _, pipe in children)
    for child, _ in children:
        os.waitpid(child, 0)
    sys.stdout.write(failures)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
