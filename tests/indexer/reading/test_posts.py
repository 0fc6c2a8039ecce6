"""Posts as rows of a table become the threads that the nested record would be."""

import csv
import gzip
import io
import json
import logging
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import UsageError
from moverank.indexer.reading import Fields, read_documents, read_threads
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write, split

FIELDS = Fields(thread="topic_id", parent="parent_id")
Row = dict[str, Any]


def post(number: int | str, parent: int | str | None = None, topic: int | str = 7, **more: Any) -> Row:
    return {"id": number, "topic_id": topic, "parent_id": parent, "text": f"text {number}"} | more


def table(rows: list[Row]) -> str:
    file = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(file, names)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(write: Write, threads: Read, rows: list[Row], fields: Fields = FIELDS) -> list[Document]:
    """Return the threads of rows, which are the same from CSV and from JSONL, by key."""
    found, bad = threads(write("a.csv", table(rows)), fields=fields)
    again, bad_again = threads(write("a.jsonl", lines(rows)), fields=fields)
    assert not bad
    assert not bad_again
    read_texts = [(one.key, one.title, one.parts) for one in found]
    assert read_texts == [(one.key, one.title, one.parts) for one in again]
    return sorted(again, key=lambda document: document.key)


def texts(document: Document) -> list[str]:
    return [part.text.removeprefix("text ") for part in document.parts]


def test_rows_that_are_not_adjacent_become_threads(write: Write, threads: Read) -> None:
    rows = [
        post(2, 1, title="Re: A", user="bob"),
        post(9, "", topic="b", title="B", forum={"id": 3}),
        post(1, "", title="A  plug", user="ann", score=None),
        post(3, 1),
    ]
    first, second = read(write, threads, rows)
    assert first.key == "7"
    assert first.title == "A plug"
    assert first.parts == (Part("text 1"), Part("text 2", 1), Part("text 3", 2))
    assert first.metadata == {"user": "ann"}
    assert (second.key, second.title, second.metadata) == ("b", "B", {"forum": {"id": 3}})


def test_every_post_is_followed_by_those_below_it(write: Write, threads: Read) -> None:
    rows = [post(1), post(2, 1), post(3, 1), post(4, 2), post(5, 4), post(6, 1), post(7, 3)]
    for seed in range(5):
        Random(seed).shuffle(rows)  # noqa: S311 - an order, no secret
        dated = [row | {"created_at": f"2021-03-05 10:00:0{row['id']}"} for row in rows]
        assert texts(read(write, threads, dated)[0]) == list("1245376")


def test_replies_are_ranked_by_votes_an_accepted_one_first(write: Write, threads: Read) -> None:
    votes = {1: 0, 2: 5, 3: 9, 4: -1}
    rows = [post(n, None if n == 1 else 1, score=score, accepted=n == 4) for n, score in votes.items()]
    assert texts(read(write, threads, rows)[0]) == list("1432")


def test_without_a_field_for_the_parent_the_order_is_that_of_time(write: Write, threads: Read) -> None:
    fields = Fields(thread="topic_id")
    rows = [post(n, post_time=1_600_000_000 - n, title=f"t{n}") for n in (1, 2, 3)]
    (document,) = read(write, threads, rows, fields)
    assert (document.title, texts(document)) == ("t3", list("321"))
    rows[1]["post_time"] = "some day"  # then in the order of the file
    assert texts(read(write, threads, rows, fields)[0]) == list("123")


def test_lost_parents_circles_and_posts_below_themselves(write: Write, threads: Read) -> None:
    rows = [post(5, 99), post(2, 3), post(3, 2), post(1, 0), post(4, 1), post(8, 8)]
    assert texts(read(write, threads, rows)[0]) == list("148523")
    assert texts(read(write, threads, [post(2, 3), post(3, 2)])[0]) == list("23")
    assert texts(read(write, threads, [post(4, 99), post(5, 4)])[0]) == list("45")
    assert texts(read(write, threads, [post(0), post(1), post(2, 0)])[0]) == list("021")  # 0 is a key here
    # pandas writes whole numbers so where some are missing.
    assert texts(read(write, threads, [post(1, None), post(2, "1.0"), post(3, "1.0"), post(4, "2.0")])[0]) == list(
        "1243"
    )


def test_deleted_posts_are_left_out_and_those_below_them_stay(
    write: Write, threads: Read, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [post(1, title="A"), post(2, 1, deleted_at="2021-03-05"), post(3, 2), post(4, 1, text="[deleted]")]
    with caplog.at_level(logging.WARNING, "moverank"):
        assert texts(read(write, threads, rows)[0]) == list("13")
    assert caplog.messages == [f"a.{name}: 2 deleted posts are left out" for name in ("csv", "jsonl")]
    assert read(write, threads, [post(1, text="[removed]", title="A"), post(2, topic=8)])[0].key == "8"
    (document,) = read(write, threads, [post(1, title="A", deleted="t"), post(2, 1, deleted="f")])
    assert (document.title, document.parts) == ("A", (Part("text 2", 1),))


def test_other_fields_are_named_and_the_case_of_columns_does_not_matter(write: Write, threads: Read) -> None:
    rows = [{"PID": 1, "Topic_ID": 5, "post_subject": "S", "post_text": "x", "kind": "k"}]
    fields = Fields("pid", "post_subject", "post_text", "kind", thread="topic_id")
    (document,), bad = threads(write("a.csv", table(rows)), fields=fields)
    assert document == Document("5", "S", (Part("x"),), "k")
    assert not bad


def test_html_is_removed_as_from_records(write: Write, threads: Read) -> None:
    rows = [post(n, None if n == 1 else 1, text=f"<p>text <b>{n}</b></p>") for n in range(1, 9)]
    assert texts(read(write, threads, rows)[0]) == list("12345678")


BAD_ROWS: list[tuple[Row, str, str | None]] = [
    ({"id": 2, "text": "x", "parent_id": 1}, "there is no field 'topic_id': the record has 'id', 'text'", None),
    (post(2, 1, topic=" "), "'topic_id' is empty: each post needs the key of its thread", None),
    ({"id": 2, "topic_id": 7, "parent_id": 1}, "there is no field for the text (", "7"),
    (post(2, 1, text=5), "'text' must be a string, not 5", "7"),
    (post(1, 1), "the key '1' of the post is already taken by line 1 of the same thread", "1"),
    ({"topic_id": 7, "text": "x"}, "there is no field 'parent_id'", None),
]


@pytest.mark.parametrize(("row", "reason", "key"), BAD_ROWS)
def test_a_bad_row_is_named(write: Write, threads: Read, row: Row, reason: str, key: str | None) -> None:
    found, bad = threads(write("a.jsonl", lines([post(1), row, post(3, 1)])), fields=FIELDS)
    assert [texts(one) for one in found] == [["1", "3"]]
    assert str(bad[0]).startswith(f"a.jsonl:2: {reason}")
    assert bad[0].key == key
    assert bad[0].part == (key != "1")  # the thread may have lost this post


def test_a_table_without_the_column_is_refused_once(write: Write, threads: Read) -> None:
    path = write("a.csv", table([{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]))
    (bad,) = threads(path, fields=FIELDS)[1]
    assert str(bad) == "a.csv:1: there is no field 'topic_id': the record has 'id', 'text'"
    (bad,) = threads(path)[1]
    needed = "its rows are posts: name the column of their thread, as in --thread-field topic_id"
    assert str(bad) == f"a.csv: {needed}"


def test_a_file_that_is_cut_keeps_its_threads(write: Write, threads: Read) -> None:
    rows = [post(n, topic=n % 10, text=f"{n} " + "x" * n) for n in range(2000)]
    whole = gzip.compress(table(rows).encode())
    found, bad = threads(write("a.csv.gz", whole[:-9]), fields=FIELDS)
    assert len(found) == 10
    assert bad[-1].ends
    assert bad[-1].part


def test_formats_that_join_posts_themselves_refuse_the_option(write: Write, threads: Read) -> None:
    for name, content in {"a.mbox": "From x\n\nbody\n", "Posts.xml": "<posts></posts>"}.items():
        (bad,) = threads(write(name, content), fields=FIELDS)[1]
        assert str(bad) == f"{name}: its posts name their threads in a way of its own: leave --thread-field out"


def test_options_that_do_not_go_together(write: Write) -> None:
    path = write("a.csv", "id,text\n")
    with pytest.raises(UsageError, match="--parent-field needs --thread-field"):
        read_threads([path], fields=Fields(parent="p"))
    with pytest.raises(UsageError, match="--thread-field is for records which are posts"):
        read_threads([path], fields=Fields(thread="t", comments="c"))


_TREES = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 14)), min_size=1, max_size=12)


@given(drawn=_TREES, small=st.booleans())
def test_no_post_is_lost_or_repeated(tmp_path: Path, drawn: list[tuple[int, int]], small: bool) -> None:
    more = "" if small else "x" * 200_000  # then in temporary files
    rows = [post(n, parent, topic=topic, text=f"text {n}{more}") for n, (topic, parent) in enumerate(drawn)]
    (tmp_path / "a.jsonl").write_text(lines(rows))
    found = list(read_threads([str(tmp_path / "a.jsonl")], fields=FIELDS))
    read_ids = {one.key: sorted(text.rstrip("x") for text in texts(one)) for one in found if isinstance(one, Document)}
    expected: dict[str, list[str]] = {}
    for n, (topic, _) in enumerate(drawn):
        expected.setdefault(str(topic), []).append(str(n))
    assert read_ids == {topic: sorted(ids) for topic, ids in expected.items()}


def test_parquet_and_the_nested_records_of_real_forums(shared: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    source = shared / "data" / "stackexchange_bicycles_meta" / "threads.jsonl.gz"
    nested, rows = list[Row](), list[Row]()
    for line in gzip.decompress(source.read_bytes()).splitlines():
        thread = json.loads(line)
        names = ("text", "score", "accepted")
        comments = [{name: one.get(name) for name in names} for one in thread["comments"]]
        nested.append({"id": thread["id"], "title": thread["title"], "body": thread["body"], "comments": comments})
        posts = [{"title": thread["title"], "text": thread["body"]}, *comments]
        for n, one in enumerate(posts):
            about = {"topic_id": thread["id"], "parent_id": f"{thread['id']}.0" if n else None, "created_at": n}
            rows.append({"id": f"{thread['id']}.{n}", **one, **about})
    Random(5).shuffle(rows)  # noqa: S311 - an order, no secret
    pq.write_table(pa.Table.from_struct_array(pa.array(rows)), tmp_path / "rows.parquet")
    (tmp_path / "nested.jsonl").write_text(lines(nested))
    found, bad = split(read_threads([str(tmp_path / "rows.parquet")], fields=FIELDS))
    expected, bad_nested = split(read_threads([str(tmp_path / "nested.jsonl")]))
    assert len(expected) > 400
    assert not bad
    assert not bad_nested
    assert {one.key: (one.title, one.parts) for one in found} == {one.key: (one.title, one.parts) for one in expected}


def test_index_reads_rows_as_documents_of_their_own(write: Write) -> None:
    path = write("a.csv", table([post(1), post(2, 1)]))
    assert [one.key for one in read_documents([path])] == ["1", "2"]
