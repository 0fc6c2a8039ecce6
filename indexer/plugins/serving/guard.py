"""The checks of every request: host name, token, limits of size and time; and the headers of every answer."""

import ipaddress
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.serving.bodies import Bodies
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.log import REQUEST_ID, log_request, new_request
from moverank.indexer.plugins.serving.metrics import Metrics
from moverank.indexer.plugins.serving.problem_responses import problem_response
from moverank.indexer.plugins.serving.problems import INTERNAL, HttpProblem
from moverank.indexer.plugins.serving.tokens import Tokens, WrongTokens

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
WITHOUT_TOKEN = frozenset({"/health", "/ready"})

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_log = logging.getLogger("moverank")


@dataclass(frozen=True, slots=True)
class Access:
    """The clients that may use a server: they name one of `hosts`, and send one of the `tokens`, unless these are None.

    `any_address`: any IP address is a valid host name, too, as for a server that is bound to all addresses. `origins`
    are the web origins of other pages that may use it. `open_paths` need no token, and any page may use them.
    """

    hosts: frozenset[str] = LOCAL
    tokens: Tokens | None = None
    any_address: bool = False
    origins: tuple[str, ...] = ()
    open_paths: frozenset[str] = WITHOUT_TOKEN

    def allows_host(self, header: str) -> bool:
        """Return whether the Host header names this server: no page of another host can reach it by DNS rebinding."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdecimal() else header
        name = name.strip("[]").lower()
        return name in self.hosts or (self.any_address and _is_address(name))

    def allows_page(self, method: str, target: str, headers: Mapping[str, str]) -> bool:
        """Return whether a request comes from a page of this server or a named origin, from no page, or from a link.

        A page can send requests by a form, an image or a script: even if it may not read the answer, the server has the
        work. Browsers name the origin of forms and scripts; for all other requests, Sec-Fetch-Site says whether they
        come from a page of another origin. Links from such pages are allowed, so that users can share searches. But a
        page can also open windows, so the request must be a navigation of a whole window after a click or a key
        (Sec-Fetch-User): a browser runs one of these at a time, and the next one ends the previous search. The start
        page without a search opens without a click, as at the end of a login.
        """
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if site == "same-origin":  # with a form of our own, which sends no referrer, the origin is `null`
            return True
        if origin is not None:
            return origin in self.origins or origin.partition("://")[2].lower() == headers.get("host", "").lower()
        if site == "none":
            return True
        navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return method == "GET" and navigates and (headers.get("sec-fetch-user") == "?1" or target == "/")

    def allows_token(self, header: str) -> bool:
        """Return whether the Authorization header has a valid token, or none is needed."""
        return self.tokens is None or self.tokens.allow(header)

    def shared_with(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers by which a browser lets the page of a named origin read an answer (CORS)."""
        if not self.origins:
            return {}
        origin = headers.get("origin", "")
        shared = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "*"}
        return {"Vary": "Origin"} | (shared if origin in self.origins else {})

    def preflight(self, method: str, headers: Mapping[str, str]) -> Response | None:
        """Return the answer to the question of a browser whether a page of a named origin may send a request.

        None if the request is no such question. Browsers send it without a token.
        """
        asked = headers.get("access-control-request-method")
        if method != "OPTIONS" or asked is None or headers.get("origin") not in self.origins:
            return None
        allowed = {
            "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
            "Access-Control-Allow-Headers": headers.get("access-control-request-headers", "*"),
            "Access-Control-Max-Age": "600",
        }
        if "access-control-request-private-network" in headers:
            allowed["Access-Control-Allow-Private-Network"] = "true"
        return Response(status_code=204, headers=allowed)


_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?")
_PORTS = {"http": "80", "https": "443"}


def checked_origin(text: str) -> str:
    """Return a web origin as browsers write it; UsageError for an origin that no browser, or any page, sends."""
    if text == "*":
        raise UsageError(
            "--cors '*' would let the pages of every web site use this server: name each origin, such as "
            "https://app.example"
        )
    found = _ORIGIN.fullmatch(text.lower())
    if found is None or found[1] == "file":
        raise UsageError(
            f"--cors {text!r} is not the origin of a page: write scheme://host or scheme://host:port, without a path "
            "or a slash at the end, such as https://app.example"
        )
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" if port in (None, _PORTS.get(scheme)) else f"{scheme}://{host}:{int(port)}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """An ASGI application around `app` that checks requests, measures and logs them, each with an id."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits, metrics: Metrics) -> None:
        self._app, self._access, self._metrics = app, access, metrics
        self._bodies, self._wrong_tokens = Bodies(limits), WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem. HEAD is answered as GET; uvicorn sends no body with it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        exchange = _Exchange(send, HEADERS | {REQUEST_ID: new_request()} | self._access.shared_with(headers))
        began, method = perf_counter(), scope["method"]
        if method == "HEAD":
            scope = scope | {"method": "GET"}
        try:
            app = await self._checked(scope, headers)
            with self._bodies.received(scope, headers, receive) as received:
                await app(scope, received, exchange.send)
        except HttpProblem as problem:
            await exchange.fail(scope, receive, problem)
        except Exception:  # noqa: BLE001 - the client gets no traceback of any error
            _log.exception("a request failed")
            await exchange.fail(scope, receive, HttpProblem(500, INTERNAL))
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds, client = perf_counter() - began, (scope.get("client") or ("",))[0]
            self._metrics.count_request(method, route, exchange.status, seconds)
            log_request(method, scope["path"], exchange.status, seconds, client)

    async def _checked(self, scope: Scope, headers: Mapping[str, str]) -> ASGIApp:
        """Return the application that answers a request; HttpProblem unless host, token and page are right."""
        access, method, path = self._access, scope["method"], scope["path"]
        if "transfer-encoding" in headers and "content-length" in headers:
            raise HttpProblem(400, "a request has either a Content-Length or a Transfer-Encoding")
        if not access.allows_host(headers.get("host", "")):
            raise HttpProblem(421, "this server has another name: --allow-host adds one")
        answer = access.preflight(method, headers)
        if answer is not None:
            return answer
        if path not in access.open_paths:
            target = f"{path}?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else path
            if not access.allows_page(method, target, headers):
                raise HttpProblem(403, "pages of another origin may not use this server: --cors names one that may")
            await self._check_token(scope, headers.get("authorization", ""))
        return self._app

    async def _check_token(self, scope: Scope, authorization: str) -> None:
        """Raise HttpProblem 401 unless the token is right, after a pause if the client has sent several wrong ones."""
        if self._access.allows_token(authorization):
            return
        if authorization:  # browsers send no token before a challenge
            await self._wrong_tokens.pause((scope.get("client") or ("",))[0])
        # Chromium prompts for a password only if Basic is the first scheme.
        challenge = {"WWW-Authenticate": 'Basic realm="moverank", Bearer realm="moverank"'}
        raise HttpProblem(401, "a token is needed: send it as `Authorization: Bearer TOKEN`", challenge)


class _Exchange:
    """The answer to one request: its headers are completed, and its status is known."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send, self._headers, self.status, self._started = send, headers, 500, False

    async def send(self, message: Message) -> None:
        """Send a message of the answer."""
        if message["type"] == "http.response.start":
            self.status, self._started = message["status"], True
            present = {name.lower() for name, _ in message["headers"]}
            missing = [(name.lower().encode(), value.encode()) for name, value in self._headers.items()]
            message["headers"] = [
                *message["headers"],
                *((n, v) for n, v in missing if n not in present or n == b"vary"),
            ]
        await self._send(message)

    async def fail(self, scope: Scope, receive: Receive, problem: HttpProblem) -> None:
        """Answer with a problem, unless the answer has begun."""
        if not self._started:
            headers = dict(problem.headers or {}) | {"Connection": "close"}
            await problem_response(problem.status_code, str(problem.detail), headers)(scope, receive, self.send)


def allowed_hosts(bound: str, names: Iterable[str], machine: str) -> tuple[frozenset[str], bool]:
    """Return the host names of a server bound to an address, with more `names`, and whether any address is one."""
    everywhere = bound in ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
    return LOCAL | {bound.lower(), machine.lower(), *(name.lower() for name in names)}, everywhere
