"""`list`, `show` and `export`: text, JSON, and the way back."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pytest

from moverank.indexer.demo.examples import threads_path
from tests.indexer.commands.program import Call

pytestmark = pytest.mark.store

MORE: list[dict[str, Any]] = [
    {
        "id": "long",
        "title": "zorp " * 30,
        "text": "zorp\x1b[31m\nquux\tzorp",
        "author": {"name": "Ann", "mail": ["a", "b"]},
    },
    {"id": "when", "text": "cat", "date": "2020-05-03T10:00+02:00", "open": True, "price": 3.0},
]

LISTED = {"key", "title", "label", "metadata", "parts", "wordless", "source", "file"}


@pytest.fixture
def more(call: Call, collection: Path, tmp_path: Path) -> Path:
    """The collection of ten documents with two more."""
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(record) + "\n" for record in MORE))
    assert call("index", tmp_path / "more.jsonl", "-i", collection).code == 0
    return collection


def test_list_prints_one_document_a_line(call: Call, more: Path) -> None:
    answer = call("list", "-i", more)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split("\t") for line in answer.out.splitlines()]
    assert [row[0] for row in rows] == [*(f"d{i}" for i in range(10)), "long", "when"]
    assert rows[0] == ["d0", "Cat story", "even", "year=2000"]
    assert rows[10][3] == "author.name=Ann  author.mail=a,b  (no known word)"
    assert rows[11] == ["when", "", "", "date=2020-05-03T10:00+02:00  open=true  price=3.0"]


def test_list_has_its_json_keys(call: Call, more: Path) -> None:
    answer = call("list", "-i", more, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert [set(line) for line in answer.lines] == [LISTED] * 12
    assert answer.lines[10]["metadata"] == {"author": {"name": "Ann", "mail": ["a", "b"]}}
    assert [line["wordless"] for line in answer.lines].index(True) == 10


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("search", "cat"),
        ("search", "cat", "--exact", "--rank", "wmd"),
        ("search", "cat", "--rank", "bm25"),
        ("search", "cat", "--depth", "20", "--rank", "wmd"),
        ("similar", "d3"),
        ("similar", "d3", "d4"),
        ("pairs", "-k", "3"),
        ("export",),
    ],
)
def test_a_filter_that_no_document_passes(call: Call, collection: Path, command: tuple[str, ...]) -> None:
    reason = "o document passes the filter: none meets label=evn (the nearest: even)"
    for more in ((), ("--json",)) if command[0] != "export" else ((),):
        answer = call(*command, "-i", collection, "--where", "label=evn", *more)
        assert answer.code == 0
        assert reason in answer.out + answer.err
        if more and command[0] in ("search", "similar"):
            assert [(line["hits"], line["certified"]) for line in answer.lines] == [([], True)] * len(answer.lines)
    assert "why_empty" not in call(*command, "-i", collection, "--where", "label=even").out


def test_list_is_limited_and_filtered(call: Call, more: Path) -> None:
    answer = call("list", "-i", more, "-n", "3")
    assert answer.out.count("\n") == 3
    assert answer.sentence == "3 of 12 documents are shown"
    answer = call("list", "-i", more, "--where", "year>=2007", "--where", "label=odd")
    assert [line.split("\t")[0] for line in answer.out.splitlines()] == ["d7", "d9"]
    assert answer.sentence == "2 of 12 documents pass --where"
    assert call("list", "-i", more, "-n", "0").out == ""


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("price=3", ["when"]),
        ("open=True", ["when"]),
        ("date<2020-05-04", ["when"]),
        ("date>2020-05-03T08:00Z", []),
        ("author.name^=A", ["long"]),
        ("author", ["long"]),
        ("!label", ["long", "when"]),
        ("year<=2001", ["d0", "d1"]),
    ],
)
def test_conditions_apply_to_every_command_alike(call: Call, more: Path, condition: str, keys: list[str]) -> None:
    assert [line["key"] for line in call("list", "-i", more, "--where", condition, "--json").lines] == keys
    assert [line["key"] for line in call("export", "-i", more, "--where", condition).lines] == keys
    known = [key for key in keys if key != "long"]
    for arguments in (("search", "cat dog"), ("similar", "d3")):
        hits = call(*arguments, "-i", more, "--where", condition, "--json").json["hits"]
        assert sorted(hit["key"] for hit in hits) == known
    assert call("remove", "-i", more, "--where", condition, "--dry-run", "--json").json["removed"] == len(keys)
    if keys:
        assert call("remove", "-i", more, "--where", condition, "--json").json["removed"] == len(keys)
        assert call("info", "-i", more, "--json").json["documents"] == 12 - len(keys)


def test_show_prints_the_whole_document(call: Call, more: Path) -> None:
    answer = call("show", "long", "d1", "-i", more)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "long  " + " ".join(["zorp"] * 30)
    assert [line.split() for line in lines[1:6]] == [
        ["author.name", "Ann"],
        ["author.mail", "a,", "b"],
        ["source", str(more.parent / "more.jsonl")],
        ["words", "3,", "3", "without", "a", "vector:", "31m", "quux", "zorp"],
        ["revision", "2"],
    ]
    assert lines[6:10] == ["", "-- rank 0 --", "zorp [31m", "quux zorp"]
    assert lines[11] == "d1  Dog story"


def test_show_has_its_json_keys(call: Call, more: Path) -> None:
    answer = call("show", "d1", "long", "-i", more, "--json")
    first, second = answer.lines
    facts = ["words", "unknown_words", "revision", "source", "file"]
    assert list(first) == ["key", "title", "label", "metadata", "parts", *facts]
    assert (first["source"], first["file"]) == (None, None)
    assert (second["source"], second["file"]) == (str(more.parent / "more.jsonl"), "")
    assert (first["words"], first["unknown_words"], first["revision"]) == (4, ["story"], 1)
    assert second["parts"] == [{"text": MORE[0]["text"], "rank": 0}]


def test_hits_have_their_metadata(call: Call, more: Path) -> None:
    (hit,) = call("search", "cat", "-i", more, "--where", "open", "--json").json["hits"]
    assert hit["metadata"] == {"date": "2020-05-03T10:00+02:00", "open": True, "price": 3.0}
    (hit,) = call("similar", "d1", "-i", more, "--where", "year=2004", "--json").json["hits"]
    assert hit["metadata"] == {"year": 2004}
    lines = call("search", "cat", "-i", more, "--where", "open").out.splitlines()
    assert lines[1].strip() == "date=2020-05-03T10:00+02:00  open=true  price=3.0"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet", "out.arrow"])
def test_an_export_makes_the_same_collection_again(call: Call, vectors: Path, tmp_path: Path, name: str) -> None:
    if ".jsonl" not in name:
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    assert call("threads", threads_path(), "-i", first, "--embedding", vectors).code == 0
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(record) + "\n" for record in MORE))
    assert call("index", tmp_path / "more.jsonl", "-i", first).code == 0
    exported = call("export", "-i", first)
    assert exported.err == ""
    answer = call("export", "-i", first, "-o", tmp_path / name)
    assert (answer.code, answer.out) == (0, "")
    assert answer.sentence == f"{len(exported.lines):,} documents are in {tmp_path / name}"
    content = (tmp_path / name).read_bytes()
    if ".jsonl" in name:
        assert (gzip.decompress(content) if name.endswith(".gz") else content).decode() == exported.out
    for command, copy in (("threads", second), ("index", third)):
        settings = ("--gamma", "0.75", "--setting", "title_weight=3", "--embedding", vectors)
        assert call(command, tmp_path / name, "-i", copy, *settings, "--strict").code == 0
        assert call("export", "-i", copy).out == exported.out
        assert call("check", "-i", copy).code == 0
        for arguments in (("search", "red bus and cheese"), ("similar", "plug-hot"), ("list",), ("show", "plug-hot")):
            assert _answers(call, first, *arguments) == _answers(call, copy, *arguments)
    assert call("index", tmp_path / name, "-i", first, "--json").json["unchanged"] == len(exported.lines)


def _answers(call: Call, collection: Path, *arguments: str) -> list[Any]:
    answers = call(*arguments, "-i", collection, "--json").lines
    other = ("seconds", "revision", "source", "file")
    return [{name: value for name, value in answer.items() if name not in other} for answer in answers]


def test_a_failed_export_leaves_the_old_file(call: Call, more: Path, tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("moverank.indexer.formatters.json_line", full)
    answer = call("export", "-i", more, "-o", file)
    assert (answer.code, answer.sentence) == (1, f"{file}: cannot be written: No space left on device")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_empty_collection_is_listed_and_exported(call: Call, empty: Path) -> None:
    assert (call("list", "-i", empty).out, call("export", "-i", empty).out) == ("", "")


def test_everything_is_removed_only_on_demand(call: Call, more: Path) -> None:
    before = call("export", "-i", more).out
    assert call("remove", "-i", more, "--where", "year!=1").code == 2
    answer = call("remove", "-i", more, "--where", "year!=1", "--dry-run")
    assert (answer.code, answer.out) == (0, "12 of 12 documents would be removed\n")
    assert call("remove", "d1", "-i", more, "--dry-run").out == "1 of 12 documents would be removed\n"
    assert call("export", "-i", more).out == before
    assert call("remove", "-i", more, "--where", "year!=1", "--yes", "--json").json["removed"] == 12
    assert call("info", "-i", more, "--json").json["documents"] == 0


def test_list_is_whole_in_a_pipe_and_as_wide_as_a_terminal(
    call: Call, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"id": "k" * 50, "title": "猫の話 " * 40, "text": "cat", "by": "x" * 300, "label": "y" * 90}
    (more.parent / "wide.jsonl").write_text(json.dumps(record))
    assert call("index", more.parent / "wide.jsonl", "-i", more).code == 0
    row = call("list", "-i", more).out.splitlines()[-1].split("\t")
    assert row == ["k" * 50, ("猫の話 " * 40).strip(), "y" * 90, "by=" + "x" * 300]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for width in (60, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = call("list", "-i", more).out.splitlines()
        assert len(lines) == 13
        assert all(sum(1 + (east_asian_width(char) in "WF") for char in line) <= width for line in lines)
        assert lines[0].startswith("d0 ")
        assert lines[-1].endswith("…")


def test_list_and_export_are_tables_for_a_spreadsheet(call: Call, more: Path, tmp_path: Path) -> None:
    answer = call("list", "-i", more, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    listed = call("list", "-i", more, "--json").lines
    assert [(row["key"], row["parts"]) for row in rows] == [(one["key"], str(one["parts"])) for one in listed]
    assert (rows[0]["year"], rows[10]["author.mail"], rows[10]["wordless"]) == ("2000", "a, b", "true")
    assert len(call("list", "-i", more, "--format", "csv", "-n", "2").out.splitlines()) == 3
    (row,) = csv.DictReader(io.StringIO(call("export", "-i", more, "--where", "price=3", "--format", "csv").out))
    assert (row["key"], row["text"], row["price"]) == ("when", "cat", "3.0")
    for name in ("all.csv", "all.csv.gz"):
        assert call("export", "-i", more, "-o", tmp_path / name).sentence == f"12 documents are in {tmp_path / name}"
    assert gzip.decompress((tmp_path / "all.csv.gz").read_bytes()) == (tmp_path / "all.csv").read_bytes()
    assert call("export", "-i", more, "-o", tmp_path / "all.csv", "--format", "jsonl").code == 0
    assert json.loads((tmp_path / "all.csv").read_text().splitlines()[0])["key"] == "d0"


def test_an_exported_table_can_be_indexed(call: Call, collection: Path, vectors: Path, tmp_path: Path) -> None:
    assert call("export", "-i", collection, "-o", tmp_path / "all.csv").code == 0
    again = ("-i", tmp_path / "again")
    assert call("index", tmp_path / "all.csv", *again, "--embedding", vectors).code == 0
    for query in ("cat dog", "wine"):
        one, other = (call("search", query, *where, "--json").json["hits"] for where in (("-i", collection), again))
        assert [(hit["key"], hit["total"], hit["label"]) for hit in one] == [
            (hit["key"], hit["total"], hit["label"]) for hit in other
        ]
