"""Times a program query by query."""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Timed:
    """A program, its answers' (seconds, CPU seconds) by query, and its last answer to each."""

    ask: Callable[[int], Any]
    took: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    rows: dict[int, Any] = field(default_factory=dict)

    def answer(self, number: int) -> None:
        """Answer a query once more."""
        began, began_cpu = time.perf_counter(), time.process_time()
        found = self.ask(number)
        took = time.perf_counter() - began, time.process_time() - began_cpu
        self.took.setdefault(number, []).append(took)
        self.rows[number] = found

    def seconds(self, numbers: Iterable[int] | None = None) -> list[float]:
        """Return the seconds of each query, or of some: the median of its answers."""
        chosen = self.took if numbers is None else numbers
        return [statistics.median(seconds for seconds, _ in self.took[number]) for number in chosen]

    @property
    def least(self) -> list[float]:
        """Return for each answer its seconds or its CPU seconds, whichever are less."""
        return [min(pair) for took in self.took.values() for pair in took]

    @property
    def cpu(self) -> float:
        """Return the mean of the CPU seconds."""
        return statistics.mean(cpu for took in self.took.values() for _, cpu in took)

    @property
    def mean(self) -> float:
        """Return the mean over the queries."""
        return statistics.mean(self.seconds())
