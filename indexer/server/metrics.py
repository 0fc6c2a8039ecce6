"""Counts for Prometheus: requests, latencies, the work of searches, and the state of the server."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from moverank.rerank.ranking import StageCounts

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
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

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is its template, such as `/collections/{name}/search`."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_work(self, counts: StageCounts) -> None:
        """Count the work of a search."""
        for stage, number in counts.as_dict().items():
            if number:
                self._work.labels(stage).inc(number)
        self._solved.inc(counts.solved)

    def watch(self, name: str, text: str, value: Callable[[], float], **labels: str) -> None:
        """Report the current `value` as `moverank_{name}`, with labels of fixed values."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(f"moverank_{name}", text, list(labels), registry=self.registry)
        gauge = self._gauges[name]
        (gauge.labels(**labels) if labels else gauge).set_function(value)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        text: bytes = generate_latest(self.registry)
        return text
