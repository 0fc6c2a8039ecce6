"""Forum threads as JSON records: an opening post and its ranked comments."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from moverank.indexer.documents import Document, Part
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.records import (
    KEY_FIELDS,
    VECTOR_FIELD,
    Fields,
    Record,
    attached_key,
    choose_field,
    field_names,
    key_of,
    label_of,
    metadata_of,
    one_line,
    parts_of,
    string_of,
    vector_of,
    wrong_type,
)

MAX_RANK = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Comment:
    """A post other than the opening post: its text, and its rank, or the score and acceptance that determine it."""

    text: str
    rank: int | None = None
    score: float | None = None
    accepted: bool | None = None


def thread_of(record: Record, default_key: str, fields: Fields = Fields()) -> Document:  # noqa: B008 - frozen
    """Make a thread of `{"id", "title", "body", "comments": [{"text", "rank", "score", "accepted"}]}`.

    It may have a `vector`, too. All fields are optional, but there must be a text; `default_key` is the key of a record
    without one. The field `name` replaces a missing title: it is only shown, its words do not count. `fields` names
    other fields; that of the text may be in the record, in the comments, or in both. Raises `BadRecord`
    if a field has the wrong type, and if the comments seem to be in a field of another name, since they would be lost.
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
    """The names of the fields of a thread; None for those that it lacks."""

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


def _comments(value: object, name: str, text_field: str | None) -> list[Comment]:
    if value is None:
        return []
    if not isinstance(value, list):
        wrong_type(repr(name), "a list", value)
    return [_comment(f"comment {number}", comment, text_field) for number, comment in enumerate(value, start=1)]


def _comment(where: str, comment: object, text_field: str | None) -> Comment:
    if not isinstance(comment, dict):
        wrong_type(where, 'an object {"text": ...}', comment)
    field = text_field if text_field in comment else "text"
    if field not in comment:
        raise BadRecord(f"{where} has no field 'text': {field_names(comment)}; --text-field names another")
    text, rank = comment[field], comment.get("rank")
    score, accepted = comment.get("score"), comment.get("accepted")
    if not isinstance(text, str | None):
        wrong_type(f"the text of {where}", "a string", text)
    if rank is not None and not (type(rank) is int and 0 <= rank <= MAX_RANK):
        wrong_type(f"the rank of {where}", "a whole number, 0 (the top) or more", rank)
    if score is not None and not (type(score) in {int, float} and math.isfinite(score)):
        wrong_type(f"the score of {where}", "a number", score)
    if not isinstance(accepted, bool | None):
        wrong_type(f"'accepted' of {where}", "true or false", accepted)
    return Comment(text or "", rank, score, accepted)
