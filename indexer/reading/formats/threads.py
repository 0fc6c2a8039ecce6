"""Forum threads as JSON records, an opening post and its ranked comments, and the records that `export` writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from moverank.indexer.reading.records import (
    FLAG,
    KEY_FIELDS,
    LIST,
    NUMBER,
    OBJECT,
    POST,
    RANK,
    TEXT,
    TEXT_FIELDS,
    VECTOR_FIELD,
    BadRecord,
    Fields,
    Record,
    attached_key,
    checked,
    choose_field,
    field_names,
    key_of,
    label_of,
    metadata_of,
    one_line,
    parts_of,
    storable_metadata,
    string_of,
    vector_of,
)
from moverank.indexer.values.documents import Document, Part


@dataclass(frozen=True, slots=True)
class Comment:
    """A post below the opening post: its text, and its rank, or the score and acceptance that determine the rank."""

    text: str
    rank: int | None = None
    score: float | None = None
    accepted: bool | None = None


def thread_of(record: Record, default_key: str, fields: Fields = Fields()) -> Document:  # noqa: B008 - frozen
    """Make a thread of `{"id", "title", "body", "comments": [{"text", "rank", "score", "accepted"}]}`.

    It may have a `vector`, too. All fields are optional, but there must be a text; `default_key` is the key of a record
    without one. The field `name` replaces a missing title: it is only shown, its words do not count. `fields` names
    other fields; the field of the text may be in the record, in the comments, or in both. Raises `BadRecord` if a field
    has the wrong type, and if the comments seem to be in a field of another name, since they would be lost.
    """
    key_field = choose_field(record, fields.key, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with attached_key(key):
        chosen = _chosen(record, fields)
        title, name, body = (string_of(record, field) for field in chosen[:3])
        title, name = one_line(title), one_line(name)
        label = choose_field(record, fields.label, ("label",))
        used = {key_field, chosen.title, chosen.body, chosen.comments, label, VECTOR_FIELD} | (
            set() if title else {"name"}
        )
        return Document(
            key,
            title or name,
            thread_parts(title, body, _comments(record.get(chosen.comments), chosen.comments, fields.text)),
            label_of(record, label),
            metadata_of(record, used),
            title_counts=bool(title) or not name,
            vector=vector_of(record),
        )


class _Chosen(NamedTuple):
    """The names of the fields of a thread; None for a field that it lacks."""

    title: str | None
    name: str | None
    body: str | None
    comments: str


def _chosen(record: Record, fields: Fields) -> _Chosen:
    """Return the names of the fields to use; BadRecord if one is missing."""
    title, name = choose_field(record, fields.title, ("title",)), choose_field(record, None, ("name",))
    body, comments = fields.text or "body", fields.comments or "comments"
    is_post = title or name or body in record
    if comments not in record and (fields.comments or not is_post or any(map(_has_objects, record.values()))):
        raise BadRecord(f"there is no field {comments!r}: {field_names(record)}; --comments-field names another")
    if fields.text and body not in record and not _has_field(record.get(comments), body):
        raise BadRecord(f"there is no field {body!r}: {field_names(record)}")
    return _Chosen(title, name, body if body in record else None, comments)


def _has_field(posts: object, name: str) -> bool:
    return isinstance(posts, list) and any(isinstance(post, dict) and name in post for post in posts)


def _has_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def thread_parts(title: str, body: str, comments: Sequence[Comment]) -> tuple[Part, ...]:
    """Return the ranked parts of a thread: `body`, the opening post, with rank 0, then `comments` in order of rank.

    `title` is the title if its words count, else empty; it is not a part. A comment without a rank gets its position:
    the accepted one first, then by falling score, ties in the given order. Positions count from 1 if there is a title
    or a body, else from 0. Blank posts are omitted.
    """
    opening = parts_of(body)
    comments = [comment for comment in comments if comment.text.strip()]
    by_votes = sorted(comments, key=lambda comment: (not comment.accepted, -(comment.score or 0)))
    ranked = [
        Part(comment.text, position if comment.rank is None else comment.rank)
        for position, comment in enumerate(by_votes, start=1 if title or opening else 0)
    ]
    return (*opening, *sorted(ranked, key=lambda part: part.rank))


_REPLIES = ("replies", "children", "comments")
"""Fields of a post that may hold posts below it."""
DELETED = frozenset({"[deleted]", "[removed]"})
"""Texts of posts that were deleted."""


def _comments(value: object, name: str, text_field: str | None) -> list[Comment]:
    """Return the posts in a list, each before those below it."""
    comments = checked(LIST, value, repr(name)) or []
    found = []
    for where, comment in _nested(comments, "comment "):
        one = _comment(where, comment, text_field)
        if one.text.strip() not in DELETED:
            found.append(one)
    return found


def _nested(comments: list[Any], where: str) -> Iterator[tuple[str, Any]]:
    """Yield the posts in a list and in the lists of their fields, each with its place, such as `comment 2.1`."""
    waiting = [(f"{where}{number}", comment) for number, comment in enumerate(comments, start=1)][::-1]
    while waiting:
        place, comment = waiting.pop()
        yield place, comment
        below = [comment[name] for name in _REPLIES if isinstance(comment.get(name), list)]
        posts = [post for each in below for post in each if isinstance(post, dict)]
        waiting += [(f"{place}.{number}", post) for number, post in enumerate(posts, start=1)][::-1]


def deleted_comments(record: Record, fields: Fields = Fields()) -> int:  # noqa: B008 - frozen
    """Return how many posts of a thread have no text but the note that it was deleted."""
    comments = record.get(fields.comments or "comments")
    posts = [post for post in comments if isinstance(post, dict)] if isinstance(comments, list) else []
    return sum(
        str(post.get(fields.text or "text", post.get("text"))).strip() in DELETED for _, post in _nested(posts, "")
    )


def _comment(where: str, value: object, text_field: str | None) -> Comment:
    comment = checked(POST, value, where, required=True)
    field = text_field if text_field in comment else "text"
    if field not in comment:
        raise BadRecord(f"{where} has no field 'text': {field_names(comment)}; --text-field names another")
    return Comment(
        checked(TEXT, comment[field], f"the text of {where}") or "",
        checked(RANK, comment.get("rank"), f"the rank of {where}"),
        checked(NUMBER, comment.get("score"), f"the score of {where}"),
        checked(FLAG, comment.get("accepted"), f"'accepted' of {where}"),
    )


_FIELDS = {"title", "parts", "label", "metadata", "title_counts", VECTOR_FIELD}


def is_stored_record(record: Record) -> bool:
    """Return whether a record has `parts`, but neither a text nor comments, which all other valid records have."""
    return "parts" in record and not any(name in record for name in (*TEXT_FIELDS, "comments"))


def stored_document(record: Record, default_key: str) -> Document:
    """Make a document of a record such as `Document.to_dict` returns; other fields are added to its metadata.

    Only `parts` is required, and `text` in each of them; the parts of a record without ranks have the ranks 0, 1, and
    so on. Texts, title and label are taken as they are. Raises `BadRecord` if a field has the wrong type.
    """
    key_field = choose_field(record, None, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with attached_key(key):
        title = string_of(record, "title" if "title" in record else None)
        label = checked(TEXT, record.get("label"), "the label")
        counts = checked(FLAG, record.get("title_counts", True), "'title_counts'", required=True)
        parts, own = _parts(record["parts"]), checked(OBJECT, record.get("metadata"), "'metadata'") or {}
        metadata = storable_metadata(own.items()) | metadata_of(record, {*_FIELDS, key_field})
        return Document(key, title, parts, label, metadata, counts, vector_of(record))


def _parts(value: object) -> tuple[Part, ...]:
    parts = checked(LIST, value, "'parts'", required=True)
    return tuple(_part(f"part {number}", number - 1, part) for number, part in enumerate(parts, start=1))


def _part(where: str, position: int, value: object) -> Part:
    part = checked(POST, value, where, required=True)
    if "text" not in part:
        raise BadRecord(f"{where} has no field 'text': {field_names(part)}")
    return Part(
        checked(TEXT, part["text"], f"the text of {where}", required=True),
        checked(RANK, part.get("rank", position), f"the rank of {where}", required=True),
    )
