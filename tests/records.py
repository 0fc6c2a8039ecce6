"""Records which tests ran, in how many CPU seconds: for the tiers, and for the stages of the whole check.

`pytest --record FILE` appends a line for each test: its outcome, its CPU seconds and its id. `pytest --unless FILE`
leaves out the tests that passed in a recorded run: those that remain need what was missing there. A fast tier that
is chosen by what a test is (mark `slow`) would fill with slow tests unseen: a recorded run lists those without the
mark that took more than `_FACTOR` times the median. The CPU time of the process and of its finished children varies
less than wall time, but still with the machine, so that nothing fails by it.

`python -m tests.records FILE...` prints how many tests of each file passed in which run, and those that passed in none.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

_BEGIN = pytest.StashKey[float]()
_FACTOR = 20
_NAME = "cpu"
_PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Record:
    """A test of a recorded run: its id, how it ended, and its CPU seconds."""

    test: str
    outcome: str
    seconds: float


def records(path: Path) -> list[Record]:
    """Read the file of a run."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [Record(test, outcome, float(seconds)) for outcome, seconds, test in rows]


def _passed(path: Path) -> set[str]:
    return {record.test for record in records(path) if record.outcome == _PASSED}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that name files of records."""
    parser.addoption("--record", type=Path, metavar="FILE", help="append a line for each test that ran")
    parser.addoption("--unless", type=Path, metavar="FILE", help="leave out tests that passed in a recorded run")


def pytest_configure(config: pytest.Config) -> None:
    """Record tests in the process that collects the reports of all."""
    if (path := config.getoption("--record")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed in a recorded run."""
    if path := config.getoption("--unless"):
        passed = _passed(path)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the CPU time at which a test begins."""
    item.stash[_BEGIN] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Hand the CPU time of a test on with its last report."""
    try:
        return (yield)
    finally:
        item.user_properties.append((_NAME, round(_cpu_seconds() - item.stash[_BEGIN], 3)))


class _Recorder:
    """Writes the tests of a run, and lists those that are too slow for their tier."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped and report.nodeid not in self._outcomes:  # each worker reports it
            self._write(report.nodeid, report.outcome, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != _PASSED:
            self._outcomes[report.nodeid] = report.outcome
        if report.when == "teardown":
            seconds = float(str(dict(report.user_properties)[_NAME]))
            self._write(report.nodeid, self._outcomes[report.nodeid], seconds)
            if "slow" not in report.keywords:
                self._seconds[report.nodeid] = seconds

    def _write(self, test: str, outcome: str, seconds: float) -> None:
        self._outcomes[test] = outcome
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{outcome}\t{seconds}\t{test}\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._seconds:
            return
        limit = _FACTOR * median(self._seconds.values())
        found = sorted(((seconds, test) for test, seconds in self._seconds.items() if seconds > limit), reverse=True)
        title = f"{len(found)} tests without the mark slow took over {limit:.2f} s of CPU, {_FACTOR} times the median"
        terminalreporter.section(title)
        for seconds, test in found:
            terminalreporter.line(f"{seconds:7.2f} s  {test}")


def main(paths: list[Path]) -> None:
    """Print how many tests of each file passed in each run, and those that passed in none."""
    runs = {path: records(path) for path in paths}
    passed = {path: _passed(path) for path in paths}
    counts = {path: Counter(test.partition("::")[0] for test in passed[path]) for path in paths}
    files = {record.test.partition("::")[0] for run in runs.values() for record in run}
    lines = ["\t".join([*(path.stem for path in paths), "file"])]
    lines += ["\t".join([*(str(counts[path][file]) for path in paths), file]) for file in sorted(files)]
    none = {record.test for run in runs.values() for record in run} - set[str]().union(*passed.values())
    sys.stdout.write("\n".join([*lines, f"{len(none)} tests passed in no run:", *sorted(none)]) + "\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
