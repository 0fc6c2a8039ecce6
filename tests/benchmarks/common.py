"""Shared by the benchmarks: arguments, tables, the real data, and measured runs of the program as whole processes."""

import argparse
import gzip
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
MISSED = "MISSED"

_Item = TypeVar("_Item")
_recorded: list[Path] = []  # files that get the tables, too


class _Record(argparse.Action):
    """Names a file that gets the tables, too."""

    def __call__(self, _parser: object, _namespace: object, values: Any, _option: str | None = None) -> None:
        _recorded.append(Path(values))


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser which shows a script's docstring with its own line breaks, and takes `--json`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action=_Record, metavar="FILE", help="also append each table, as a line of JSON")
    return parser


def show(line: str = "") -> None:
    """Print a line without buffering, even into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def show_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: the first column aligned left, the others aligned right; `--json` keeps its cells as text."""
    cells = [list(heads), *([str(value) for value in row] for row in rows)]
    for path in _recorded:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"heads": cells[0], "rows": cells[1:]}) + "\n")
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    cells.insert(1, ["-" * width for width in widths])
    for first, *others in cells:
        padded = [value.rjust(width) for value, width in zip(others, widths[1:], strict=True)]
        show("  ".join([first.ljust(widths[0]), *padded]).rstrip())


def verdict(met: bool) -> str:
    """Return the cell that shows whether a target is met."""
    return "ok" if met else MISSED


def any_missed(rows: Iterable[Sequence[object]]) -> bool:
    """Return whether a row shows a missed target."""
    return any(MISSED in row for row in rows)


def rotated(items: list[_Item], turn: int) -> list[_Item]:
    """Return the items beginning with another one each turn, so that none always runs first."""
    first = turn % len(items)
    return items[first:] + items[:first]


def real(*names: str) -> Path:
    """Return the path of real data beside the checkout, a file or a folder; exit with a message if it is missing."""
    path = SHARED.joinpath(*names)
    if not path.exists():
        sys.exit(f"{path} is missing: the benchmark needs the real data")
    return path


def vectors() -> Path:
    """Return the path of the word vectors."""
    return real("vectors", "minilm-words-200d.bin")


def gzip_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


@dataclass(frozen=True, slots=True)
class Run:
    """One process: what it printed, its wall-clock `seconds`, its CPU seconds, and its peak memory in bytes.

    `cpu` adds up all threads: on a busy machine it is more reliable than `seconds`.
    """

    printed: str
    seconds: float
    cpu: float
    peak: int

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Return the JSON objects that were printed, one a line."""
        return [json.loads(line) for line in self.printed.splitlines()]


def run_process(command: Sequence[str | Path]) -> Run:
    """Run a command and measure it; exit with its output if it fails."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output)
        # `wait4` measures this child alone; `resource` would report the largest of all children.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read().decode()
    if process.returncode:
        sys.exit(f"{shlex.join(map(str, command))} failed: {printed}")
    return Run(printed, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def run(*arguments: str | Path) -> Run:
    """Run `moverank` and measure it; exit with its output if it fails."""
    return run_process([Path(sys.executable).with_name("moverank"), *arguments])


def median(runs: Iterable[Run]) -> float:
    """Return the median of the wall-clock seconds."""
    return statistics.median(run.seconds for run in runs)


def median_cpu(runs: Iterable[Run]) -> float:
    """Return the median of the CPU seconds."""
    return statistics.median(run.cpu for run in runs)


def span(runs: Sequence[Run]) -> str:
    """Return the shortest and the longest wall-clock time as text."""
    times = sorted(run.seconds for run in runs)
    return f"{times[0]:.2f}-{times[-1]:.2f}"
