"""Bodies of requests: limits on their length, their speed and their number, and decompression of gzip."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from starlette.types import Message, Receive, Scope

from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb, Unzipped, is_gzip
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem

_UPLOAD = re.compile(r"/collections/[^/]+/documents")
_STEP = 1 << 16  # bytes of an upload that have to arrive in each `idle` period of a connection
_SMALL = 1 << 16  # bytes of a body that is always accepted
_BLOCK = 1 << 16  # bytes that are unzipped before other requests run
_PIECE = 1 << 14  # bytes of gzip that are read before other requests run: they may hold hundreds of files
_HEAD = 2  # bytes that identify gzip


@dataclass(slots=True)
class _Kind:
    """Bodies with the same limits: the bytes of one and of all `together`, and the `number` that arrive at a time.

    A body has to arrive in `seconds`, and in as many more for each `step` of bytes, but within `whole` seconds.
    `unzipped`: a number of bytes, beyond which a body of gzip may be so many times as long; None: as files.
    """

    most: int
    together: int
    number: int
    seconds: float
    whole: float
    step: float = inf
    arriving: set["_Body"] = field(default_factory=set)
    held: int = 0
    unzipped: tuple[int | None, int | None] = (None, None)

    def too_long(self) -> HttpProblem:
        """Return the problem of a body that is too long."""
        return HttpProblem(413, f"at most {self.most:,} bytes are allowed in a body here")


class Bodies:
    """The bodies that a server receives: uploads of documents, which go to files, and others, which stay in memory."""

    def __init__(self, limits: Limits) -> None:
        self._uploads = _Kind(limits.upload, limits.uploaded, limits.uploads, limits.idle, limits.upload_seconds, _STEP)
        self._uploads.unzipped = (limits.body, limits.ratio)
        self._others = _Kind(limits.body, limits.bodies, limits.connections, limits.seconds, limits.seconds)

    @contextmanager
    def received(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Iterator[Receive]:
        """Yield a `receive` with an unzipped, limited body, which counts as held until the end of the block.

        Raises HttpProblem for a length or an encoding that is refused; the yielded function raises further ones.
        """
        is_upload = scope["method"] == "POST" and _UPLOAD.fullmatch(scope["path"])
        kind, length = self._uploads if is_upload else self._others, headers.get("content-length", "0")
        if not length.isdecimal():
            raise HttpProblem(400, "the length of the body must be a whole number")
        if int(length) > kind.most:
            raise kind.too_long()
        body = _Body(kind, _unzipped(headers, receive, kind))
        try:
            yield body.receive
        finally:
            body.close()


class _Body:
    """The body of one request."""

    def __init__(self, kind: _Kind, receive: Receive) -> None:
        self._kind, self._receive = kind, receive
        self._size = self._held = 0
        self._patience, self._left, self._complete = kind.seconds, kind.whole, False

    async def receive(self) -> Message:
        """Return the next message.

        Raises HttpProblem: 413 for a body that is too long, 408 for one that does not arrive in time, 503 if there is
        no room for it, 499 if the client leaves before its end.
        """
        if self._complete:
            return await self._receive()  # the client has left, or sends nothing more
        arriving, began = self._kind.arriving, monotonic()
        if self not in arriving and len(arriving) >= self._kind.number:
            raise _no_room()
        arriving.add(self)
        try:
            message = await asyncio.wait_for(self._receive(), max(0.01, min(self._patience, self._left)))
        except TimeoutError as error:
            raise HttpProblem(408, "the body did not arrive in time") from error
        if message["type"] != "http.request":
            raise HttpProblem(499, "the client has left")
        self._count(len(message.get("body", b"")), monotonic() - began)
        if not message.get("more_body", False):
            self._complete = True
            arriving.discard(self)
        return message

    def _count(self, size: int, waited: float) -> None:
        kind = self._kind
        self._left -= waited
        self._patience = min(kind.seconds, self._patience - waited + size * kind.seconds / kind.step)
        self._size += size
        if self._size > kind.most:
            raise kind.too_long()
        held = max(0, self._size - _SMALL)
        kind.held += held - self._held
        self._held = held
        if held and kind.held > kind.together:
            raise _no_room()

    def close(self) -> None:
        """Forget the body."""
        self._kind.arriving.discard(self)
        self._kind.held -= self._held
        self._held = 0


def _no_room() -> HttpProblem:
    return HttpProblem(503, "too many long bodies arrive or wait: try again later", {"Retry-After": "1"})


def _unzipped(headers: Mapping[str, str], receive: Receive, kind: _Kind) -> Receive:
    """Return a `receive` that unzips a body of gzip, so that the rest of the server sees no difference.

    No JSON begins like gzip, so that gzip need not be declared: `curl --data-binary @docs.jsonl.gz`. Raises HttpProblem
    415 for another encoding; the returned function raises 400 for damaged data, and 413 for data that expand too much.
    """
    encoding = headers.get("content-encoding", "").strip().lower() or "identity"
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise HttpProblem(415, "the body may be encoded by gzip, or not at all", {"Accept-Encoding": "gzip"})
    messages = _messages(receive, kind, is_declared=encoding != "identity")

    async def received() -> Message:
        async for message in messages:
            return message
        return await receive()  # the rest of a body that is not gzip, or a later message

    return received


async def _messages(receive: Receive, kind: _Kind, *, is_declared: bool) -> AsyncIterator[Message]:
    """Yield the unzipped messages of a body of gzip, or the first message of another body."""
    message = await _first(receive)
    if not (message["type"] == "http.request" and (is_declared or is_gzip(message["body"]))):
        yield message
        return
    piece, rest = b"", message["body"]

    def read(_: int) -> bytes:
        nonlocal piece
        if not piece and (rest or message["more_body"]):
            raise BlockingIOError
        given, piece = piece, b""
        return given

    data, body = bytearray(), Unzipped(read, allowed=kind.unzipped[0], ratio=kind.unzipped[1])
    while message["type"] == "http.request":
        try:
            part = body.read(_BLOCK - len(data))
        except BlockingIOError:
            await asyncio.sleep(0)
            if not rest:
                message = {"more_body": False} | await receive()
                rest = message.get("body", b"")
            piece, rest = rest[:_PIECE], rest[_PIECE:]
            continue
        except DAMAGED as error:
            raise _of_gzip(error) from error
        data += part
        if len(data) >= _BLOCK or not part:
            await asyncio.sleep(0)
            yield {"type": "http.request", "body": bytes(data), "more_body": bool(part)}
            data.clear()
        if not part:
            return
    yield message  # the client has left


def _of_gzip(error: Exception) -> HttpProblem:
    if isinstance(error, GzipBomb):
        return HttpProblem(413, f"the body is gzip, and {error}")
    return HttpProblem(400, f"the gzip data of the body are damaged or cut short: {error}")


async def _first(receive: Receive) -> Message:
    """Return the first message of a body, with enough bytes to identify gzip unless the body is shorter."""
    message = {"body": b"", "more_body": False} | await receive()
    while message["more_body"] and len(message["body"]) < _HEAD:
        more = await receive()
        message = {"more_body": False} | more | {"body": message["body"] + more.get("body", b"")}
    return message
