"""Parquet and Arrow: a row is the record that JSONL would have; what is damaged is named. The oracle is pyarrow."""

import datetime
import gzip
import io
import json
import logging
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import Fields, read_documents, read_threads
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write
from tests.samples import examples

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")

RECORDS: list[dict[str, Any]] = [
    {
        "id": "a",
        "title": "Warm plug",
        "text": "The plug gets hot.",
        "label": "power",
        "year": 2019,
        "price": 1.5,
        "open": True,
        "tags": ["x", "y"],
        "author": {"name": "Ann", "mails": [{"at": "a@b"}, {"at": "c@d", "old": True}]},
    },
    {"id": "b", "text": "A late train.", "author": {"name": "Bob"}},
    {"id": "c", "text": " "},
    {"id": "d", "text": "The last one.", "title": None, "author": {}},
]


def table_of(records: list[dict[str, Any]]) -> Any:
    """Return a table with the fields of all records; `Table.from_pylist` has only those of the first."""
    return pa.Table.from_struct_array(pa.array(records))


def parquet(records: list[dict[str, Any]] | Any, **options: Any) -> bytes:
    table = table_of(records) if isinstance(records, list) else records
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def arrow(records: list[dict[str, Any]], rows: int = 2, *, stream: bool = False) -> bytes:
    table, file = table_of(records), io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return file.getvalue()


def packings(records: list[dict[str, Any]]) -> dict[str, bytes]:
    packed = {"a.parquet": parquet(records, row_group_size=2), "b.arrow": arrow(records)}
    packed |= {"c.feather": packed["b.arrow"], "d.arrow": arrow(records, stream=True)}
    packed |= {
        "e.parquet.gz": gzip.compress(packed["a.parquet"]),
        "plain": packed["a.parquet"],
        "named": packed["b.arrow"],
    }
    return packed


def jsonl(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("reader", [read_documents, read_threads])
def test_rows_are_read_as_the_lines_of_jsonl(write: Write, reader: Any) -> None:
    records = [{"title": "t", "body": "x", **record, "comments": [{"text": "y", "score": 2}]} for record in RECORDS]
    records = RECORDS if reader is read_documents else records
    plain = [str(one) if isinstance(one, str) else one for one in reader([write("x.jsonl", jsonl(records))])]
    documents = [one for one in plain if isinstance(one, Document)]
    for name, content in packings(records).items():
        found = list(reader([write(name, content)]))
        assert [one for one in found if isinstance(one, Document)] == documents
        rejected = [str(one).replace(name, "x.jsonl") for one in found if not isinstance(one, Document)]
        assert rejected == [str(one) for one in plain if not isinstance(one, Document)]


def test_fields_are_named_as_for_jsonl_and_a_row_without_a_key_has_its_number(write: Write, documents: Read) -> None:
    rows = [{"headline": "t", "main": "one", "more": "two", "kind": 7, "id": f"k{n}"} for n in range(3)]
    fields = Fields(title="headline", text="main", label="kind", more_texts=("more",), key="main")
    path = write("a.parquet", parquet([{**row, "main": f"one {n}"} for n, row in enumerate(rows)]))
    good, bad = documents(path, fields=fields)
    assert not bad
    assert good[2] == Document("one 2", "t", (Part("one 2"), Part("two")), "7", {"id": "k2"})
    good, bad = documents(write("b.parquet", parquet([{"text": "x"}, {"text": "y"}], row_group_size=1)))
    assert ([one.key for one in good], bad) == (["b.parquet:1", "b.parquet:2"], [])


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


VALUES: list[tuple[Any, Any]] = [
    (pa.array([moment("2021-03-05T10:11:12.5")]), "2021-03-05T10:11:12Z"),
    (pa.array([1_614_939_072_000_000_001], pa.timestamp("ns")), "2021-03-05T10:11:12Z"),
    (pa.array([1_614_939_072], pa.timestamp("s", "Europe/Berlin")), "2021-03-05T10:11:12Z"),
    (pa.array([1_614_939_072], pa.timestamp("s", "Nowhere/At_all")), "2021-03-05T10:11:12Z"),
    (pa.array([{"at": moment("2021-03-05T10:11:12+02:00")}]), {"at": "2021-03-05T08:11:12Z"}),
    (pa.array([datetime.date(2021, 3, 5)]), "2021-03-05"),
    (pa.array([datetime.time(10, 11)]), "10:11:00"),
    (pa.array([90_500], pa.duration("ms")), 90.5),
    (pa.array([Decimal("19.90")]), 19.9),
    (pa.array([Decimal("20.00")]), 20),
    (pa.array([b"caf\xc3\xa9"]), "café"),
    (pa.array([b"caf\xc3\xa9"], pa.large_binary()), "café"),
    (pa.array([b"\x89PNG\xff"]), None),
    (pa.array([[b"\x89PNG\xff", b"x"]]), [None, "x"]),
    (pa.array([float("nan")]), None),
    (pa.array([[1.5, float("nan")]]), [1.5, None]),
    (pa.array([1.5], pa.float16()), 1.5),
    (pa.array(["x"]).dictionary_encode(), "x"),
    (pa.array([["x", "y"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), ["x", "y"]),
    (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [1, 2]),
    (pa.array([[1, None]], pa.large_list(pa.int64())), [1, None]),
    (pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())), {"a": 1}),
    (pa.array([{"a": None, "b": {"c": None, "d": 1}}]), {"b": {"d": 1}}),
    (pa.array(["x"], pa.large_string()), "x"),
    (pa.array(["x"], pa.string_view()), "x"),
    (pa.array([2**63], pa.uint64()), 2**63),
    (pa.array([None], pa.null()), None),
    (pa.array([uuid.UUID(int=7).bytes], pa.uuid()), str(uuid.UUID(int=7))),
    (pa.array(['{"a": [1, "x"]}'], pa.json_()), {"a": [1, "x"]}),
]


@pytest.mark.parametrize(("column", "expected"), VALUES, ids=lambda value: str(getattr(value, "type", "")))
def test_a_value_becomes_what_json_would_have(write: Write, documents: Read, column: Any, expected: Any) -> None:
    table = pa.Table.from_arrays([pa.array(["x"]), column], names=["text", "value"])
    with io.BytesIO() as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        path = write("a.arrow", file.getvalue())
    (document,), bad = documents(path)
    assert not bad
    assert document.metadata == ({} if expected is None else {"value": expected})
    assert type(document.metadata.get("value")) is type(expected)


def test_bytes_that_are_no_text_are_noted_once_for_a_column(
    write: Write, documents: Read, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"text": "x", "picture": {"bytes": b"\xff\xd8"}}] * 3000
    with caplog.at_level(logging.WARNING, "moverank"):
        assert len(documents(write("a.parquet", parquet(rows)))[0]) == 3000
    assert caplog.messages == ["a.parquet: the column 'picture' has bytes which are no text, and are left out"]


def test_a_row_with_an_impossible_value_is_rejected_alone(write: Write, documents: Read) -> None:
    table = pa.table({"text": ["x", "y", "z"], "at": pa.array([0, 10**15, None], pa.timestamp("s"))})
    good, bad = documents(write("a.parquet", parquet(table, coerce_timestamps=None)))
    assert [one.key for one in good] == ["a.parquet:1", "a.parquet:3"]
    assert "a.parquet:2: the column 'at' has a value that cannot be read (" in str(bad[0])


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
_ROWS = st.fixed_dictionaries(
    {"text": _TEXT.map(lambda text: f"x{text}")},
    optional={
        "title": _TEXT,
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.floats(allow_nan=False, allow_infinity=False),
        "tags": st.lists(_TEXT, max_size=3),
        "who": st.fixed_dictionaries({"name": _TEXT}, optional={"age": st.integers(0, 99)}),
        "many": st.lists(st.fixed_dictionaries({"on": st.booleans()}), max_size=2),
    },
)


@given(records=st.lists(_ROWS, min_size=1, max_size=5), rows=st.integers(1, 5))
def test_any_records_are_read_as_from_jsonl(tmp_path: Path, records: list[dict[str, Any]], rows: int) -> None:
    records = [{"id": str(number), **record} for number, record in enumerate(records)]
    (tmp_path / "a.jsonl").write_text(jsonl(records))
    (tmp_path / "a.parquet").write_bytes(parquet(records, row_group_size=rows))
    expected = list(read_documents([str(tmp_path / "a.jsonl")]))
    assert list(read_documents([str(tmp_path / "a.parquet")])) == expected


def damaged(data: bytes, first: int, last: int) -> bytes:
    return data[:first] + b"\xff" * (last - first) + data[last:]


TABLE = parquet([{"id": str(n), "text": f"text {n}"} for n in range(30)], row_group_size=10, compression="none")
SECOND = TABLE.index(b"text 10") - 60
BAD: list[tuple[str, bytes, str, int]] = [
    ("a.parquet", b"", "a.parquet: the file is empty", 0),
    ("a.parquet", b"PAR1", "the file is damaged or cut short", 0),
    ("a.parquet", TABLE[:-20], "the file is damaged or cut short", 0),
    ("a.parquet", b"id,text\n1,x\n", "the file is damaged or cut short", 0),
    ("a.parquet", damaged(TABLE, SECOND, SECOND + 60), ":10: row group 2 (rows 11 to 20) is damaged or cut short", 10),
    ("a.parquet", b"PARE" + TABLE[4:-4] + b"PARE", "it is encrypted: write it without encryption", 0),
    ("a.parquet", b"PK\x03\x04" + TABLE, "it is a zip archive", 0),
    ("a.feather", b"FEA1" + TABLE, "it is a Feather file of version 1", 0),
    ("a.arrow", arrow(RECORDS)[:-30], "the file is damaged or cut short", 0),
    ("a.arrow", arrow(RECORDS, stream=True)[:-600], ":2: record batch 2 is damaged or cut short", 2),
    ("a.parquet", parquet([{"id": "1", "words": "x"}] * 9), "a.parquet: there is no field for the text", 0),
    ("a.parquet", parquet([{"id": 1.5, "text": "x"}] * 9), "a.parquet: the key 'id' must be a string or an integer", 0),
    ("a.parquet", parquet(pa.Table.from_arrays([["x"], ["y"]], names=["text"] * 2)), "have the name 'text'", 0),
]


@pytest.mark.parametrize(("name", "content", "reason", "count"), BAD)
def test_a_bad_file_has_one_sentence(
    write: Write, documents: Read, name: str, content: bytes, reason: str, count: int
) -> None:
    good, bad = documents(write(name, content))
    assert len(good) == count
    (rejection,) = bad
    assert reason in str(rejection)
    assert "\n" not in str(rejection)


_WIDE = [{"id": str(n), "text": f"text {n}", "tags": ["a"] * (n % 3), "who": {"name": "x", "n": n}} for n in range(20)]


@pytest.mark.parametrize("content", [*packings(_WIDE).values()][:4], ids=["parquet", "arrow", "feather", "stream"])
@examples(5)
@given(drawn=st.data())
def test_no_damage_ends_the_process_or_has_more_than_a_sentence(
    tmp_path: Path, content: bytes, drawn: st.DataObject
) -> None:
    changed = bytearray(content)
    for _ in range(drawn.draw(st.integers(1, 3))):
        at = drawn.draw(st.integers(8, len(content) - 1))
        changed[at] = drawn.draw(st.sampled_from([0, 255, changed[at] ^ 1, changed[at] ^ 128]))
    path = tmp_path / "a.table"
    path.write_bytes(changed)
    for one in read_documents([str(path)], format="parquet"):
        assert isinstance(one, Document) or "\n" not in str(one)


def test_a_named_field_that_the_file_lacks_is_missed_once(write: Write, documents: Read, threads: Read) -> None:
    path = write("a.parquet", parquet([{"id": "1", "text": "x", "comments": [{"message": "y"}]}] * 9))
    (bad,) = documents(path, fields=Fields(text="body"))[1]
    assert str(bad) == "a.parquet: there is no field 'body': the record has 'id', 'text', 'comments'"
    (bad,) = threads(path, fields=Fields(text="body"))[1]
    assert str(bad) == "a.parquet: there is no field 'body': the record has 'id', 'text', 'comments'"
    assert (
        len(
            threads(
                write("b.parquet", parquet([{"id": "1", "comments": [{"message": "y"}]}])),
                fields=Fields(text="message"),
            )[0]
        )
        == 1
    )


def test_a_table_without_rows_has_no_documents(write: Write, documents: Read) -> None:
    assert documents(write("a.parquet", parquet(pa.table({"text": pa.array([], pa.string())})))) == ([], [])


def test_a_table_from_standard_input(documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (TABLE, arrow(RECORDS[:2])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        good, bad = documents("-")
        assert good
        assert not bad


def test_without_the_package_the_extra_is_named(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (bad,) = documents(write("a.parquet", TABLE))[1]
    needed = "Parquet and Arrow files need the package pyarrow: python -m pip install 'moverank[parquet]'"
    assert str(bad) == f"a.parquet: {needed}"


def test_progress_counts_the_bytes_of_the_files(write: Write, documents: Read) -> None:
    number = Random(0)  # noqa: S311 - a sample, no secret
    rows = [{"id": str(n), "text": number.randbytes(400).hex()} for n in range(3000)]
    paths = [write("a.parquet", parquet(rows)), write("b.arrow", arrow([{"text": "x"}])), write("c.txt", "x")]
    reported = list[tuple[Any, ...]]()
    assert len(documents(*paths, progress=lambda *step: reported.append(step))[0]) == 3002
    size = sum(Path(path).stat().st_size for path in paths)
    done = [step[1] for step in reported]
    assert done == sorted(done)
    assert {0, size} <= set(done)
    assert max(done) == size
    assert len(set(done)) > 3


_MEASURE = """
import re, sys
from pathlib import Path
from moverank.indexer.reading import read_documents
assert sum(1 for _ in read_documents([sys.argv[1]])) == int(sys.argv[2])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
def test_memory_does_not_grow_with_the_rows_of_a_row_group(tmp_path: Path) -> None:
    used = []
    for rows in (20_000, 200_000):
        path = tmp_path / f"{rows}.parquet"
        texts = [f"{number} " + "plug heater socket " * 40 for number in range(rows)]
        pq.write_table(pa.table({"id": [str(number) for number in range(rows)], "text": texts}), path)
        command = [sys.executable, "-c", _MEASURE, str(path), str(rows)]
        used.append(int(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
    assert used[1] - used[0] < 60_000  # KiB; of 150 MB of texts. Keys take 150 bytes each
