"""Posts of a forum as rows of CSV, JSON, Parquet or Arrow: each names its thread, and perhaps its parent."""

from collections.abc import Callable, Iterator, Mapping
from math import isfinite, nan
from typing import Any, NamedTuple

from moverank.indexer.files.gzip_limit import DAMAGED
from moverank.indexer.reading.formats.dates import date_of_text, date_of_timestamp
from moverank.indexer.reading.formats.threads import DELETED, Comment, thread_parts
from moverank.indexer.reading.records import (
    KEY_FIELDS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    VECTOR_FIELD,
    BadRecord,
    Build,
    Fields,
    ReadResult,
    Record,
    attached_key,
    choose_field,
    key_of,
    label_of,
    log_left_out,
    metadata_of,
    no_text_field,
    one_line,
    string_of,
    vector_of,
)
from moverank.indexer.reading.source_faults import ended_by
from moverank.indexer.reading.spill import Spill
from moverank.indexer.reading.streams import Stream
from moverank.indexer.values.documents import Document

Rows = Callable[[Stream, Callable[[Record, str], "Post"]], Iterator[tuple[int, "Post | BadRecord"]]]
"""A reader of records, of which each becomes a post."""

DATE_FIELDS = ("date", "created_at", "created", "creation_date", "post_time", "dateline", "time", "timestamp")
SCORE_FIELDS = ("score", "votes", "likes", "like_count", "points")
ACCEPTED_FIELDS = ("accepted", "is_accepted", "accepted_answer")
DELETED_FIELDS = ("deleted_at", "deleted", "is_deleted", "deletion_date")

_NO = frozenset({"", "0", "-1", "false", "f", "no", "null", "none", "\\n"})
"""How tables write false, and that there is no value."""
_POSTS = " posts"  # no column is called so: headers have no blanks around a name


class Post(NamedTuple):
    """A row: JSON values, which a temporary file keeps as they are. `rest`: its fields that are not used here."""

    thread: str
    id: str
    parent: str
    title: str
    text: str
    score: float | None
    accepted: bool
    date: str | None
    deleted: bool
    rest: Mapping[str, Any]
    line: int = 0


def read_posts(rows: Rows, fields: Fields, stream: Stream, build: Build) -> Iterator[ReadResult]:
    """Read every thread of a table of posts, which may stand in any order; `build` is to be `thread_of_posts`.

    The first post is the first one without a parent, by date (in file order if a post of the thread has no date). Its
    title is the thread's, its other fields are the metadata. Each post is followed by those below it. One whose parent
    is not in the thread stands below none, and a circle of parents is cut. The text of deleted posts is left out; those
    below them stay, and a thread of which nothing else is left is no document. The posts are in temporary files as
    large as their rows; the order of the threads is unspecified.
    """
    deleted = 0
    with Spill() as spill:
        try:
            for line, post in rows(stream, lambda record, default_key: _post(record, default_key, fields)):
                if isinstance(post, BadRecord):
                    post.part = True
                    yield line, post
                else:
                    deleted += post.deleted
                    spill.add(post.thread, post._replace(line=line))
        except (BadRecord, *DAMAGED) as error:
            yield stream.line, ended_by(error)
        log_left_out(stream.source.name, deleted)
        for found in spill.groups():
            posts = [Post(*each) for each in found]
            if not all(post.deleted for post in posts):
                yield from _thread(posts, build)


def thread_of_posts(record: Record, default_key: str, fields: Fields) -> Document:
    """Make a thread, whose key is `default_key`, of the record that `read_posts` makes of its posts.

    Raises `BadRecord` if its label, its vector or another field has the wrong type.
    """
    posts: Any = record[_POSTS]
    with attached_key(default_key):
        title, text = posts[0][:2]
        comments = [Comment(text, None, score, accepted) for _, text, score, accepted in posts[1:]]
        label = choose_field(record, fields.label, ("label",))
        metadata = metadata_of(record, (_POSTS, label, VECTOR_FIELD))
        parts = thread_parts(title, text, comments)
        return Document(default_key, title, parts, label_of(record, label), metadata, vector=vector_of(record))


def _post(record: Record, default_key: str, fields: Fields) -> Post:
    """Make a post of a row; `default_key` is empty for the header of a table, whose values are empty, too."""
    any_case = {name.lower(): name for name in [*record][::-1]}

    def field(named: str | None, names: tuple[str, ...]) -> str | None:
        return choose_field(record, named, names, any_case)

    thread, parent = field(fields.thread, ()), field(fields.parent, ()) if fields.parent else None
    key = key_of(record, thread, "")
    if default_key and not key.strip():
        raise BadRecord(f"{thread!r} is empty: each post needs the key of its thread")
    with attached_key(key):
        id_, title = field(fields.key, KEY_FIELDS), field(fields.title, TITLE_FIELDS)
        text = field(fields.text, TEXT_FIELDS)
        if text is None:
            raise no_text_field(record)
        shown = string_of(record, text)
        deleted = _is_set(record.get(field(None, DELETED_FIELDS) or "")) or shown.strip() in DELETED
        return Post(
            key,
            key_of(record, id_, default_key).strip() or default_key,
            _shown(record.get(parent or "")),
            one_line(string_of(record, title)),
            "" if deleted else shown,
            _number(record.get(field(None, SCORE_FIELDS) or "")),
            _is_set(record.get(field(None, ACCEPTED_FIELDS) or "")),
            _date(record.get(field(None, DATE_FIELDS) or "")),
            deleted,
            {name: value for name, value in record.items() if name not in {thread, parent, id_, title, text}},
        )


def _is_set(value: object) -> bool:
    """Return whether a field says yes, or has a value at all, such as the date of a deletion."""
    return _shown(value).lower() not in _NO


def _shown(value: object) -> str:
    return "" if value is None else str(value).strip()


def _number(value: object) -> float | None:
    """Return a number, perhaps as a table writes it; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else nan
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _date(value: object) -> str | None:
    """Return a date, in ISO 8601 or in seconds since 1970, as a text that sorts by time; None for anything else."""
    number = _number(value)
    return date_of_timestamp(number) if number is not None else date_of_text(value) if isinstance(value, str) else None


def _thread(posts: list[Post], build: Build) -> Iterator[ReadResult]:
    """Yield the thread of its posts, which are in file order, and a fault for each that has the key of another."""
    own: dict[str, Post] = {}
    for post in posts:
        first = own.setdefault(post.id, post)
        if first is not post:
            taken = f"the key {post.id!r} of the post is already taken by line {first.line} of the same thread"
            yield post.line, BadRecord(f"{taken}: --key-field names the field of its key", post.id)
    opening, *replies = _in_order(own)
    shown = [(post.title, post.text, post.score, post.accepted) for post in (opening, *replies)]
    try:
        yield opening.line, build({**opening.rest, _POSTS: shown}, opening.thread)
    except BadRecord as bad:
        yield opening.line, bad


def _in_order(posts: dict[str, Post]) -> list[Post]:
    """Return posts, by key, each followed by those below it: first the one that opens the thread."""
    found = list(posts.values())
    if all(post.date is not None for post in found):
        found.sort(key=lambda post: post.date or "")
    below: dict[str, list[Post]] = {}
    for post in found:
        # Where some rows have no parent, pandas writes the whole numbers of the others as 17.0.
        parent = post.parent if post.parent in posts else post.parent.removesuffix(".0")
        below.setdefault(parent if parent in posts and parent != post.id else "", []).append(post)
    top = sorted(below.get("", []), key=lambda post: post.parent != post.id and _is_set(post.parent))
    ordered = dict[str, Post]()
    for root in (*top, *found):  # those in a circle are below no root
        waiting = [root]
        while waiting:
            post = waiting.pop()
            if post.id not in ordered:
                ordered[post.id] = post
                waiting += below.get(post.id, [])[::-1]
    return list(ordered.values())
