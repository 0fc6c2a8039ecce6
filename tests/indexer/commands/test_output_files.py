"""Files in Parquet and Arrow that commands write and read again; pyarrow is the oracle of their columns."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Document, Part
from moverank.indexer.formatters import document_rows, document_schema, write_rows
from moverank.indexer.reading import read_documents, read_threads
from tests.indexer.commands.program import Call

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")

NAMES = ("x.parquet", "x.arrow", "x.feather")


def table(path: Path) -> Any:
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=5,
)
_DOCUMENTS = st.builds(
    Document,
    key=st.just("key"),
    title=st.sampled_from(["", "A title"]),
    parts=st.lists(st.builds(Part, st.sampled_from(["one", " two\n"]), st.integers(0, 9)), min_size=1).map(tuple),
    label=st.none() | st.just("power"),
    metadata=st.dictionaries(st.sampled_from(["year", "tags", "key", "who.name", ""]), _VALUES, max_size=4),
    title_counts=st.booleans(),
    vector=st.none() | st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
)


@pytest.mark.parametrize("name", NAMES)
@given(drawn=st.lists(_DOCUMENTS, max_size=4))
def test_any_documents_come_back_as_they_were(tmp_path: Path, name: str, drawn: list[Document]) -> None:
    documents = [
        Document(f"k{n}", one.title, one.parts, one.label, one.metadata, one.title_counts, one.vector)
        for n, one in enumerate(drawn)
    ]
    schema = document_schema(one.metadata for one in documents)
    with (tmp_path / name).open("wb") as file:
        write_rows(file, name, schema, document_rows(documents, schema))
    for read in (read_documents, read_threads):
        found = [one.to_dict() if isinstance(one, Document) else one for one in read([str(tmp_path / name)])]
        # As JSON, 1 and 1.0 are two values; the fields of metadata have no order.
        assert json.dumps(found, sort_keys=True) == json.dumps([one.to_dict() for one in documents], sort_keys=True)


def test_metadata_of_one_type_have_columns_of_it(call: Call, collection: Path, tmp_path: Path) -> None:
    more = [{"id": "x", "text": "cat", "price": 3.0, "open": True, "tags": ["a"], "who": {"name": "Ann"}, "n": 1}]
    more += [{"id": "y", "text": "dog", "tags": [], "n": "one"}]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(record) + "\n" for record in more))
    assert call("index", tmp_path / "more.jsonl", "-i", collection).code == 0
    for name in NAMES:
        answer = call("export", "-i", collection, "-o", tmp_path / name)
        assert (answer.code, answer.sentence) == (0, f"12 documents are in {tmp_path / name}")
        found = table(tmp_path / name)
        assert found.schema.names == ["key", "title", "label", "metadata", "title_counts", "vector", "parts"]
        fields = found.schema.field("metadata").type
        # pyarrow has the type JSON from version 19 on; before, it keeps the metadata by which it is known.
        kinds = {field.name: "json" if field.metadata else str(field.type) for field in fields}
        assert kinds["year"] == "int64"
        assert kinds["price"] == "double"
        assert kinds["open"] == "bool"
        assert {name for name, kind in kinds.items() if "json" in kind} == {"tags", "who", "n"}
        assert call("index", tmp_path / name, "-i", collection, "--json").json["unchanged"] == 12


def test_a_changed_table_updates_and_prunes_as_jsonl_does(call: Call, vectors: Path, tmp_path: Path) -> None:
    file, index = tmp_path / "docs.parquet", ("-i", tmp_path / "made")
    rows = [{"id": f"k{n}", "text": f"cat dog {n}"} for n in range(5)]
    pq.write_table(pa.Table.from_pylist(rows), file)
    assert call("index", file, *index, "--embedding", vectors, "--json").json["added"] == 5
    assert call("index", file, *index, "--json").json["unchanged"] == 5
    pq.write_table(pa.Table.from_pylist([{"id": "k0", "text": "bus"}, *rows[2:]]), file)
    changes = call("index", file, *index, "--prune", "--json").json
    assert (changes["updated"], changes["removed"], changes["unchanged"]) == (1, 1, 3)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    answer = call("index", file, *index, "--prune", "--json")
    assert (answer.code, answer.json["removed"], answer.json["unread"]) == (1, 0, 1)
    assert call("info", *index, "--json").json["documents"] == 4


@pytest.mark.parametrize("clusters", [(), ("--clusters",)])
def test_pairs_are_written_in_the_format_of_the_name(
    call: Call, collection: Path, tmp_path: Path, clusters: tuple[str, ...]
) -> None:
    pairs = ("pairs", "-i", collection, "-k", "4", *clusters)
    expected = list(csv.DictReader(io.StringIO(call(*pairs, "--format", "csv").out)))
    for name in NAMES:
        answer = call(*pairs, "-o", tmp_path / name)
        assert (answer.code, answer.out) == (0, "")
        found = table(tmp_path / name).to_pylist()
        assert [{key: str(value) for key, value in row.items()} for row in found] == expected
        assert type(found[0]["cluster" if clusters else "distance"]) is (int if clusters else float)
    assert call(*pairs, "-o", tmp_path / "x.jsonl").code == 0
    assert (tmp_path / "x.jsonl").read_text() == call(*pairs, "--json").out
    assert call(*pairs, "-o", tmp_path / "x.csv").code == 0
    assert (tmp_path / "x.csv").read_text() == call(*pairs, "--format", "csv").out


def test_copies_are_written_in_the_format_of_the_name(call: Call, collection: Path, tmp_path: Path) -> None:
    dedupe = ("dedupe", "-i", collection, "--within", "9")
    expected = list(csv.DictReader(io.StringIO(call(*dedupe, "--format", "csv").out)))
    assert expected
    for name in NAMES:
        assert call(*dedupe, "-o", tmp_path / name).out == ""
        found = table(tmp_path / name).to_pylist()
        assert [{key: str(value) for key, value in row.items()} for row in found] == expected
    assert call(*dedupe[:-1], "0", "-o", tmp_path / "none.parquet").code == 0
    assert str(table(tmp_path / "none.parquet").schema.field("distance").type) == "double"
    assert call(*dedupe, "--flows", "-o", tmp_path / "x.jsonl").code == 0
    assert json.loads((tmp_path / "x.jsonl").read_text().splitlines()[0])["flows"]


BAD = [
    ("pairs -k 1 -o x.txt", 2, "x.txt: the name says no format: write .csv, .jsonl, .parquet or .arrow"),
    ("pairs -k 1 -o x.parquet --json", 2, "--output goes without --json and --format: the name of the file"),
    ("pairs -k 1 -o no/x.csv", 2, "no/x.csv: cannot be written: there is no directory no"),
    ("dedupe --within 1 -o x.arrow --flows", 2, "x.arrow: a table has no --flows: write .jsonl"),
    ("dedupe --within 1 -o x.csv --format csv", 2, "--output goes without --json and --format"),
    ("export -o x.parquet.gz", 2, "x.parquet.gz: such a file is compressed by itself: leave .gz out"),
    ("export -o no/x.parquet", 1, "no/x.parquet: cannot be written: No such file or directory"),
]


@pytest.mark.parametrize(("command", "code", "sentence"), BAD)
def test_a_file_that_cannot_be_written_is_named(
    call: Call,
    collection: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command.split()
    answer = call(name, "-i", collection, *options)
    assert answer.code == code
    assert answer.sentence.startswith(sentence)


@pytest.mark.parametrize("command", [("export",), ("pairs", "-k", "1"), ("dedupe", "--within", "1")])
def test_without_the_package_the_extra_is_named(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "x.parquet"
    answer = call(*command, "-i", collection, "-o", path)
    needed = "Parquet and Arrow files need the package pyarrow: python -m pip install 'moverank[parquet]'"
    assert (answer.code, answer.sentence) == (2, f"{path}: {needed}")
    assert not path.exists()


def test_a_failed_export_leaves_the_old_table(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.parquet").write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("moverank.indexer.formatters.write_rows", full)
    answer = call("export", "-i", collection, "-o", tmp_path / "x.parquet")
    assert (answer.code, answer.sentence) == (
        1,
        f"{tmp_path / 'x.parquet'}: cannot be written: No space left on device",
    )
    assert (tmp_path / "x.parquet").read_bytes() == b"old"


def test_posts_of_a_table_become_threads(call: Call, vectors: Path, tmp_path: Path) -> None:
    rows = [
        {"post_id": n, "topic_id": n // 3, "reply_to": n // 3 * 3 if n % 3 else 0, "post_text": f"cat dog {n}", "n": n}
        for n in range(6)
    ]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "posts.parquet")
    fields = ("--thread-field", "topic_id", "--parent-field", "reply_to", "--key-field", "post_id")
    shown = []
    for name in ("posts.jsonl", "posts.parquet"):
        command = ("threads", tmp_path / name, "-i", tmp_path / f"{name}.index", *fields, "--text-field", "post_text")
        assert call(*command, "--embedding", vectors, "--json").json["added"] == 2
        exported = call("export", "-i", tmp_path / f"{name}.index").lines
        shown.append(sorted(exported, key=lambda record: str(record["key"])))
    assert shown[0] == shown[1]
    assert shown[0][1]["metadata"] == {"n": 3}
    assert shown[0][1]["parts"] == [{"text": f"cat dog {n + 3}", "rank": n} for n in range(3)]
    assert call("export", "-i", tmp_path / "posts.jsonl.index", "-o", tmp_path / "again.parquet").code == 0
    again = call("threads", tmp_path / "again.parquet", "-i", tmp_path / "posts.jsonl.index", "--json").json
    assert again["unchanged"] == 2
    answer = call("threads", tmp_path / "posts.jsonl", "-i", tmp_path / "x", "--parent-field", "reply_to")
    assert answer.code == 2
    assert answer.sentence.startswith("--parent-field needs --thread-field")
