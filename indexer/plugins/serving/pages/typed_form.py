"""The fields of a form as they were typed, which a page shows again, and their meaning."""

import json
import zlib
from asyncio import to_thread
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import Request

from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.requests import SearchParameters
from moverank.indexer.reading.formats.threads import Comment, thread_parts
from moverank.indexer.values.documents import Document, Part

_CHOICES = ("k", "depth", "exact", "rank", "other_rank", "where")
_THREAD = ("title", "body", "comment")
_MOST_FIELDS = 1000
_LONGEST_PACKED = 4000  # characters of an address, of which servers and proxies take 8,000
_MOST_BYTES = 2**16  # of a thread in an address: few characters must not become a long query

FormFields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TypedForm:
    """Names and values of the fields of a form, in order; a name may occur several times."""

    fields: FormFields = ()

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]]) -> "TypedForm":
        """Return the form with these fields, without the empty ones; line ends become Unix line ends.

        A field `thread`, as `packed` returns it, becomes the fields of the thread; HttpProblem 400 if it is unreadable.
        """
        every = (one for field in fields for one in (_unpacked(field[1]) if field[0] == "thread" else [field]))
        lines = ((name, value.replace("\r\n", "\n")) for name, value in every)
        return cls(tuple((name, value) for name, value in lines if value.strip()))

    def one(self, name: str) -> str:
        """Return the first value of a field, empty if there is none."""
        return next((value for field, value in self.fields if field == name), "")

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for field, value in self.fields if field == name]

    @property
    def conditions(self) -> list[str]:
        """Return the conditions of the filter: one on each line."""
        lines = (line.strip() for value in self.every("where") for line in value.splitlines())
        return [line for line in lines if line]

    @property
    def rank(self) -> str | None:
        """Return the ranking that was typed, or else chosen; None for the collection's own."""
        return self.one("other_rank").strip() or self.one("rank") or None

    @property
    def thread(self) -> Document | None:
        """Return the thread that was typed, None if there is none."""
        title = " ".join(self.one("title").split())
        parts = thread_parts(title, self.one("body"), [Comment(text) for text in self.every("comment")])
        return Document("", title, parts) if title or parts else None

    @property
    def packed(self) -> str:
        """Return the typed thread, compressed for an address; "" without a thread, or if it is too long."""
        return _packed(tuple(field for field in self.fields if field[0] in _THREAD))

    @property
    def query(self) -> Document | None:
        """Return the text or the thread to search for, None if nothing was typed."""
        return Document("", parts=(Part(self.one("q")),)) if self.one("q") else self.thread

    @property
    def chosen(self) -> bool:
        """Return whether an option was chosen in the folded part of the form."""
        return any(self.one(name) for name in ("depth", "exact", "other_rank", "where"))

    def options(self) -> SearchParameters:
        """Return the options of a search; UsageError for an invalid number."""
        return SearchParameters(
            k=_whole("the number of hits", self.one("k")) or 10,
            depth=_whole("the number of candidates", self.one("depth")),
            exact=bool(self.one("exact")),
            rank=self.rank,
            where=self.conditions or None,
        )

    def link(self, path: str, **changes: str) -> str:
        """Return the URL of `path` with this query and its options; `changes` replace fields, "" removes one."""
        text = urlencode([*self.hidden(*changes), *((name, value) for name, value in changes.items() if value)])
        return f"{path}{'&' if '?' in path else '?'}{text}" if text else path

    def hidden(self, *names: str) -> list[tuple[str, str]]:
        """Return the query and the options without some fields, as hidden fields of another form."""
        every = [*self.fields, *([("thread", self.packed)] if self.packed else [])]
        return [field for field in every if field[0] in (*_CHOICES, "q", "similar", "thread") and field[0] not in names]


@lru_cache(maxsize=8)
def _packed(fields: FormFields) -> str:
    content = json.dumps(fields).encode()
    if not fields or len(content) > _MOST_BYTES:
        return ""
    text = urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")
    return text if len(text) <= _LONGEST_PACKED else ""


def _unpacked(text: str) -> Iterator[tuple[str, str]]:
    if not text:
        return
    opened = zlib.decompressobj()
    try:
        content = opened.decompress(urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MOST_BYTES)
        fields = [(str(name), str(value)) for name, value in json.loads(content)[:_MOST_FIELDS] if name in _THREAD]
        json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, TypeError, LookupError, RecursionError, zlib.error) as error:
        raise HttpProblem(400, "the thread in the address cannot be read: the address was changed or cut") from error
    yield from fields


def _whole(what: str, typed: str) -> int | None:
    """Return a whole number above 0, None if nothing was typed."""
    if not typed:
        return None
    if not (typed.strip().isdecimal() and int(typed[:20]) > 0):
        raise UsageError(f"{what} must be a whole number above 0, not {typed.strip()[:40]!r}")
    return int(typed[:20])


def typed_number(what: str, typed: str) -> float:
    """Return a number that was typed, 0 or more; UsageError if it is none."""
    try:
        number = float(typed)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UsageError(f"{what} must be a number of 0 or more, not {typed[:40]!r}")
    return number


async def posted_form(request: Request) -> TypedForm:
    """Return the form in the body of a request; HttpProblem 400 if it is no form, 413 if it is too long."""
    most = request.app.state.moverank.limits.characters
    try:
        text = (await request.body()).decode()
        fields = await to_thread(parse_qsl, text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise HttpProblem(400, "the form cannot be read") from error
    if (length := sum(len(value) for _, value in fields)) > most:
        raise HttpProblem(413, f"the form has {length:,} characters: at most {most:,} are allowed here")
    return TypedForm.of([*fields, *request.query_params.multi_items()])


def url_of(collection: str, page: str, key: str = "") -> str:
    """Return the link to a page about a collection, or about one of its documents.

    Browsers and proxies resolve the segments `.` and `..` of a path: a key with such a segment is a parameter.
    """
    path, typed = f"/collections/{quote(collection, safe='')}/{page}", quote(key, safe="")
    if {".", ".."} & set(key.split("/")):
        return f"{path.removesuffix('s')}?key={typed}"
    return f"{path}/{typed}" if key else path
