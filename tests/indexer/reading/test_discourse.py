"""Topics as Discourse's API answers with them, and exports of it."""

import json
from typing import Any

import pytest

from moverank.indexer.reading import Fields
from moverank.indexer.values.documents import Document, Part, Rejection
from tests.indexer.reading.conftest import Read, Write

ANSWER = """{"post_stream": {"posts": [
{"id": 81, "username": "ann", "created_at": "2024-03-05T10:11:12.123Z", "post_number": 1, "post_type": 1,
"cooked": "<p>My plug gets <b>hot</b> &amp; smells.</p>", "score": 40.2,
"actions_summary": [{"id": 2, "count": 3}, {"id": 3, "can_act": true}]},
{"id": 83, "cooked": "<p>It was closed.</p>", "post_number": 3, "post_type": 3, "action_code": "closed.enabled"},
{"id": 82, "username": "bob", "cooked": "<p>Mine, too.</p>", "post_number": 2, "post_type": 1, "actions_summary": []},
{"id": 85, "username": "eve", "cooked": "<p>Buy now!</p>", "post_number": 5, "post_type": 1, "hidden": true},
{"id": 84, "username": "cat", "cooked": "<p>The socket<br>is loose: <code>a &lt; b</code></p>", "post_number": 4,
"post_type": 1, "actions_summary": [{"id": 2, "count": 5}]}],
"stream": [81, 82, 83, 84, 85]}, "timeline_lookup": [[1, 20]], "id": 7, "title": "Warm &amp; hot plug",
"fancy_title": "Warm &amp; hot plug", "posts_count": 5, "created_at": "2024-03-05T10:11:12.123Z", "like_count": 8,
"slug": "warm-plug", "category_id": 5, "tags": ["heat", {"name": "power"}]}""".replace("\n", "")
TOPIC: dict[str, Any] = json.loads(ANSWER)
ENTRY = {name: value for name, value in TOPIC.items() if name != "post_stream"}
EXPECTED = Document(
    "7",
    "Warm &amp; hot plug",
    (Part("My plug gets hot & smells."), Part("The socket\nis loose: a < b", 1), Part("Mine, too.", 2)),
    None,
    {
        "tags": ["heat", "power"],
        "score": 3,
        "date": "2024-03-05T10:11:12Z",
        "author": "ann",
        "category_id": 5,
        "slug": "warm-plug",
    },
)


def only(results: tuple[list[Document], list[Rejection]]) -> Document:
    (document,), rejections = results
    assert rejections == []
    return document


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("7.json", ANSWER),
        ("topics.jsonl", json.dumps(TOPIC) + "\n"),
        ("topics.json", json.dumps([TOPIC], indent=2)),
        ("flat.json", json.dumps(ENTRY | {"posts": TOPIC["post_stream"]["posts"]})),
    ],
)
def test_a_topic_is_a_thread(write: Write, threads: Read, name: str, content: str) -> None:
    assert only(threads(write(name, content))) == EXPECTED


def _topic(*posts: dict[str, Any]) -> str:
    numbered = [{"post_number": number, "cooked": f"p{number}"} | post for number, post in enumerate(posts, start=1)]
    return json.dumps({"id": 1, "title": "t", "post_stream": {"posts": numbered}})


@pytest.mark.parametrize(
    ("posts", "expected"),
    [
        ([{}, {}, {}], "p1 p2 p3"),
        ([{"like_count": 9}, {"like_count": 1}, {"like_count": 2}, {"like_count": 1}], "p1 p3 p2 p4"),
        ([{"score": 9}, {"score": 0.2}, {"score": 15.4}], "p1 p3 p2"),
        ([{"score": 9}, {"score": 9, "like_count": 0}, {"score": 1, "like_count": 2}], "p1 p3 p2"),
        ([{}, {"like_count": 5}, {"accepted_answer": True}], "p1 p3 p2"),
        ([{}, {"deleted_at": "2024-01-01"}, {"cooked": "", "raw": "as *written*"}], "p1 as *written*"),
        ([{"post_number": 21, "cooked": "later"}, {"post_number": 20, "cooked": "earlier"}], "earlier later"),
    ],
)
def test_replies_are_ranked_by_likes(write: Write, threads: Read, posts: list[dict[str, Any]], expected: str) -> None:
    found = only(threads(write("t.json", _topic(*posts))))
    assert " ".join(part.text for part in found.parts) == expected


def test_a_reply_without_the_opening_post_is_no_opening_post(write: Write, threads: Read) -> None:
    assert only(threads(write("t.json", _topic({"post_number": 21})))).parts == (Part("p1", 1),)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"users": [], "topic_list": {"topics": [ENTRY]}}, "it is a list of Discourse topics, which has only titles"),
        (ENTRY, "it is an entry of a list of Discourse topics, which has only titles"),
        ({"latest_posts": [{"cooked": "x"}]}, "posts without their topics"),
        ({"topic_id": 7, "post_number": 1, "cooked": "x"}, "--thread-field topic_id --text-field cooked"),
        ({"topics": [TOPIC]}, "make each of them a record"),
        (TOPIC | {"post_stream": {}}, "'posts' of 'post_stream' must be a list, not null"),
        (TOPIC | {"post_stream": {"posts": []}, "title": ""}, "there is no text"),
        ({"post_stream": {"posts": ["x"]}}, 'post 1 must be an object {"cooked": ...}, not "x"'),
        ({"post_stream": {"posts": [{"cooked": 5}]}}, "'cooked' must be a string, not 5"),
        ({"post_stream": {"posts": [{"cooked": "x", "score": "5"}]}}, "the 'score' of a post must be a number"),
    ],
)
def test_what_has_no_posts_says_so(write: Write, threads: Read, record: dict[str, Any], reason: str) -> None:
    good, (bad,) = threads(write("t.json", json.dumps({"id": 1, **record})))
    assert good == []
    assert reason in bad.reason


@pytest.mark.parametrize("record", [TOPIC, {"topic_list": {"topics": [ENTRY]}, "title": "x", "text": "y"}])
def test_index_does_not_read_topics_as_titles(write: Write, documents: Read, record: dict[str, Any]) -> None:
    good, (bad,) = documents(write("t.json", json.dumps(record)))
    assert good == []
    assert "Discourse topic" in bad.reason


def test_posts_are_documents_by_a_field(write: Write, documents: Read) -> None:
    posts = "".join(json.dumps({"topic_id": 7, **post}) + "\n" for post in TOPIC["post_stream"]["posts"])
    found, _ = documents(write("posts.jsonl", posts), fields=Fields(text="cooked"))
    assert len(found) == 5


def test_a_topic_of_which_posts_are_missing_is_noticed_once(
    write: Write, threads: Read, caplog: pytest.LogCaptureFixture
) -> None:
    part = TOPIC | {"post_stream": {"posts": TOPIC["post_stream"]["posts"][:2], "stream": list(range(81, 281))}}
    threads(write("t.json", json.dumps([TOPIC, part | {"id": 8}, part | {"id": 9}])))
    assert caplog.messages == [
        "t.json: the topic 8 has 2 of its 200 posts here, and others may lack some, too: "
        "/t/ID.json?print=true answers with more",
        "t.json: 1 deleted post is left out",
    ]


def test_posts_that_are_not_for_readers_and_quotations_are_left_out(
    write: Write, threads: Read, caplog: pytest.LogCaptureFixture
) -> None:
    quotation = '<aside class="quote" data-post="1"><div>ann:</div><blockquote><p>Hot?</p></blockquote></aside>'
    posts = [
        {"post_number": 1, "cooked": "<p>Hot?</p>"},
        {"post_number": 2, "cooked": f"{quotation}<p>Yes.</p><blockquote>the manual</blockquote>"},
        {"post_number": 3, "cooked": "<p>for staff</p>", "post_type": 4},
        {"post_number": 4, "cooked": "<p>moved</p>", "post_type": 2},
        {"post_number": 5, "cooked": "<p>closed</p>", "post_type": 3},
        {"post_number": 6, "cooked": "<p>(deleted)</p>", "user_deleted": True},
    ]
    (found,), _ = threads(write("t.json", json.dumps({"id": 1, "title": "Plug", "post_stream": {"posts": posts}})))
    assert [part.text for part in found.parts] == ["Hot?", "Yes.\nthe manual"]
    assert caplog.messages == ["t.json: 3 deleted posts are left out"]
