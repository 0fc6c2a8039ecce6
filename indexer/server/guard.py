"""What every request passes first: host names, the token, limits of size and time; and the headers of every answer."""

import asyncio
import base64
import binascii
import hmac
import ipaddress
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic, perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moverank.indexer.server.limits import Limits
from moverank.indexer.server.metrics import Metrics
from moverank.indexer.server.problems import INTERNAL, Problem, problem_response

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
WITHOUT_TOKEN = frozenset({"/health"})

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_UPLOADS = "/documents"
_log = logging.getLogger("moverank")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a server: clients that name one of `hosts`, and know the `token`, unless it is None.

    `any_address`: any IP address is a valid host name, too, as for a server that is bound to all addresses. `origins`
    are the web origins of other pages that may use it. `open_paths` need no token.
    """

    hosts: frozenset[str] = LOCAL
    token: str | None = None
    any_address: bool = False
    origins: tuple[str, ...] = ()
    open_paths: frozenset[str] = WITHOUT_TOKEN

    def allows_host(self, header: str) -> bool:
        """Return whether the Host header names this server: a page of another host cannot reach it by DNS."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdecimal() else header
        name = name.strip("[]").lower()
        return name in self.hosts or (self.any_address and _is_address(name))

    def allows_origin(self, headers: Mapping[str, str]) -> bool:
        """Return whether no page sent a request, or one of this server or of a named origin.

        A form of another page can send some requests without asking; browsers name its origin.
        """
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        return origin in self.origins or origin.partition("://")[2].lower() == headers.get("host", "").lower()

    def allows_token(self, header: str) -> bool:
        """Return whether the Authorization header has the token, as Bearer, or as the password of Basic."""
        if self.token is None:
            return True
        scheme, _, given = header.partition(" ")
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                given = ""
        elif scheme.lower() != "bearer":
            given = ""
        return hmac.compare_digest(given.strip().encode(), self.token.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """An ASGI application around `app` that checks requests, and measures them."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits, metrics: Metrics) -> None:
        self._app, self._access, self._limits, self._metrics = app, access, limits, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(send)
        began = perf_counter()
        try:
            self._check(scope)
            await self._app(scope, self._limited(scope, receive), exchange.send)
        except Problem as problem:
            await exchange.fail(scope, receive, problem)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets no traceback
            _log.exception("a request failed")
            await exchange.fail(scope, receive, Problem(500, INTERNAL))
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count_request(scope["method"], route, exchange.status, perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        """Raise a Problem unless host and token are right, and the body is as short as it says."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._access.allows_host(headers.get("host", "")):
            raise Problem(421, "this server has another name: --allow-host adds one")
        if scope["path"] not in self._access.open_paths and not self._access.allows_token(
            headers.get("authorization", "")
        ):
            # Chromium asks for a password only if Basic is the first scheme.
            challenge = {"WWW-Authenticate": 'Basic realm="moverank", Bearer realm="moverank"'}
            raise Problem(401, "a token is needed: send it as `Authorization: Bearer TOKEN`", challenge)
        if scope["method"] not in SAFE_METHODS and not self._access.allows_origin(headers):
            raise Problem(403, "pages of another origin may not use this server: --cors names one that may")
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise Problem(400, "the length of the body must be a whole number")
        if int(length) > self._most(scope):
            raise Problem(413, f"at most {self._most(scope):,} bytes are allowed in a body here")

    def _most(self, scope: Scope) -> int:
        is_upload = scope["method"] == "POST" and scope["path"].endswith(_UPLOADS)
        return self._limits.upload if is_upload else self._limits.body

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return `receive` that raises a Problem for a body that is too long, or does not arrive in time."""
        most, size, complete = self._most(scope), 0, False
        deadline = monotonic() + self._limits.seconds

        async def limited() -> Message:
            nonlocal size, complete, deadline
            if complete:
                return await receive()  # the client has left, or sends nothing more
            try:
                message = await asyncio.wait_for(receive(), max(0.01, deadline - monotonic()))
            except TimeoutError as error:
                raise Problem(408, "the body did not arrive in time") from error
            size += len(message.get("body", b""))
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            if size > most:
                raise Problem(413, f"at most {most:,} bytes are allowed in a body here")
            if most == self._limits.upload:  # a long upload only has to go on
                deadline = monotonic() + self._limits.seconds
            return message

        return limited


class _Exchange:
    """The answer to one request: its headers are completed, and its status is known."""

    def __init__(self, send: Send) -> None:
        self._send, self.status, self._started = send, 500, False

    async def send(self, message: Message) -> None:
        """Send a message of the answer."""
        if message["type"] == "http.response.start":
            self.status, self._started = message["status"], True
            present = {name.lower() for name, _ in message["headers"]}
            missing = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *((n, v) for n, v in missing if n not in present)]
        await self._send(message)

    async def fail(self, scope: Scope, receive: Receive, problem: Problem) -> None:
        """Answer with a problem, unless the answer has begun."""
        if not self._started:
            headers = dict(problem.headers or {}) | {"Connection": "close"}
            await problem_response(problem.status_code, str(problem.detail), headers)(scope, receive, self.send)


def allowed_hosts(bound: str, names: Iterable[str], machine: str) -> tuple[frozenset[str], bool]:
    """Return the host names of a server bound to an address, with more `names`, and whether any address is one."""
    everywhere = bound in ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
    return LOCAL | {bound.lower(), machine.lower(), *(name.lower() for name in names)}, everywhere
