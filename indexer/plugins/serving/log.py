"""The log on standard error: requests, warnings and errors, each a line or a JSON object, without texts and tokens."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from secrets import token_hex
from traceback import format_tb
from typing import Any, Literal
from urllib.parse import quote

from moverank.indexer.formatters.escaping import printable

LogFormat = Literal["text", "json"]

REQUEST_ID = "X-Request-ID"
"""The header of every answer with the id of its request."""

request_id = ContextVar("request_id", default="")
"""The id of the request that is being answered; empty outside of requests."""

_SOURCES = ("moverank", "uvicorn", "asyncio", "concurrent.futures", "py.warnings")
_LONGEST = 500  # characters of a path, a method or an address: clients choose them
_FRAMES = -50  # the last frames of a traceback

_log = logging.getLogger("moverank")


def start_log(form: LogFormat) -> None:
    """Log the work of this process on standard error, and nowhere else."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if form == "json" else _Text())
    for source in map(logging.getLogger, _SOURCES):
        source.handlers, source.propagate = [handler], False
    _log.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # errors of a closed or full standard error are ignored


def log_format() -> LogFormat:
    """Return the format of this process's log, for a process that it starts."""
    is_json = any(isinstance(handler.formatter, _Json) for handler in _log.handlers)
    return "json" if is_json else "text"


def new_request() -> str:
    """Begin a request, and return its id."""
    made = token_hex(8)
    request_id.set(made)
    return made


def log_request(method: str, path: str, status: int, seconds: float, client: str) -> None:
    """Log a request that was answered, without the parameters of its URL, which may be texts."""
    values = {"method": method, "path": quote(path, safe="/:@!$&'()*+,;=~"), "client": quote(client, safe=":.%")}
    request = {name: value[:_LONGEST] for name, value in values.items()}
    _log.info("", extra={"request": request | {"status": status, "seconds": round(seconds, 4)}})


class _Text(logging.Formatter):
    """Records as lines; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        facts = _facts(record)
        trace = facts.pop("traceback", "")
        del facts["level"]
        return printable(" ".join(str(value) for value in facts.values())) + (f"\n{trace}" if trace else "")


class _Json(logging.Formatter):
    """Records as JSON objects, one a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_facts(record))


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    """Return the facts of a record by name."""
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    facts: dict[str, Any] = {"time": time.replace("+00:00", "Z"), "level": record.levelname.lower()}
    if identity := request_id.get():
        facts["id"] = identity
    request: dict[str, Any] = getattr(record, "request", {})
    if request:
        return facts | request
    message = record.getMessage()
    facts["message"] = message if record.name == "moverank" else message.partition("\n")[0]  # the rest has values
    if record.exc_info and record.exc_info[1]:
        facts["traceback"] = _traceback(record.exc_info[1])
    return facts


def _traceback(error: BaseException) -> str:
    """Return the traceback of an error and its causes, without messages, which may hold a text."""
    parts, seen = list[str](), set[int]()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        reason = f": {one.strerror}" if isinstance(one, OSError) and one.strerror else ""
        frames = "".join(format_tb(one.__traceback__, _FRAMES))
        parts.append(f"Traceback (most recent call last):\n{frames}{type(one).__qualname__}{reason}")
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return "\n\n".join(reversed(parts))
