"""Responses for problems, as JSON or as pages, and the handlers that make every error one."""

import json
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException as StarletteError
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from moverank.indexer.operations.json_types import invalid_sentence
from moverank.indexer.plugins.serving.pages.rendering import problem_page
from moverank.indexer.plugins.serving.problems import (
    INTERNAL,
    MEDIA_TYPE,
    METHODS,
    STATUS,
    HttpProblem,
    answer_of,
    problem_object,
)


class ProblemResponse(JSONResponse):
    """A problem as JSON, and as a page for clients that accept HTML, as browsers do."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the problem."""
        self.headers["Vary"] = "Accept"  # for caches
        if b"text/html" not in dict(scope["headers"]).get(b"accept", b""):
            await super().__call__(scope, receive, send)
            return
        page = problem_page(scope.get("root_path", ""), self.status_code, json.loads(self.body))
        kept = {name: value for name, value in self.headers.items() if not name.startswith("content-")}
        await HTMLResponse(page, self.status_code, kept)(scope, receive, send)


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, error: str | None = None
) -> ProblemResponse:
    """Return the response for a problem."""
    return ProblemResponse(problem_object(status, detail, error), status, dict(headers or {}), MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Make every error of `app` a problem: no traceback and no path of this machine reaches a client."""
    app.add_exception_handler(StarletteError, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    for error in STATUS:
        app.add_exception_handler(error, _of_error)
    app.add_exception_handler(Exception, _of_defect)


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, StarletteError):
        raise error
    detail, headers = str(error.detail), error.headers
    if error.status_code == 405:
        allowed = _allowed_methods(request)
        headers = {"Allow": ", ".join(allowed)}
        detail = f"{request.method} is not possible here: send {' or '.join(allowed)}"
    elif error.status_code == 400 and not isinstance(error, HttpProblem):  # FastAPI's own
        detail = "the body is no JSON: it is not UTF-8, too deep, or has a number that is too long"
    return problem_response(error.status_code, detail, headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of a request's path, by all of its routes; the framework names the methods of one route."""
    routes = request.app.router.routes
    found = {
        method
        for method in METHODS
        if any(route.matches(request.scope | {"method": method})[0] is Match.FULL for route in routes)
    }
    if "GET" in found:
        found.add("HEAD")
    return [method for method in METHODS if method in found]


async def _of_validation(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"] if step not in ("body", "query", "path"))
    if first["loc"][0] == "body":
        sent = request.headers.get("content-type", "").strip()
        kind = sent.partition(";")[0].strip().lower()
        if first["type"] == "missing" and not place:
            return problem_response(422, "there is no body: send a JSON object")
        if sent and kind != "application/json" and not kind.endswith("+json"):
            sentence = "send the JSON with the header `Content-Type: application/json` (curl has --json for that)"
            return problem_response(415, f"{sentence}, not as {kind[:100] or 'a type without a name'}")
        if first["type"] == "json_invalid":
            return problem_response(422, f"the body is broken JSON at character {place}: {first['ctx']['error']}")
        if not place and first["type"] != "value_error":
            return problem_response(422, "the body must be a JSON object")
    if first["type"] == "extra_forbidden":
        return problem_response(422, f"{place} is no field of this request: see /openapi.json for those that there are")
    return problem_response(422, invalid_sentence(place, first))


async def _of_defect(_: Request, __: Exception) -> JSONResponse:
    """Return the answer after an unexpected error; the framework raises the error again, and it is logged."""
    return problem_response(500, INTERNAL)


async def _of_error(_: Request, error: Exception) -> JSONResponse:
    status, sentence, headers = answer_of(error)
    return problem_response(status, sentence, headers, None if sentence == INTERNAL else type(error).__name__)
