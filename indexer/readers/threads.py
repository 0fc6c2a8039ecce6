"""Forum threads as JSON records: an opening post and its comments by rank."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from moverank.indexer.documents import Document, Part
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.records import (
    KEY_FIELDS,
    Record,
    about,
    choose,
    key_of,
    label_of,
    metadata_of,
    names_of,
    one_line,
    string_of,
    with_title,
    wrong_type,
)

MAX_RANK = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Comment:
    """A post below the opening one: its rank if it has one, and what a rank can be made from."""

    text: str
    rank: int | None = None
    score: float | None = None
    accepted: bool | None = None


def thread_of(record: Record, default_key: str) -> Document:
    """Make a thread of `{"id", "title", "body", "comments": [{"text", "rank", "score", "accepted"}]}`.

    All but `comments` may be missing. `name` is a title that is only shown: its words do not count. Raises
    `BadRecord` where a field is of the wrong type.
    """
    key_field = choose(record, None, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with about(key):
        if "comments" not in record:
            raise BadRecord(f"there is no field 'comments': {names_of(record)}")
        title, name, body = (string_of(record, field if field in record else None) for field in _POST)
        used = {key_field, "title", "body", "comments", "label"} | (set() if title.strip() else {"name"})
        return Document(
            key,
            one_line(title) or one_line(name),
            thread_parts(with_title(title, body), _comments(record["comments"])),
            label_of(record, "label" if "label" in record else None),
            metadata_of(record, used),
        )


_POST = ("title", "name", "body")


def thread_parts(opening: str, comments: Sequence[Comment]) -> tuple[Part, ...]:
    """Rank the posts of a thread: the opening post 0, then the comments in order of their ranks.

    A comment without a rank is ranked by its place among all: the accepted one first, then by falling score, ties in
    the given order. Places count from 1, or from 0 where there is no opening post. Empty posts are left out.
    """
    parts = [Part(opening)] if opening.strip() else []
    comments = [comment for comment in comments if comment.text.strip()]
    by_votes = sorted(comments, key=lambda comment: (not comment.accepted, -(comment.score or 0)))
    ranked = [
        Part(comment.text, place if comment.rank is None else comment.rank)
        for place, comment in enumerate(by_votes, start=len(parts))
    ]
    return (*parts, *sorted(ranked, key=lambda part: part.rank))


def _comments(value: object) -> list[Comment]:
    if not isinstance(value, list):
        wrong_type("'comments'", "a list", value)
    return [_comment(f"comment {number}", comment) for number, comment in enumerate(value, start=1)]


def _comment(where: str, comment: object) -> Comment:
    if not isinstance(comment, dict):
        wrong_type(where, 'an object {"text": ...}', comment)
    if "text" not in comment:
        raise BadRecord(f"{where} has no field 'text': {names_of(comment)}")
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
