"""A problem as a page, for browsers: other clients get its JSON."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moverank.indexer.server.pages.rendering import problem_page
from moverank.indexer.server.problems import MEDIA_TYPE


class ProblemPages:
    """The application `app`, whose problems are pages for clients that accept HTML, as browsers do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; replace a problem in the answer."""
        await self._app(scope, receive, _Replacing(scope, send).send if scope["type"] == "http" else send)


class _Replacing:
    """The answer to a client: a problem is held back until it is complete, if the client accepts pages."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._is_browser = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Send a message of the answer, or keep it."""
        if message["type"] == "http.response.start" and _is_problem(message):
            message["headers"] = [*message["headers"], (b"vary", b"Accept")]  # for caches
            self._start = message if self._is_browser else None
        if message is self._start:
            return
        if self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._replace(self._start)

    async def _replace(self, start: Message) -> None:
        """Send the page in place of the JSON, with the same status and the other headers."""
        problem: Mapping[str, Any] = json.loads(self._body or b"{}")
        page = problem_page(self._scope.get("root_path", ""), start["status"], problem).encode()
        kept = [(name, value) for name, value in start["headers"] if name.lower() not in _OF_BODY]
        sizes = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(page)).encode())]
        await self._send(start | {"headers": [*kept, *sizes]})
        await self._send({"type": "http.response.body", "body": page})


_OF_BODY = (b"content-type", b"content-length")


def _is_problem(start: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(MEDIA_TYPE.encode()) for name, value in start["headers"]
    )
