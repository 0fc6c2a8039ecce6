"""A proxy before a PostgreSQL server that ends one connection, at a chosen message of its client.

A message is what a client sends at once: a statement with its values, a fetch, a commit, the start of a session.
"""

import os
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

SOCKET = ".s.PGSQL.5432"
_BYTES = 1 << 20
_MOST_SECONDS = 0.5


class CuttingProxy:
    """Passes the messages of all clients on, and ends the connection of the one which sends number `cut_at`, from 1.

    The server gets this message if `delivered`, and does what it says, but the client gets no answer: as for a commit
    whose outcome it cannot know. `directory` is what clients name as the host; `messages` and `sessions` count.
    """

    def __init__(self, server: Path, directory: Path) -> None:
        self.directory, self._server = directory, server / SOCKET
        self.messages, self.sessions, self.cut_at, self.delivered = 0, 0, 0, False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(directory / SOCKET))
        self._listening.listen()
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def arm(self, cut_at: int, *, delivered: bool) -> None:
        """Count from 0 again, and cut at another message; 0: at none."""
        with self._lock:
            self.messages, self.sessions, self.cut_at, self.delivered = 0, 0, cut_at, delivered

    @property
    def has_cut(self) -> bool:
        """Return whether the connection was ended."""
        return 0 < self.cut_at <= self.messages

    def close(self) -> None:
        """End all connections."""
        self._ended.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.sessions += 1
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        """Pass on what the client and the server send until either of them ends, or the connection is cut."""
        with client, socket.socket(socket.AF_UNIX) as server, selectors.DefaultSelector() as ready:
            server.connect(str(self._server))
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            with suppress(OSError):
                while not self._ended.is_set():
                    for key, _ in ready.select(0.2):
                        data = key.fileobj.recv(_BYTES)  # type: ignore[union-attr]  # both are sockets
                        if not data or (key.fileobj is client and self._is_cut(data, server)):
                            return
                        key.data.sendall(data)

    def _is_cut(self, data: bytes, server: socket.socket) -> bool:
        """Count a message of a client, and return whether the connection ends with it."""
        with self._lock:
            self.messages += 1
            if self.messages != self.cut_at:
                return False
        if self.delivered:
            server.sendall(data)
            server.settimeout(_MOST_SECONDS)  # a part of a message has no answer
            with suppress(TimeoutError):
                server.recv(_BYTES)
        return True


@contextmanager
def cutting_proxy() -> Iterator[CuttingProxy]:
    """Run a proxy before the server which the environment names."""
    with TemporaryDirectory(prefix="moverank-", dir="/tmp") as name:
        proxy = CuttingProxy(Path(os.environ["PGHOST"]), Path(name))
        try:
            yield proxy
        finally:
            proxy.close()
