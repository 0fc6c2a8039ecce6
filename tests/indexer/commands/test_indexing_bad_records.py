"""Bad records are rejected one by one, and the good ones beside them are indexed."""

import gzip
import json
from pathlib import Path

import pytest

from tests.indexer.commands.program import GOOD, Call

BAD_RECORDS: list[tuple[str, bytes, str]] = [
    ("cut.jsonl", b'{"id": "bad", "text": \n', "cut.jsonl:2: broken JSON at column 22"),
    ("no_text.jsonl", b'{"id": "bad"}\n', "no_text.jsonl:2: there is no field for the text"),
    ("type.jsonl", b'{"id": "bad", "text": 5}\n', "type.jsonl:2: 'text' must be a string, not 5"),
    ("list.jsonl", b"[1, 2]\n", "list.jsonl:2: a record must be a JSON object"),
    ("empty_text.jsonl", b'{"id": "bad", "text": " "}\n', "empty_text.jsonl:2: there is no text"),
    ("twice.jsonl", GOOD.encode(), "twice.jsonl:2: the key 'good' is already taken"),
    ("key.jsonl", b'{"id": null, "text": "cat"}\n', "key.jsonl:2: the key 'id' must be a string or an integer"),
    ("no_key.jsonl", b'{"id": "", "text": "cat"}\n', "no_key.jsonl:2: the key is empty"),
    ("latin.jsonl", b'{"id": "bad", "text": "caf\xe9"}\n', "latin.jsonl:2: byte 27 of the line is not UTF-8"),
    ("surrogate.jsonl", b'{"id": "bad", "text": "\\ud800"}\n', "surrogate.jsonl:2: it holds \\ud800, half of"),
    ("nul.jsonl", b'{"id": "bad", "text": "a\\u0000"}\n', "nul.jsonl:2: it holds a NUL character"),
    ("nan.jsonl", b'{"id": "bad", "text": "a", "year": NaN}\n', "nan.jsonl:2: NaN is not JSON"),
    ("deep.jsonl", b'{"id": ' + b"[" * 100_000 + b"\n", "deep.jsonl:2: "),
    ("escape.jsonl", b"\x1b[31mnot JSON\n", "escape.jsonl:2: broken JSON at column 1"),
]


@pytest.mark.parametrize(("name", "bad", "message"), BAD_RECORDS, ids=[name for name, _, _ in BAD_RECORDS])
def test_a_bad_record_is_rejected_and_the_good_one_indexed(
    call: Call, empty: Path, tmp_path: Path, name: str, bad: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(GOOD.encode() + bad)
    answer = call("index", tmp_path / name, "-i", empty, "--json")
    assert answer.code == 0
    assert (answer.json["added"], answer.json["rejected"]) == (1, 1)
    assert message in answer.sentence
    assert "\x1b" not in answer.err
    assert call("search", "cat", "-i", empty, "--json").json["hits"][0]["key"] == "good"


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("row.csv", b"id,text\ngood,cat\nbad\n", "row.csv:3: the row has 1 fields, the header 2"),
    ("quote.csv", b'id,text\ngood,cat\nbad,"dog\n', "quote.csv:3: broken CSV: a quotation mark opens here"),
    ("cut.jsonl.gz", gzip.compress(GOOD.encode())[:-4], "cut.jsonl.gz:1: from here on the gzip data are damaged"),
    ("lines.tsv", b"id\ttext\ngood\tcat\nbad\tdog\tbird\n", "lines.tsv:3: the row has 3 fields, the header 2"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_the_good_records_of_a_bad_file_are_indexed(
    call: Call, empty: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", tmp_path / name, "-i", empty, "--json")
    is_cut = name.endswith(".gz")
    assert answer.code == int(is_cut)
    assert (answer.json["added"], answer.json["rejected"], answer.json["unread"]) == (1, 1, int(is_cut))
    assert message in answer.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.png", b"\x89PNG\0\0", "picture.png: it holds NUL bytes, so it is no text"),
        (
            "paper.pdf",
            b"%PDF-1.4 cat",
            "paper.pdf: it is a PDF file, and no text: leave it out, or extract",
        ),
        ("latin.txt", b"caf\xe9", "latin.txt: byte 4 of the file, in line 1, is not UTF-8"),
        ("empty.txt", b"", "empty.txt: there is no text"),
        ("zip.jsonl", b"PK\x03\x04\x14\0", "zip.jsonl: it is a zip archive: unpack it, and give what is inside"),
        ("bz.csv", b"BZh91AY&SYx", "bz.csv: it is a bzip2 archive: unpack it, and give what is inside"),
        ("header.csv", b"id,id\n1,2\n", "header.csv:1: the header names 'id' twice"),
    ],
)
def test_a_source_without_any_document_fails(
    call: Call, collection: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", tmp_path / name, "-i", collection, "--json")
    assert answer.code == 1
    assert (answer.json["added"], answer.json["rejected"]) == (0, 1)
    assert message in answer.sentence
    assert call("info", "-i", collection, "--json").json["documents"] == 10


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"comments": "x"}, "'comments' must be a list"),
        ({"comments": [{"txt": "x"}]}, "comment 1 has no field 'text'"),
        ({"comments": [{"text": "x", "rank": -1}]}, "the rank of comment 1 must be a whole number"),
        ({"text": "x"}, "there is no field 'comments'"),
    ],
)
def test_a_bad_thread_is_rejected(
    call: Call, empty: Path, tmp_path: Path, record: dict[str, object], message: str
) -> None:
    file = tmp_path / "threads.jsonl"
    good = {"id": "good", "title": "cat", "comments": []}
    file.write_text(json.dumps(good) + "\n" + json.dumps({"id": "bad"} | record) + "\n")
    answer = call("threads", file, "-i", empty, "--json")
    assert (answer.code, answer.json["added"], answer.json["rejected"]) == (0, 1, 1)
    assert f"threads.jsonl:2: {message}" in answer.sentence


def test_most_records_rejected_is_a_failure_that_is_said(call: Call, tmp_path: Path, vectors: Path) -> None:
    good, bad = '{"id": "%s", "text": "cat", "body": "dog", "comments": []}\n', "{\n"
    file = tmp_path / "mixed.jsonl"
    for command in ("index", "threads"):
        for goods, bads, code in ((2, 2, 0), (2, 3, 1), (0, 2, 1)):
            file.write_text("".join(good % i for i in range(goods)) + bads * bad)
            for more in ((), ("--dry-run",)):
                answer = call(command, file, "-i", tmp_path / f"{command}{goods}{bads}", "--embedding", vectors, *more)
                assert answer.code == code
                said = f"most records were rejected, {bads} of {goods + bads}, so the exit code is 1" in answer.err
                assert said == (code == 1 and goods > 0)


def test_a_mailbox_that_ends_within_a_line_takes_no_post_from_a_stored_thread(
    call: Call, tmp_path: Path, vectors: Path
) -> None:
    texts = ["dog and cat", "the river is red", "wine and bread"]
    messages = [
        f"From list Mon Jan  1 00:00:0{i} 2024\nMessage-ID: <{i}@x>\nSubject: pets\n"
        + ("References: <0@x>\n" if i else "")
        + f"\n{text}\n\n"
        for i, text in enumerate(texts)
    ]
    file = tmp_path / "list.mbox"
    file.write_text("".join(messages))
    index = ("threads", file, "-i", tmp_path / "x", "--embedding", vectors)
    assert call(*index).code == 0
    file.write_text("".join(messages)[:-60])
    again = call(*index)
    assert again.code == 1
    assert "the file ends within a line, so posts may be missing" in again.err
    (shown,) = call("export", "-i", tmp_path / "x").lines
    assert [part["text"] for part in shown["parts"]] == texts
    assert call("index", file, "-i", tmp_path / "y", "--embedding", vectors).code == 0  # messages by themselves
