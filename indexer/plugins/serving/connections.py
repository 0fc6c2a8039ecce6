"""Connections: limits on their number and on idle ones, and the handling of missing file descriptors."""

import asyncio
import errno
import logging
import re
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from moverank.indexer.plugins.serving.guard import HEADERS
from moverank.indexer.plugins.serving.log import REQUEST_ID, log_request, new_request
from moverank.indexer.plugins.serving.problem_responses import problem_response

MAX_HEAD = 1 << 16  # bytes of the head of a request

_AMBIGUOUS = re.compile(rb"(?<!\r)\n|\r\n[ \t]")
_AGE = 0.25  # seconds for which a connection stays open although others wait
_PAUSE = 2.0  # seconds more for which it does, at most, by what it has sent
_STEP = 1 << 16  # bytes of a body or an answer that a client has to send or read in each `idle` period
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_CLOSING = 0.02  # seconds in which connections are closed
_RETRY = 0.25  # seconds until the next attempt to accept a connection
_SAY_AGAIN = 60.0  # seconds between two log lines about the same state

_log = logging.getLogger("moverank")


class Connection(H11Protocol):
    """A connection, which is closed unless the whole head of a request arrives in time.

    The time, uvicorn's `timeout_keep_alive`, runs from the beginning of the connection or from the previous answer.
    Then a client has the same time to read each 64 KiB of the answer. `since` is the time from which it has sent or
    read too little.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._reads_on)
        self._timer: asyncio.TimerHandle | None = None
        self._waits()

    def data_received(self, data: bytes) -> None:
        """Receive some bytes; the head of a request that others could read in another way is refused."""
        if self.conn.their_state is h11.IDLE and self._is_ambiguous(data):
            self.send_400_response("")
            return
        super().data_received(data)
        self._waits(len(data))

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have arrived."""
        self.since = self.loop.time()
        if self._is_ambiguous():
            self.transport.close()
            return
        super().on_response_complete()
        self._waits()

    def _is_ambiguous(self, data: bytes = b"") -> bool:
        """Return whether the head that has arrived has lines that end with LF alone, or that go on with a space.

        Proxies in front of the server may divide such a head, and so requests, otherwise (RFC 9112, sections 2.2, 5.2).
        """
        arrived = (self.conn.trailing_data[0] + data)[:MAX_HEAD]
        return _AMBIGUOUS.search(arrived.partition(b"\r\n\r\n")[0]) is not None

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(error)
        self._cancel()

    def send_400_response(self, _: str) -> None:
        """Answer invalid HTTP by a problem, unless an answer has begun, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            copy_context().run(self._refuse)  # a context of its own, so that the id stays with this request
        if self.cycle is not None:
            self.cycle.disconnected = True  # the answer of the running request is dropped
        self.transport.close()

    def _refuse(self) -> None:
        headers = HEADERS | {REQUEST_ID: new_request(), "Connection": "close"}
        answer = problem_response(400, "this is no valid HTTP request", headers)
        head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        log_request("-", "-", 400, 0.0, self.client[0] if self.client else "")

    @property
    def at_rest(self) -> bool:
        """Return whether no request is being answered, or the client has stopped sending it or reading the answer."""
        if self.cycle is None or self.cycle.response_complete or self.flow.write_paused:
            return True
        return self.cycle.more_body and not self.flow.read_paused

    def _reads_on(self) -> None:
        """Restart the time: the client could send nothing while the server did not read."""
        self.since = max(self.since, self.loop.time())

    def _waits(self, arrived: int = 0) -> None:
        """Let the time run while no request is being answered; single bytes do not restart it.

        `arrived` bytes of a body extend the time: 64 KiB by a whole period. At most `_PAUSE` seconds of it are saved
        for a pause.
        """
        now = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            begin = now if self._timer else self.since
            self.since = min(now + _PAUSE, begin + self.timeout_keep_alive * arrived / _STEP)
            self._cancel()
        elif self._timer is None:
            self.since = now
            self._timer = self.loop.call_later(self.timeout_keep_alive, self._close, None)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self, before: int | None) -> None:
        """Close the connection; abort it unless the client has read enough of the `before` bytes of an answer."""
        self.transport.close()
        left = self.transport.get_write_buffer_size()
        if left and (before is None or left <= before - _STEP):
            self._timer = self.loop.call_later(self.timeout_keep_alive, self._close, left)
        else:
            self.transport.abort()


class _Flow(FlowControl):
    """Pauses and resumes a connection; `resumed` is called when reading is resumed."""

    def __init__(self, transport: asyncio.Transport, resumed: Callable[[], None]) -> None:
        super().__init__(transport)
        self._resumed = resumed

    def resume_reading(self) -> None:
        """Read on if reading is paused."""
        if self.read_paused:
            self._resumed()
        super().resume_reading()


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose server has at most `most` connections, and no more than half of the free descriptors."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def create_server(self, protocol_factory: Callable[[], Any], *_: Any, **options: Any) -> Any:
        """Return a server of the listening socket `sock`, which uvicorn starts and closes."""
        return _Server(self, options["sock"], protocol_factory, min(self._most, max(2, _free_descriptors() // 2)))


class _Server:
    """Accepts connections of one listening socket.

    Once `most` are open, or no descriptors are left, connections at rest are closed for new ones, the oldest first, so
    that idle clients lock out no other client. If none is at rest, new connections wait in the queue of the socket;
    asyncio's own server would try again without end, and log each time.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, made: Callable[[], Any], most: int
    ) -> None:
        self._loop, self._listener, self._made, self._most = loop, listener, made, most
        self._open: set[Connection] = set()
        self._arriving: set[asyncio.Task[None]] = set()
        self._said = -_SAY_AGAIN
        self.sockets = (listener,)
        with suppress(AttributeError, OSError):  # Linux only: drops an answer that the client does not read
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
        self._task = loop.create_task(self._accept())

    def close(self) -> None:
        """Accept no more connections."""
        self._task.cancel()

    async def wait_closed(self) -> None:
        """Wait until no more connections are accepted."""
        await asyncio.gather(self._task, *self._arriving, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            while len(self._open) + len(self._arriving) >= self._most:
                self._say("%d connections are open, as many as may be: idle ones are closed", self._most)
                await self._make_place()
            try:
                accepted, _ = await self._loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._say("no connection can be accepted now, new ones wait: %s", error.strerror)
                    await self._make_place()
            else:
                task = self._loop.create_task(self._connect(accepted))
                self._arriving.add(task)
                task.add_done_callback(self._arriving.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            _, connection = await self._loop.connect_accepted_socket(self._made, accepted)
        except OSError:  # the client has left
            accepted.close()
        else:
            self._open = connection.connections  # the server's set of open connections

    async def _make_place(self) -> None:
        """Close the oldest connections at rest, a few at a time, and wait: longer if there are none."""
        now = self._loop.time()
        at_rest = [one for one in self._open if one.at_rest and now - one.since >= _AGE]
        oldest = sorted(at_rest, key=lambda one: one.since)[: max(1, self._most // 16)]
        for one in oldest:
            one.transport.abort()
        await asyncio.sleep(_CLOSING if oldest else _RETRY)

    def _say(self, text: str, *values: object) -> None:
        """Log a warning, not more often than once a minute."""
        if self._loop.time() - self._said >= _SAY_AGAIN:
            self._said = self._loop.time()
            with suppress(OSError):  # the log may need a descriptor, too
                _log.warning(text, *values)


def _free_descriptors() -> int:
    """Return how many more descriptors this process may open."""
    used = next((len(list(place.iterdir())) for place in map(Path, ("/proc/self/fd", "/dev/fd")) if place.is_dir()), 64)
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (1 << 20 if most == resource.RLIM_INFINITY else most) - used
