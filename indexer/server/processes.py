"""Several processes that answer at one address: each has its own interpreter, and opens the collections for itself."""

import os
from collections.abc import Callable
from contextlib import suppress
from socket import socket
from tempfile import TemporaryDirectory

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

from moverank.indexer.server.metrics import DIRECTORY


def serve_by_processes(config: uvicorn.Config, listener: socket, started: Callable[[], None]) -> None:
    """Serve by `config.workers` processes until SIGINT or SIGTERM; one that dies is replaced.

    The application of `config` is a factory, which each process calls. `started` is called once all of them answer.
    """
    with TemporaryDirectory(prefix="moverank-metrics-") as directory:
        os.environ[DIRECTORY] = directory  # read by the processes when they import prometheus-client
        with suppress(KeyboardInterrupt):
            _Processes(config, [listener], started).run()


class _Processes(Multiprocess):
    """Processes, of which the parent reports when all answer, and whose gauges it drops when they die."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket], started: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._started: Callable[[], None] | None = started

    def keep_subprocess_alive(self) -> None:
        """Replace dead processes, and report the first time that all answer."""
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for dead in before - {process.pid for process in self.processes}:
            mark_process_dead(dead)
        if self._started and all(process.is_ready() for process in self.processes):
            self._started()
            self._started = None
