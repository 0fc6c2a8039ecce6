"""Counts for Prometheus: requests, latencies, the work of searches, and the state of the server.

Several processes share their counts by files in the directory that `DIRECTORY` names in the environment.
"""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from moverank.indexer.files.systems import PEAK_UNIT
from moverank.indexer.plugins.serving.problems import METHODS
from moverank.rerank.ranking import StageCounts

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the directory of shared counts, which prometheus-client reads when it is imported."""


class Metrics:
    """The metrics of one server, which may have several processes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._watched: list[tuple[Gauge, Callable[[], float]]] = []
        self._shared = DIRECTORY in os.environ
        self._requests = Counter(
            "moverank_requests", "Requests by route and status.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "moverank_request_seconds", "Time of requests.", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self._work = Counter(
            "moverank_documents", "Documents by the stage that was enough for them.", ["stage"], registry=self.registry
        )
        self._gauges: dict[str, Gauge] = {}
        self._solved = Counter("moverank_problems_solved", "Transport problems solved.", registry=self.registry)
        if self._shared:
            self.watch("resident_memory_bytes", "Memory of the processes that answer.", _resident)
        else:
            ProcessCollector(registry=self.registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is its template, such as `/collections/{name}/search`."""
        # Each label takes memory for ever, so clients must not be able to invent labels.
        self._requests.labels(method if method in METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if self._shared:
            self.measure()

    def count_work(self, counts: StageCounts) -> None:
        """Count the work of a search."""
        for stage, number in counts.to_dict().items():
            if number:
                self._work.labels(stage).inc(number)
        self._solved.inc(counts.solved)

    def watch(
        self, name: str, text: str, value: Callable[[], float], of_all: Literal["sum", "max"] = "sum", **labels: str
    ) -> None:
        """Report the current `value` as `moverank_{name}`, with labels of fixed values; `of_all` processes."""
        if name not in self._gauges:
            mode: Literal["livesum", "livemax"] = "livesum" if of_all == "sum" else "livemax"
            self._gauges[name] = Gauge(
                f"moverank_{name}", text, list(labels), registry=self.registry, multiprocess_mode=mode
            )
        gauge = self._gauges[name]
        self._watched.append((gauge.labels(**labels) if labels else gauge, value))

    def measure(self) -> None:
        """Write the current values for the other processes, any of which may serve the metrics."""
        for gauge, value in self._watched:
            gauge.set(value())

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        self.measure()
        registry = self.registry
        if self._shared:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        text: bytes = generate_latest(registry)
        return text


def _resident() -> float:
    """Return the resident memory of this process in bytes; where the system lacks this figure, its peak."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * float(resource.getpagesize())
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * float(PEAK_UNIT)
