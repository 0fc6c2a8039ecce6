"""Problems: errors as JSON objects of one form, `application/problem+json` (RFC 9457), each with a status."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException

from moverank.indexer.errors import (
    CollectionError,
    ConnectionLost,
    DamagedFile,
    IndexerError,
    LockedError,
    NoPermission,
    PartLost,
    RecordError,
    UnknownKey,
    UsageError,
    VectorsError,
)
from moverank.indexer.plugins.serving.log import request_id
from moverank.rerank.errors import MissingExtra, NoKnownWords, OutOfTime, RerankError, TooLarge

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The methods that are known by name."""

MEDIA_TYPE = "application/problem+json"
INTERNAL = "the server failed: its log has the reason"

NOT_PERMITTED = "the user of this server has no right to change, or to read, this collection: its log has the reason"

LOST = "the connection to the database was lost: a change was made as a whole or not at all; send the request again"

_LONGEST = 1000  # characters of a sentence

_log = logging.getLogger("moverank")

STATUS: Mapping[type[Exception], int] = {
    UnknownKey: 404,
    LockedError: 503,
    DamagedFile: 500,
    RecordError: 422,
    UsageError: 422,
    NoKnownWords: 422,
    VectorsError: 500,
    NoPermission: 403,
    CollectionError: 503,
    OutOfTime: 504,
    TooLarge: 413,
    IndexerError: 500,
    MissingExtra: 500,
    RerankError: 422,
}
"""The status of each class of errors; the first class that fits counts."""

TITLES: Mapping[int, str] = {one.value: one.phrase.lower() for one in HTTPStatus} | {
    413: "content too large",  # versions of Python name these otherwise
    422: "unprocessable content",
    499: "client closed request",
    504: "timeout",
}


class HttpProblem(HTTPException):
    """An error with a status, a sentence for the client, and perhaps headers."""


def problem_object(status: int, detail: str, error: str | None = None) -> dict[str, Any]:
    """Return the JSON object of a problem; `error` is the name of the package's error."""
    if len(detail) > _LONGEST:  # it repeats the client's input: the remedy is at its end
        detail = f"{detail[: _LONGEST // 2]} ... {detail[-_LONGEST // 2 :]}"
    named = {"error": error} if error else {}
    about = {"type": "about:blank", "title": TITLES.get(status, "error"), "status": status, "detail": detail}
    return about | named | {"request_id": request_id.get()}


def answer_of(error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the sentence and the headers for an error; the reason of an internal one is only logged."""
    if isinstance(error, HttpProblem):
        return error.status_code, str(error.detail), error.headers or {}
    status = status_of(error)
    retry = {"Retry-After": "1"} if isinstance(error, LockedError | ConnectionLost | PartLost) else {}
    if status >= 500 and not isinstance(error, LockedError | OutOfTime | PartLost):
        _log.error("a request failed: %s", error)
        return status, LOST if isinstance(error, ConnectionLost) else INTERNAL, retry
    if isinstance(error, NoPermission):
        _log.error("a request failed: %s", error)
        return status, NOT_PERMITTED, retry
    return status, str(error), retry


def status_of(error: Exception) -> int:
    """Return the status of a problem or of an error of the package; 500 for any other."""
    if isinstance(error, HttpProblem):
        return int(error.status_code)
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)
