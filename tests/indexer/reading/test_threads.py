import json

import pytest

from moverank.indexer.reading import Fields
from moverank.indexer.reading.formats.threads import thread_of
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write


def comments(*items: object) -> dict[str, object]:
    return {"id": 1, "comments": list(items)}


def parts(record: dict[str, object]) -> list[tuple[str, int]]:
    return [(part.text, part.rank) for part in thread_of(record, "f:1").parts]


def test_a_whole_thread() -> None:
    record = {
        "id": 5,
        "title": "Plug gets hot",
        "body": "Why?",
        "category": "home",
        "tags": ["x"],
        "label": "good",
        "name": "not shown",
        "question_comments": [{"text": "left out"}],
        "comments": [{"text": "second", "rank": 2, "user": "x"}, {"text": "first", "rank": 1}],
    }
    assert thread_of(record, "f:1") == Document(
        "5",
        "Plug gets hot",
        (Part("Why?"), Part("first", 1), Part("second", 2)),
        "good",
        {"category": "home", "tags": ["x"], "name": "not shown"},
    )


def test_a_name_is_only_shown() -> None:
    record = {"name": "Jezebel (1938)", "comments": [{"text": "1850s", "rank": 0}, {"text": "vanity", "rank": 1}]}
    assert thread_of(record, "f:1") == Document(
        "f:1", "Jezebel (1938)", (Part("1850s"), Part("vanity", 1)), title_counts=False
    )


@pytest.mark.parametrize(
    ("posts", "expected"),
    [
        ([{"text": "a"}, {"text": "b"}], ["a", "b"]),
        ([{"text": "a", "score": 1}, {"text": "b", "score": 5}, {"text": "c", "score": 1}], ["b", "a", "c"]),
        ([{"text": "a", "score": -1}, {"text": "b"}, {"text": "c", "score": None}], ["b", "c", "a"]),
        ([{"text": "a", "score": 9}, {"text": "b", "accepted": True, "score": 1.5}], ["b", "a"]),
        ([{"text": "a"}, {"text": " "}, {"text": None}, {"text": "b"}], ["a", "b"]),
    ],
)
def test_ranks_from_votes_else_from_order(posts: list[object], expected: list[str]) -> None:
    assert parts(comments(*posts)) == [(text, rank) for rank, text in enumerate(expected)]
    record = comments(*posts) | {"title": "t"}
    assert thread_of(record, "f:1").title == "t"
    assert parts(record) == [(text, rank) for rank, text in enumerate(expected, start=1)]
    assert parts(record | {"title": " ", "name": "n"}) == [(text, rank) for rank, text in enumerate(expected)]
    assert parts(record | {"body": "b"}) == [("b", 0), *parts(record)]


def test_a_given_rank_takes_precedence_over_votes() -> None:
    posts = [{"text": "a", "rank": 3, "score": 9}, {"text": "b", "rank": 0, "score": 1}, {"text": "c", "score": 5}]
    assert parts(comments(*posts)) == [("b", 0), ("c", 1), ("a", 3)]


def test_a_thread_may_have_an_opening_post_only() -> None:
    assert parts({"id": 1, "body": "x", "comments": []}) == [("x", 0)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"comments": "x"}, "'comments' must be a list, not \"x\""),
        ({"title": 5}, "'title' must be a string, not 5"),
        ({"body": []}, "'body' must be a string, not a list"),
        ({"name": {}}, "'name' must be a string, not an object"),
        (comments({"text": "a"}, "b"), 'comment 2 must be an object {"text": ...}, not "b"'),
        (comments({"body": "a", "rank": 1}), "comment 1 has no field 'text': the record has 'body', 'rank'"),
        (comments({"text": 0}), "the text of comment 1 must be a string, not 0"),
        (comments({"text": "a", "rank": True}), "the rank of comment 1 must be a whole number"),
        (comments({"text": "a", "rank": 1.0}), "the rank of comment 1 must be a whole number"),
        (comments({"text": "a", "rank": "1"}), "the rank of comment 1 must be a whole number"),
        (comments({"text": "a", "rank": -1}), "the rank of comment 1 must be a whole number"),
        (comments({"text": "a", "rank": 2**40}), "the rank of comment 1 must be a whole number"),
        (comments({"text": "a", "score": "5"}), 'the score of comment 1 must be a number, not "5"'),
        (comments({"text": "a", "score": True}), "the score of comment 1 must be a number, not true"),
        (comments({"text": "a", "score": float("inf")}), "the score of comment 1 must be a number"),
        (comments({"text": "a", "accepted": 1}), "'accepted' of comment 1 must be true or false, not 1"),
    ],
)
def test_bad_threads(change: dict[str, object], reason: str) -> None:
    with pytest.raises(BadRecord) as caught:
        thread_of(comments({"text": "fine"}) | {"id": 1} | change, "f:1")
    assert reason in caught.value.reason
    assert caught.value.key == "1"


def test_comments_under_another_name_are_not_lost() -> None:
    with pytest.raises(BadRecord, match="no field 'comments': the record has 'id', 'title', 'answers'"):
        thread_of({"id": 1, "title": "t", "answers": [{"text": "x"}]}, "f:1")


def test_a_thread_needs_no_comments() -> None:
    expected = Document("1", "t", (Part("b"),), metadata={"tags": ["x"]})
    assert thread_of({"id": 1, "title": "t", "body": "b", "tags": ["x"]}, "f:1") == expected
    assert thread_of({"id": 1, "title": "t", "body": "b", "tags": ["x"], "comments": None}, "f:1") == expected
    with pytest.raises(BadRecord, match="no field 'comments': the record has 'id', 'text'"):
        thread_of({"id": 1, "text": "a document, not a thread"}, "f:1")


def test_fields_of_other_names(write: Write, threads: Read) -> None:
    record = {"nr": 5, "subject": "Hot plug", "kind": "power"}
    record |= {"replies": [{"msg": "loose", "score": 1}, {"text": "sell", "score": 2}]}
    own = write("a.jsonl", f"{json.dumps(record | {'msg': 'Why?'})}\n{json.dumps(record | {'nr': 4})}\n")
    found, rejected = threads(own, fields=Fields("nr", "subject", "msg", "kind", "replies"))
    replies = (Part("sell", 1), Part("loose", 2))
    assert found == [
        Document("5", "Hot plug", (Part("Why?"), *replies), "power"),
        Document("4", "Hot plug", replies, "power"),
    ]
    assert rejected == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (Fields(comments="answers"), "there is no field 'answers': the record has 'id', 'title', 'comments'"),
        (Fields(title="subject"), "there is no field 'subject'"),
        (Fields(text="msg"), "there is no field 'msg'"),
        (Fields(), "comment 1 has no field 'text': the record has 'message'; --text-field names another"),
    ],
)
def test_fields_that_are_missing(fields: Fields, reason: str) -> None:
    with pytest.raises(BadRecord) as caught:
        thread_of({"id": 1, "title": "t", "comments": [{"message": "x"}]}, "f:1", fields)
    assert caught.value.reason.startswith(reason)


def test_threads_from_a_file(write: Write, threads: Read) -> None:
    """A thread may be a title only."""
    records = '{"id":1,"comments":[{"text":"x"}]}', '{"id":2,"comments":[]}', '{"id":3,"comments":[{}]}'
    more = '{"id":4,"title":"t","comments":[]}', '{"id":5,"name":"n","comments":[]}'
    good, bad = threads(write("a.jsonl", "\n".join([*records, *more])))
    assert good == [Document("1", "", (Part("x"),)), Document("4", "t", ())]
    assert [(rejection.line, rejection.key) for rejection in bad] == [(2, "2"), (3, "3"), (5, "5")]
    assert ["there is no text" in one.reason for one in bad] == [True, False, True]


def test_a_file_that_holds_no_threads(write: Write, threads: Read) -> None:
    write("d/readme", "hello")
    write("d/t.jsonl", '{"id":1,"comments":[{"text":"x"}]}')
    good, bad = threads("d")
    assert len(good) == 1
    assert str(bad[0]).startswith("d/readme: it does not look like threads")


def test_posts_below_posts_are_posts_in_their_order() -> None:
    third = {"text": "third", "children": [{"text": "fourth", "comments": [{"text": "fifth"}]}]}
    record = {"title": "t", "comments": [{"text": "first", "replies": [{"text": "second"}, third]}, {"text": "last"}]}
    texts = ["first", "second", "third", "fourth", "fifth", "last"]
    assert [part.text for part in thread_of(record, "k").parts] == texts
    deep: dict[str, object] = {"text": "end"}
    for _ in range(3000):
        deep = {"text": "x", "replies": [deep]}
    assert len(thread_of({"comments": [deep]}, "k").parts) == 3001
    with pytest.raises(BadRecord, match=r"comment 1\.1 has no field 'text'"):
        thread_of({"title": "t", "comments": [{"text": "a", "replies": [{"txt": "b"}]}]}, "k")


def test_deleted_posts_are_left_out_and_counted(write: Write, threads: Read, caplog: pytest.LogCaptureFixture) -> None:
    posts = [{"text": "[deleted]", "replies": [{"text": "yes"}, {"text": " [removed]"}]}]
    (found,), _ = threads(write("a.jsonl", json.dumps({"id": "1", "title": "hot?", "comments": posts})))
    assert [part.text for part in found.parts] == ["yes"]
    assert caplog.messages == ["a.jsonl: 2 deleted posts are left out"]


def test_quotations_of_other_posts_are_left_out_of_replies(write: Write, threads: Read) -> None:
    quoted = "<blockquote><div><cite>ann wrote:</cite>Is it hot?</div></blockquote>Yes."
    posts = [{"text": quoted}, {"text": "<p>No.</p><blockquote>It is, says the manual.</blockquote>"}]
    (found,), _ = threads(write("a.jsonl", json.dumps({"title": "t", "body": "<p>Is it hot?</p>", "comments": posts})))
    assert [part.text for part in found.parts] == ["Is it hot?", "Yes.", "No.\nIt is, says the manual."]
