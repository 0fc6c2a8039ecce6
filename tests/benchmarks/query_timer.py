"""Times a program query by query."""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class QueryTimer:
    """A program, the (wall-clock seconds, CPU seconds) of its runs by query, and its last result for each query."""

    search: Callable[[int], Any]
    runs: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    results: dict[int, Any] = field(default_factory=dict)

    def run(self, number: int) -> None:
        """Answer a query once more."""
        began, began_cpu = time.perf_counter(), time.process_time()
        result = self.search(number)
        times = time.perf_counter() - began, time.process_time() - began_cpu
        self.runs.setdefault(number, []).append(times)
        self.results[number] = result

    def seconds(self, numbers: Iterable[int] | None = None) -> list[float]:
        """Return the seconds of each query, or of the queries `numbers`: the median of its runs."""
        queries = self.runs if numbers is None else numbers
        return [statistics.median(seconds for seconds, _ in self.runs[number]) for number in queries]

    @property
    def least(self) -> list[float]:
        """Return the smaller of wall-clock and CPU seconds of each run."""
        return [min(times) for runs in self.runs.values() for times in runs]

    @property
    def cpu(self) -> float:
        """Return the mean of the CPU seconds."""
        return statistics.mean(cpu for runs in self.runs.values() for _, cpu in runs)

    @property
    def mean(self) -> float:
        """Return the mean of the seconds of the queries."""
        return statistics.mean(self.seconds())
