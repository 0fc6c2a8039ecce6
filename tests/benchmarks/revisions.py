"""Runs the same script with the package as it is now and as it was in a git revision."""

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from tests.benchmarks.common import ROOT, Run, argument_parser, median, median_cpu, rotated, run_process, show
from tests.golden.unpacking import SAFELY

NOW = "now"

_Version = TypeVar("_Version")
_Measured = TypeVar("_Measured")


def comparing_parser(description: str | None, revision: str = "514819c", pairs: int = 10) -> argparse.ArgumentParser:
    """Return a parser that takes the revision to compare with, and the number of pairs of runs."""
    parser = argument_parser(description)
    parser.add_argument("--before", default=revision, help=f"the git revision to compare with ({revision})")
    parser.add_argument("--pairs", type=int, default=pairs, help=f"pairs of runs ({pairs})")
    return parser


def show_compared(arguments: argparse.Namespace) -> None:
    """Print what is compared."""
    show(f"Before: {arguments.before}; {NOW}: the working tree. {arguments.pairs} pairs of runs, medians.")


def in_turns(
    sides: Iterable[_Version], turns: Iterable[int], measure: Callable[[_Version, int], _Measured]
) -> list[list[_Measured]]:
    """Return what each version measured in all turns; each is first in turn, because the speed of a machine drifts."""
    every = list(sides)
    measured: list[list[_Measured]] = [[] for _ in every]
    for turn in turns:
        for i in rotated(list(range(len(every))), turn):
            measured[i].append(measure(every[i], turn))
    return measured


def median_ratio(values: Sequence[float], to: Sequence[float]) -> float:
    """Return the median of the ratios of pairs."""
    return statistics.median(one / other for one, other in zip(values, to, strict=True))


def compared_times(before: Sequence[Run], now: Sequence[Run]) -> list[float]:
    """Return the median before, that now, and the median ratio: of seconds, then of CPU seconds."""
    ratio = median_ratio([run.seconds for run in now], [run.seconds for run in before])
    cpu_ratio = median_ratio([run.cpu for run in now], [run.cpu for run in before])
    return [median(before), median(now), ratio, median_cpu(before), median_cpu(now), cpu_ratio]


@contextmanager
def versions(revision: str) -> Iterator[dict[str, Path]]:
    """Yield the root folders of `revision` and of the working tree, by name; exit if there is no such revision."""
    command = ["git", "archive", revision]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        sys.exit(archive.stderr.decode())
    with TemporaryDirectory() as directory:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(directory, **SAFELY)  # noqa: S202 - of our own repository
        yield {revision: Path(directory), NOW: ROOT}


def run_version(root: Path, command: Sequence[str | Path]) -> Run:
    """Run Python with the package below `root`, and measure the process."""
    found = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(root / ".src")
    try:
        return run_process([sys.executable, *command])
    finally:
        if found is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = found
