"""Forum threads as JSON records: an opening post and its ranked comments."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from moverank.indexer.documents import Document, Part
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.records import (
    KEY_FIELDS,
    VECTOR_FIELD,
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


def thread_of(record: Record, default_key: str) -> Document:
    """Make a thread of `{"id", "title", "body", "comments": [{"text", "rank", "score", "accepted"}]}`.

    It may have a `vector`, too. All fields are optional, but there must be a text; `default_key` is the key of a record
    without one. The field `name` replaces a missing title: it is only shown, its words do not count. Raises `BadRecord`
    if a field has the wrong type, and if the comments seem to be in a field of another name, since they would be lost.
    """
    key_field = choose_field(record, None, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with attached_key(key):
        if "comments" not in record and (record.keys().isdisjoint(_POST) or any(map(_has_objects, record.values()))):
            raise BadRecord(f"there is no field 'comments': {field_names(record)}")
        title, name, body = (string_of(record, field if field in record else None) for field in _POST)
        title, name = one_line(title), one_line(name)
        used = {key_field, "title", "body", "comments", "label", VECTOR_FIELD} | (set() if title else {"name"})
        return Document(
            key,
            title or name,
            thread_parts(title, body, _comments(record.get("comments"))),
            label_of(record, "label" if "label" in record else None),
            metadata_of(record, used),
            title_counts=bool(title) or not name,
            vector=vector_of(record),
        )


_POST = ("title", "name", "body")


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


def _comments(value: object) -> list[Comment]:
    if value is None:
        return []
    if not isinstance(value, list):
        wrong_type("'comments'", "a list", value)
    return [_comment(f"comment {number}", comment) for number, comment in enumerate(value, start=1)]


def _comment(where: str, comment: object) -> Comment:
    if not isinstance(comment, dict):
        wrong_type(where, 'an object {"text": ...}', comment)
    if "text" not in comment:
        raise BadRecord(f"{where} has no field 'text': {field_names(comment)}")
    text, rank = comment["text"], comment.get("rank")
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
