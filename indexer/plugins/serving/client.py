"""Searches by a running server, without the imports that a search in this process needs."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from moverank.indexer import operations
from moverank.indexer.errors import CollectionError, IndexerError, QueryVectorError, UnknownKey, UsageError
from moverank.indexer.operations.operated import Operated
from moverank.indexer.operations.operation import Found, Operation
from moverank.indexer.values.option import options_of
from moverank.indexer.values.search_options import Progress, SearchOptions, silent
from moverank.rerank.errors import NoKnownWords, OutOfTime, RerankError
from moverank.rerank.ranking import Ranking

if TYPE_CHECKING:  # it would import numpy
    from moverank.indexer.values.queries import QueryText, StoredKey

_Answer = TypeVar("_Answer")

_ERRORS: Mapping[str, type[IndexerError | RerankError]] = {
    "UsageError": UsageError,
    "QueryVectorError": QueryVectorError,
    "UnknownKey": UnknownKey,
    "NoKnownWords": NoKnownWords,
    "OutOfTime": OutOfTime,
}
_SECONDS = 120.0  # until an answer


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, which would send the token to another server."""

    def redirect_request(self, request: Request, *answer: Any) -> None:
        """Raise CollectionError with the URL, the last of the `answer`; urllib has encoded its special characters."""
        raise CollectionError(f"the server at {request.full_url} redirects to {answer[-1]}: name the right URL")


class RemoteCollection(Operated):
    """The collection `name` (None: the first) of the server at `url`; `token`: the server's token, if it requires one.

    Raises UsageError for an invalid URL, CollectionError if the server does not answer as a moverank server, and the
    errors of a search in this process.
    """

    NAME = "server"

    @staticmethod
    def holds(place: str) -> bool:
        """Return whether a place is the URL of a server."""
        return place.startswith(("http://", "https://"))

    @classmethod
    def open(cls, url: str, *, wait: float = 0.0) -> "RemoteCollection":
        """Return the first collection of a server, whose token is in the environment; nothing `wait`s."""
        _ = wait
        return cls(url, None, os.environ.get("MOVERANK_TOKEN"))

    @staticmethod
    def places(url: str) -> tuple[str, ...]:
        """Return the URL."""
        return (url,)

    @staticmethod
    def check_shared(url: str) -> None:
        """Raise UsageError: no server serves the collections of another."""
        raise UsageError(f"{url} is a server already: name the collection itself")

    def __init__(self, url: str, name: str | None, token: str | None) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UsageError(f"{url!r} is not the URL of a server: it begins with http:// or https://")
        self._url, self._token = url.rstrip("/"), token
        self._open = build_opener(_NoRedirects).open
        self._name = name or self._first()

    def run(self, operation: Operation[Found], *, progress: Progress = silent) -> Found:
        """Return the server's answer to an operation, which reports no progress; UsageError if servers answer none."""
        _ = progress
        if not operation.SERVED:
            raise UsageError(f"a server does not answer `{operation.NAME}`: run it where the collection is")
        found = self._read(operation.ANSWER.from_dict, self._post(operation.NAME, _body(operation)))
        return cast("Found", found)

    def _answer_many(self, requests: "Iterable[QueryText | StoredKey]", options: SearchOptions) -> Iterator[Ranking]:
        from moverank.indexer.values.queries import StoredKey

        for one in requests:
            if isinstance(one, StoredKey):
                operation: Operation[Ranking] = operations.Similar(key=one.key, options=options)
            else:
                operation = operations.Search(query=one, options=options)
            try:
                yield self.run(operation)
            except (NoKnownWords, UnknownKey) as error:
                yield Ranking((), certified=False, scope="collection", problem=str(error))

    def _read(self, read: Callable[[Mapping[str, Any]], _Answer], values: Mapping[str, Any]) -> _Answer:
        try:
            return read(values)
        except (KeyError, TypeError, ValueError) as error:
            raise self._foreign() from error

    def _first(self) -> str:
        try:
            return str(self._get("/collections")["collections"][0]["name"])
        except (KeyError, IndexError, TypeError) as error:
            raise self._foreign() from error

    def _foreign(self) -> CollectionError:
        return CollectionError(f"{self._url} does not answer as a server of this version does")

    def _post(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        path = f"/collections/{quote(self._name, safe='')}/{action}"
        return self._get(path, json.dumps(body).encode())

    def _get(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            with self._open(Request(self._url + path, body, headers), timeout=_SECONDS) as answer:  # noqa: S310 - checked
                values = json.load(answer)
        except HTTPError as error:
            raise self._problem(error) from error
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise CollectionError(f"the server at {self._url} does not answer: {reason}") from error
        except ValueError as error:
            raise self._foreign() from error
        if not isinstance(values, dict):
            raise self._foreign()
        return values

    def _problem(self, error: HTTPError) -> Exception:
        """Return the error that a search in this process would have raised."""
        try:
            with error:
                problem = json.load(error)
            return _ERRORS.get(problem.get("error"), CollectionError)(str(problem["detail"]))
        except (ValueError, KeyError, AttributeError):
            return CollectionError(f"the server at {self._url} answers {error.code} {error.reason}")


def _text(query: "QueryText") -> str | dict[str, Any]:
    if isinstance(query, str):
        return query
    from moverank.indexer.values.queries import query_document

    record = query_document(query).to_dict()
    return {name: record[name] for name in ("key", "title", "parts", "title_counts", "vector") if name in record}


def _json_value(value: Any) -> Any:
    """Return the value of an option as JSON."""
    if isinstance(value, list | tuple):
        return [_json_value(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | Mapping) else _text(value)


def _body(record: Any) -> dict[str, Any]:
    """Return the options of a search or an operation as fields of a request, without options that are not given."""
    declared = [one for one in options_of(type(record)).values() if one.option.http]
    given = {one.key: _json_value(value) for one in declared if (value := one.of(record)) != one.default}
    own = record if isinstance(record, SearchOptions) else getattr(record, "options", None)
    if own is None:
        return given
    if own.stop is not None:
        raise UsageError("a search by a server cannot be stopped from here: give it a budget")
    if own.most_characters is not None:
        raise UsageError("the size of an answer is limited by the server: leave most_characters out")
    given |= {} if own.ranking is None else {"rank": own.ranking}
    return given | ({"highlight": True} if own.highlight else {})
