"""Topics of a Discourse forum as its API and exports write them: an opening post, and replies ordered by likes."""

from collections.abc import Mapping
from typing import Any

from moverank.indexer.reading.formats.dates import date_of_text
from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.threads import Comment, thread_parts
from moverank.indexer.reading.records import (
    LIST,
    NUMBER,
    OBJECT,
    BadRecord,
    Record,
    attached_key,
    checked,
    key_of,
    one_line,
    string_of,
)
from moverank.indexer.values.documents import Document, Value

Post = Mapping[str, Any]

_POST = OBJECT._replace(expected='an object {"cooked": ...}')
_LIKE = 2  # the number of this action in `actions_summary`
_NO_POSTS = frozenset({2, 3, 4})  # types of posts: an action of a moderator, one such as "closed this topic", a whisper
_SMALL_ACTION = 3
_ONLY_TITLES = "has only titles: save each topic with its posts (/t/ID.json)"


def is_topic(record: Record) -> bool:
    """Return whether a record is a topic with posts; BadRecord for other answers of the API, which hold no threads."""
    if "post_stream" in record or _has_cooked(record.get("posts")):
        return True
    if isinstance(record.get("topic_list"), dict):
        raise BadRecord(f"it is a list of Discourse topics, which {_ONLY_TITLES}")
    if "fancy_title" in record and "posts_count" in record:
        raise BadRecord(f"it is an entry of a list of Discourse topics, which {_ONLY_TITLES}")
    if isinstance(record.get("latest_posts"), list):
        raise BadRecord("it is a list of Discourse posts without their topics: save each topic (/t/ID.json)")
    if "topic_id" in record and "post_number" in record:
        raise BadRecord(
            "it is a post of Discourse without its topic: save the topic (/t/ID.json), or join its posts by"
            " `moverank threads --thread-field topic_id --text-field cooked`"
        )
    topics = record.get("topics")
    if isinstance(topics, list) and any(isinstance(topic, dict) and "post_stream" in topic for topic in topics):
        raise BadRecord("it holds Discourse topics in its field 'topics': make each of them a record of its own")
    return False


def refuse_topic(record: Record) -> None:
    """Raise BadRecord for a topic, or a list of topics, where documents are read."""
    if ("post_stream" in record or "topic_list" in record) and is_topic(record):
        raise BadRecord("it is a Discourse topic: `moverank threads` reads its posts")


def missing_posts(record: Record) -> str | None:
    """Return a notice if a record has only some posts of its topic, as the API's answer for a long topic."""
    posts, stream = _posts(record), record.get("post_stream")
    ids = stream.get("stream") if isinstance(stream, dict) else None
    count = len(ids) if isinstance(ids, list) else record.get("posts_count")
    if not isinstance(count, int) or count <= len(posts):
        return None
    return (
        f"the topic {record.get('id')} has {len(posts):,} of its {count:,} posts here, and others may lack some, too:"
        " /t/ID.json?print=true answers with more"
    )


def topic_of(record: Record, default_key: str) -> Document:
    """Make a thread of a topic: `{"id", "title", "post_stream": {"posts": [{"cooked", "post_number", ...}]}}`.

    The opening post is number 1. The replies are ranked: an accepted answer first, then by likes (`like_count`, or the
    action of `actions_summary`; if no post has either, by `score`), ties by their number. Deleted and hidden posts,
    those for moderators and those that only report an action are omitted. Texts are `cooked` without HTML, and without
    quotations of other posts, else `raw`. Raises `BadRecord` if a field has the wrong type.
    """
    key = key_of(record, "id" if "id" in record else None, default_key)
    with attached_key(key):
        title = one_line(string_of(record, "title" if "title" in record else None))
        posts = [post for post in _posts(record) if not _is_omitted(post)]
        if all(type(post.get("post_number")) is int for post in posts):
            posts.sort(key=lambda post: int(post["post_number"]))
        opening = next((post for post in posts if post.get("post_number", 1) == 1), {})
        likes = [_likes(post) for post in posts]
        scores = likes if any(likes) else [_count(post, "score") for post in posts]
        replies = [
            Comment(_text(post), None, score, post.get("accepted_answer") is True)
            for post, score in zip(posts, scores, strict=True)
            if post is not opening
        ]
        parts = thread_parts(title, _text(opening), replies)
        return Document(key, title, parts, None, _metadata(record, opening))


def _has_cooked(posts: object) -> bool:
    return isinstance(posts, list) and any(isinstance(post, dict) and "cooked" in post for post in posts)


def _posts(record: Record) -> list[Post]:
    """Return all posts, of the field `posts` or within `post_stream`."""
    stream: Any = record.get("post_stream", record)
    posts = stream.get("posts") if isinstance(stream, Mapping) else stream
    found: list[Post] = checked(LIST, posts, "'posts' of 'post_stream'", required=True)
    for number, post in enumerate(found, start=1):
        checked(_POST, post, f"post {number}", required=True)
    return found


def _is_omitted(post: Post) -> bool:
    hidden = post.get("hidden") or post.get("deleted_at") or post.get("user_deleted")
    return bool(post.get("post_type") in _NO_POSTS or hidden)


def left_out_posts(record: Record) -> int:
    """Return how many posts of a topic are not read since they were deleted or hidden, or are for moderators."""
    return sum(_is_omitted(post) and post.get("post_type") != _SMALL_ACTION for post in _posts(record))


def _text(post: Post) -> str:
    cooked = string_of(post, "cooked" if "cooked" in post else None)
    return text_of_html(cooked, quotations="drop") if cooked else string_of(post, "raw" if "raw" in post else None)


def _likes(post: Post) -> float | None:
    """Return the likes of a post, None if the post has no such field."""
    if post.get("like_count") is not None:
        return _count(post, "like_count")
    actions = post.get("actions_summary")
    actions = [one for one in actions if isinstance(one, dict)] if isinstance(actions, list) else []
    return next((_count(one, "count") for one in actions if one.get("id") == _LIKE), None)


def _count(record: Post, name: str) -> float | None:
    count: float | None = checked(NUMBER, record.get(name), f"the {name!r} of a post")
    return count


def _metadata(record: Record, opening: Post) -> dict[str, Value]:
    """Return the fields that Stack Exchange's questions have, and the category."""
    tags: Any = record.get("tags") or []
    names = [tag.get("name") if isinstance(tag, dict) else tag for tag in tags] if isinstance(tags, list) else []
    found: dict[str, Any] = {
        "tags": [name for name in names if isinstance(name, str)],
        "score": _likes(opening),
        "date": date_of_text(str(record.get("created_at") or opening.get("created_at") or "")),
        "author": opening.get("username"),
        "category_id": record.get("category_id"),
        "slug": record.get("slug"),
    }
    return {name: value for name, value in found.items() if type(value) in {str, int, float, list} and value != ""}
