"""What is noticed in sources of records."""

import gzip
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from moverank.indexer.reading import Fields
from moverank.indexer.values.documents import Document
from tests.indexer.reading.conftest import Read, Write

Notices = Callable[[], list[str]]

PROSE = "The plug of the heater gets hot after some minutes, and it smells. " * 4
POSTS = [{"message": PROSE}, {"message": "short"}]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def notices(caplog: pytest.LogCaptureFixture) -> Notices:
    """Return a function that returns what was logged since its last call."""

    def taken() -> list[str]:
        messages = caplog.messages
        caplog.clear()
        return messages

    return taken


@pytest.mark.parametrize(
    ("field", "value", "mend"),
    [
        ("remark", PROSE, "--text-field remark reads it as the text"),
        ("answers", POSTS, "`moverank threads --comments-field answers` reads them"),
        ("comments", POSTS, "`moverank threads` reads them"),
        ("nested", {"note": PROSE}, "make it a text, a field of the record itself"),
        ("lines", [PROSE, PROSE], "make it a text, a field of the record itself"),
        ("日記", "今日はとても暑かったので、" * 20, "--text-field 日記 reads it as the text"),
    ],
)
def test_long_texts_that_are_not_read_are_noticed_once(
    write: Write, documents: Read, field: str, value: Any, mend: str, notices: Notices
) -> None:
    record = {"text": "cat", field: value}
    _, rejected = documents(write("a.jsonl", lines({"text": "dog"}, record, record)))
    assert rejected == []
    assert notices() == [f"a.jsonl: the field {field!r} has long texts, which are not read: {mend}"]


@pytest.mark.parametrize(
    "record",
    [
        {"text": PROSE},
        {"text": "cat", "title": PROSE},
        {"text": "cat", "note": "too short to be noticed"},
        {"text": "cat", "url": "https://example.org/" + "path/" * 99},
        {"text": "cat", "hash": "0123456789abcdef" * 99, "numbers": list(range(999)), "tags": ["a tag"] * 9},
        {"key": "k", "parts": [{"text": PROSE}], "metadata": {"note": PROSE}},
    ],
)
def test_what_is_read_or_no_text_is_not_noticed(
    write: Write, documents: Read, record: dict[str, Any], notices: Notices
) -> None:
    _, rejected = documents(write("a.jsonl", lines(record)))
    assert (notices(), rejected) == ([], [])


def test_columns_that_are_not_read_are_noticed(write: Write, documents: Read, notices: Notices) -> None:
    documents(write("a.csv", f'text,remark\ncat,"{PROSE}"\n'))
    assert notices() == [
        "a.csv: the field 'remark' has long texts, which are not read: --text-field remark reads it as the text"
    ]
    documents("a.csv", fields=Fields(text="remark"))
    assert notices() == []


def test_records_without_a_text_name_the_options(write: Write, documents: Read, threads: Read) -> None:
    path = write("a.jsonl", lines({"id": 1, "title": "", "body": "", "comments": [], "remark": PROSE}))
    start = "there is no text: give it some, leave the record out, or name the field that has it, such as 'remark', by "
    _, (bad,) = documents(path)
    assert bad.reason == f"{start}--title-field or --text-field"
    _, (bad,) = threads(path)
    assert bad.reason == f"{start}--title-field, --text-field or --comments-field"


def test_threads_notice_fields_of_another_name(write: Write, threads: Read, notices: Notices) -> None:
    threads(write("a.jsonl", lines({"id": 1, "title": "hot plug", "message": PROSE})))
    assert notices() == [
        "a.jsonl: the field 'message' has long texts, which are not read: --text-field message reads it as the text"
    ]


HTML = "<p>The plug&#x27;s <b>hot</b> &amp; smells.</p>"
SEEN = "The plug's hot & smells."
SAID = "a.jsonl: its texts are HTML, of which the visible text is read; --markup keep reads all of it"


def texts(found: list[Document]) -> list[str]:
    return [part.text for document in found for part in document.parts]


def test_html_in_texts_is_found_removed_and_noticed_once(write: Write, documents: Read, notices: Notices) -> None:
    records = [{"title": "a < b && c", "text": HTML}, {"text": "a < b && c > d"}, *[{"text": HTML}] * 500]
    found, rejected = documents(write("a.jsonl", lines(*records)))
    assert rejected == []
    assert texts(found) == [SEEN, "a < b && c > d", *[SEEN] * 500]
    assert found[0].title == "a < b && c"
    assert notices() == [SAID]


def test_html_that_comes_after_the_first_records_is_kept(write: Write, documents: Read, notices: Notices) -> None:
    found, _ = documents(write("a.jsonl", lines(*[{"text": "plain"}] * 200, *[{"text": HTML}] * 200)))
    assert texts(found)[-1] == HTML
    assert notices() == []


def test_markup_overrides_what_is_found(write: Write, documents: Read, notices: Notices) -> None:
    path = write("a.jsonl", lines({"title": HTML, "text": HTML}))
    found, _ = documents(path, markup="keep")
    assert (found[0].title, texts(found), notices()) == (HTML, [HTML], [])
    once = write("b.jsonl", lines({"text": "plain & simple"}, {"text": "a &gt; b"}, *[{"text": "R&D"}] * 9))
    assert "a &gt; b" in texts(documents(once)[0])
    assert "a > b" in texts(documents(once, markup="strip")[0])


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_html_in_tables(write: Write, documents: Read, name: str) -> None:
    separator = "," if name == "a.csv" else "\t"
    found, _ = documents(write(name, f"title{separator}text\nR&amp;D{separator}{HTML}\n"))
    assert (found[0].title, texts(found)) == ("R&D", [SEEN])


def test_html_in_threads(write: Write, threads: Read, notices: Notices) -> None:
    record = {"title": "R&D", "body": HTML, "comments": [{"text": HTML}, {"text": "<br>"}]}
    found, _ = threads(write("a.jsonl", lines(record)))
    assert (found[0].title, texts(found), notices()) == ("R&D", [SEEN, SEEN], [SAID])


def test_exported_texts_are_kept(write: Write, documents: Read, threads: Read, notices: Notices) -> None:
    path = write("a.jsonl", lines({"key": "k", "title": HTML, "parts": [{"text": HTML}]}))
    for read in (documents, threads):
        found, _ = read(path)
        assert (found[0].title, texts(found), notices()) == (HTML, [HTML], [])


def test_a_record_which_is_only_markup_has_no_text(write: Write, documents: Read) -> None:
    good, bad = documents(write("a.jsonl", lines({"text": HTML}, {"text": "<p><img src='x'></p>"})))
    assert texts(good) == [SEEN]
    assert [(one.line, one.reason.partition(":")[0]) for one in bad] == [(2, "there is no text")]


def test_records_before_a_fault_are_read(write: Write, documents: Read) -> None:
    data = gzip.compress(b"".join(b'{"text": "%d %s"}\n' % (i, os.urandom(99).hex().encode()) for i in range(99)))
    good, bad = documents(write("a.jsonl.gz", data[:-2000]))
    assert 20 < len(good) < 99
    assert "gzip data are damaged" in bad[-1].reason
