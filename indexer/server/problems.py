"""Errors as JSON objects of one form: `application/problem+json` (RFC 9457)."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteError

from moverank.indexer.errors import (
    CollectionError,
    ConnectionLost,
    DamagedFile,
    IndexerError,
    LockedError,
    RecordError,
    UnknownKey,
    UsageError,
    VectorsError,
)
from moverank.rerank.errors import NoKnownWords, RerankError

MEDIA_TYPE = "application/problem+json"
INTERNAL = "the server failed: its log has the reason"

LOST = "the connection to the database was lost: a change was made as a whole or not at all; send the request again"

_log = logging.getLogger("moverank")

_STATUS: Mapping[type[Exception], int] = {
    UnknownKey: 404,
    LockedError: 503,
    DamagedFile: 500,
    RecordError: 422,
    UsageError: 422,
    NoKnownWords: 422,
    VectorsError: 500,
    CollectionError: 503,
    IndexerError: 500,
    RerankError: 422,
}
"""The status of each error; the first class that fits counts."""

TITLES: Mapping[int, str] = {
    400: "bad request",
    401: "unauthorized",
    403: "forbidden",
    404: "not found",
    405: "method not allowed",
    408: "request timeout",
    413: "content too large",
    415: "unsupported media type",
    421: "misdirected request",
    422: "unprocessable content",
    429: "too many requests",
    499: "client closed request",
    500: "internal server error",
    503: "service unavailable",
    504: "timeout",
}


class Problem(HTTPException):
    """An error with a status, a sentence for the client, and perhaps headers."""


def problem_object(status: int, detail: str, error: str | None = None) -> dict[str, Any]:
    """Return the JSON object of a problem; `error` is the name of the package's error."""
    named = {"error": error} if error else {}
    return {"type": "about:blank", "title": TITLES.get(status, "error"), "status": status, "detail": detail} | named


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, error: str | None = None
) -> JSONResponse:
    """Return the response for a problem."""
    return JSONResponse(problem_object(status, detail, error), status, dict(headers or {}), MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Make every error of `app` a problem: no traceback and no path of this machine reaches a client."""
    app.add_exception_handler(StarletteError, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    for error in _STATUS:
        app.add_exception_handler(error, _of_error)


async def _of_http(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, StarletteError):
        raise error
    return problem_response(error.status_code, str(error.detail), error.headers)


async def _of_validation(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"] if step not in ("body", "query", "path"))
    return problem_response(422, f"{place}: {first['msg']}" if place else str(first["msg"]))


async def _of_error(_: Request, error: Exception) -> JSONResponse:
    status, sentence, headers = answer_of(error)
    return problem_response(status, sentence, headers, None if sentence == INTERNAL else type(error).__name__)


def answer_of(error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the sentence and the headers for an error; the reason of an internal one is only logged."""
    if isinstance(error, Problem):
        return error.status_code, str(error.detail), error.headers or {}
    status = status_of(error)
    retry = {"Retry-After": "1"} if isinstance(error, LockedError | ConnectionLost) else {}
    if status >= 500 and not isinstance(error, LockedError):
        _log.error("a request failed: %s", error)
        return status, LOST if isinstance(error, ConnectionLost) else INTERNAL, retry
    return status, str(error), retry


def status_of(error: Exception) -> int:
    """Return the status of a problem or of an error of the package; 500 for any other."""
    if isinstance(error, Problem):
        return int(error.status_code)
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
