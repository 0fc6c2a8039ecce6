"""The fields of a form as they were typed, so that a page can show them again, and what they mean."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import Request

from moverank.indexer.documents import Document, Part
from moverank.indexer.errors import UsageError
from moverank.indexer.readers.threads import Comment, thread_parts
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.requests import Options

_CHOICES = ("k", "depth", "exact", "rank", "other_rank", "where")
_MOST_FIELDS = 1000


@dataclass(frozen=True, slots=True)
class TypedForm:
    """Names and values of the fields of a form, in order; a name may occur several times."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]]) -> "TypedForm":
        """Return the form with these fields, without the empty ones; line ends become those of Unix."""
        lines = ((name, value.replace("\r\n", "\n")) for name, value in fields)
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
        """Return the ranking that was typed, or else that which was chosen; None for the collection's own."""
        return self.one("other_rank").strip() or self.one("rank") or None

    @property
    def thread(self) -> Document | None:
        """Return the thread that was typed, None if there is none."""
        title = " ".join(self.one("title").split())
        parts = thread_parts(title, self.one("body"), [Comment(text) for text in self.every("comment")])
        return Document("", title, parts) if title or parts else None

    @property
    def query(self) -> Document | None:
        """Return the thread or the text to search for, None if nothing was typed."""
        return self.thread or (Document("", parts=(Part(self.one("q")),)) if self.one("q") else None)

    @property
    def chosen(self) -> bool:
        """Return whether an option was chosen that is not seen at once."""
        return any(self.one(name) for name in ("depth", "exact", "other_rank", "where"))

    def options(self) -> Options:
        """Return the options of a search; UsageError for a number that is none."""
        return Options(
            k=_whole("the number of hits", self.one("k")) or 10,
            depth=_whole("the number of candidates", self.one("depth")),
            exact=bool(self.one("exact")),
            rank=self.rank,
            where=self.conditions or None,
        )

    def link(self, path: str, **changes: str) -> str:
        """Return the URL of `path` with this query and its options; `changes` replace fields, "" removes one."""
        kept = [(name, value) for name, value in self.fields if name in (*_CHOICES, "q", "similar")]
        kept = [field for field in kept if field[0] not in changes]
        text = urlencode([*kept, *((name, value) for name, value in changes.items() if value)])
        return f"{path}?{text}" if text else path

    def hidden(self, *names: str) -> list[tuple[str, str]]:
        """Return the query and the options without some fields, as hidden fields of another form."""
        return [field for field in self.fields if field[0] in (*_CHOICES, "q", "similar") and field[0] not in names]


def _whole(what: str, typed: str) -> int | None:
    """Return a whole number above 0, None if nothing was typed."""
    if not typed:
        return None
    if not (typed.strip().isdecimal() and int(typed[:20]) > 0):
        raise UsageError(f"{what} must be a whole number above 0, not {typed.strip()[:40]!r}")
    return int(typed[:20])


async def posted_form(request: Request) -> TypedForm:
    """Return the form in the body of a request; Problem 400 if it is none."""
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise Problem(400, "the form cannot be read") from error
    return TypedForm.of([*fields, *request.query_params.multi_items()])


def url_of(collection: str, page: str, key: str = "") -> str:
    """Return the path of a page about a collection, or about one of its documents."""
    path = f"/collections/{quote(collection, safe='')}/{page}"
    return f"{path}/{quote(key, safe='')}" if key else path
