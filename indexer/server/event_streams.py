"""Streams of the events of watches (server-sent events): all streams of a collection share what is read for them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event as Flag
from typing import NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from moverank.indexer.documents import Event
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem, answer_of
from moverank.indexer.server.served import Served
from moverank.indexer.store import repeated

MEDIA_TYPE = "text/event-stream"

_QUIET = 15.0  # seconds without an event after which a comment shows that the connection is alive
_MOST = 1000  # events that are read together

_log = logging.getLogger("moverank")


class _Page(NamedTuple):
    """Some events as they are sent, and the number of the last one."""

    text: bytes
    last: int


class EventStreams:
    """The open streams of events of a server, at most `limits.streams`; used in one event loop, but for `end`."""

    def __init__(self, limits: Limits) -> None:
        self.open, self._most = 0, limits.streams
        self._feeds: dict[str, _Feed] = {}
        self._ended = Flag()

    def after(self, served: Served, number: int) -> "EventStream":
        """Return an answer with the events of a collection after a number, which goes on with later ones."""
        if served.name not in self._feeds:
            self._feeds[served.name] = _Feed(served)
        return EventStream(self, self._frames(self._feeds[served.name], number))

    @contextmanager
    def place(self) -> Iterator[None]:
        """Count an open stream during the block; HttpProblem 429 if there are too many."""
        if self.open >= self._most:
            raise HttpProblem(429, "too many streams of events are open: try again later", {"Retry-After": "5"})
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    async def _frames(self, feed: "_Feed", number: int) -> AsyncIterator[bytes]:
        """Yield events, and comments meanwhile, until the server ends or the events cannot be read any more."""
        while not self._ended.is_set():
            changed, reading = feed.changed, asyncio.ensure_future(feed.after(number))
            try:
                while not (await asyncio.wait({reading}, timeout=_QUIET))[0]:
                    yield b":\n\n"
                    if self._ended.is_set():
                        return
                page = reading.result()
            except Exception as error:  # noqa: BLE001 - of the database; the client continues by a new request
                _log.warning("%s: a stream of events ends: %s", feed.name, answer_of(error)[1])
                return
            finally:
                reading.cancel()
            if page.text:
                yield page.text
                number = page.last
                continue
            try:
                await asyncio.wait_for(changed.wait(), _QUIET)
            except TimeoutError:
                yield b":\n\n"

    def end(self) -> None:
        """End all streams; may be called in any thread."""
        self._ended.set()
        for feed in tuple(self._feeds.values()):
            feed.wake()

    def close(self) -> None:
        """End all streams, and the threads that read for them."""
        self.end()
        for feed in self._feeds.values():
            feed.close()


class EventStream(StreamingResponse):
    """An answer that ends with its client or with the server."""

    media_type = MEDIA_TYPE

    def __init__(self, streams: EventStreams, frames: AsyncIterator[bytes]) -> None:
        # Proxies such as nginx pass each event on at once.
        super().__init__(frames, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; HttpProblem 429 if too many streams are open."""
        with self._streams.place():
            await super().__call__(scope, receive, send)


class _Feed:
    """The events of one collection; streams at the same number share what a thread reads for them.

    `changed` is set after a commit, and replaced: a stream takes it before it reads.
    """

    def __init__(self, served: Served) -> None:
        self.name, self._served, self.changed = served.name, served, asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._reads: dict[int, asyncio.Future[_Page]] = {}
        self._thread = ThreadPoolExecutor(1, f"moverank-events-{served.name}")
        served.on_commit(self.wake)

    async def after(self, number: int) -> _Page:
        """Return the first events after a number."""
        if number not in self._reads:
            self._reads[number] = self._loop.run_in_executor(self._thread, self._read, number)
            self._reads[number].add_done_callback(lambda done: self._forget(number, done))
        return await asyncio.shield(self._reads[number])

    def _forget(self, number: int, done: "asyncio.Future[_Page]") -> None:
        if self._reads.get(number) is done:
            del self._reads[number]
        if not done.cancelled():
            done.exception()  # retrieved, also if all streams that waited have ended

    def _read(self, number: int) -> _Page:
        events = repeated(lambda: self._served.read(lambda reader: reader.events(number, _MOST)))
        return _Page(b"".join(map(_frame, events)), events[-1].number if events else number)

    def wake(self) -> None:
        """Let all streams read again; may be called in any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._reads.clear()  # they may have begun before the commit
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _frame(event: Event) -> bytes:
    """Return an event in the format of server-sent events."""
    return f"id: {event.number}\nevent: watch\ndata: {json.dumps(event._asdict())}\n\n".encode()
