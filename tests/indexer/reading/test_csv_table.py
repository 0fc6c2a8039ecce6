import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import Fields, read_documents, streams
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_the_most_frequent_one_in_the_header(write: Write, documents: Read, delimiter: str) -> None:
    rows = [["id", 'a;b,c\t"d"', "text", "label", ""], ["1", "x", "hello", "good", "left out"]]
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    good, bad = documents(write("a.csv", buffer.getvalue()))
    assert good == [Document("1", "", (Part("hello"),), "good", {'a;b,c\t"d"': "x"})]
    assert not bad


def test_tsv_is_delimited_by_tabs_only(write: Write, documents: Read) -> None:
    path = write("a.tsv", "id\ta,b,c,d\ttext\n1\t2,3\tx, y\n")
    assert documents(path)[0] == [Document("1", "", (Part("x, y"),), None, {"a,b,c,d": "2,3"})]


def test_quoted_fields_may_hold_line_ends(write: Write, documents: Read) -> None:
    path = write(
        "a.csv", '\xef\xbb\xbftitle,text\r\n\r\nT,"one\r\ntwo\n\nthree"\r\n"","say ""hi"""\r\n'.encode("latin-1")
    )
    assert documents(path) == (
        [
            Document("a.csv:3", "T", (Part("one\r\ntwo\n\nthree"),)),
            Document("a.csv:7", "", (Part('say "hi"'),)),
        ],
        [],
    )


def test_bad_rows(write: Write, documents: Read) -> None:
    lines = [
        b"id,text,n",
        b"1,good,",
        b"2,too,many,fields",
        b"3,few",
        b'4,"quoted"x,1',
        b"5,caf\xe9,1",
        b",no key,1",
        b"7,,no text",
        b"1,twice,",
        b"9,good,x",
        b'10,"never closed,',
        b"11,lost,x",
    ]
    good, bad = documents(write("a.csv", b"\n".join(lines)))
    assert good == [Document("1", "", (Part("good"),)), Document("9", "", (Part("good"),), None, {"n": "x"})]
    assert [rejection.line for rejection in bad] == [3, 4, 5, 6, 7, 8, 9, 11]
    expected = ["4 fields, the header 3", "2 fields", "broken CSV", "not UTF-8", "key is empty", "no text", "a.csv:2"]
    for rejection, reason in zip(bad, [*expected, "never closed"], strict=True):
        assert reason in rejection.reason


def test_a_field_may_be_long_but_not_too_long(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    before = csv.field_size_limit()
    path = write("a.csv", f"id,text\n1,{'x' * (before + 1)}\n2,y\n")
    assert [document.key for document in documents(path)[0]] == ["1", "2"]
    assert csv.field_size_limit() == before
    monkeypatch.setattr(streams, "LIMIT", 50)
    bad = documents(write("b.csv", 'id,text\n1,"' + "x\n" * 30 + '"\n2,y\n'), format="csv")[1]
    assert "field larger than field limit (50)" in bad[0].reason
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [("id,text,id\n1,x,2\n3,y,4\n", "the header names 'id' twice"), (b"id,t\xff\n1,x\n", "not UTF-8")],
)
def test_a_bad_header_is_reported_once(write: Write, documents: Read, content: str | bytes, reason: str) -> None:
    good, bad = documents(write("a.csv", content))
    assert not good
    assert len(bad) == 1
    assert bad[0].line == 1
    assert reason in bad[0].reason


def test_fields_by_name_and_an_empty_file(write: Write, documents: Read) -> None:
    path = write("a.csv", "nr,words\n7,x\n")
    assert documents(path, fields=Fields(key="nr", text="words"))[0] == [Document("7", "", (Part("x"),))]
    assert "there is no field for the text" in documents(path)[1][0].reason
    assert documents(write("b.csv", "")) == ([], [])


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(rows=st.lists(cells.filter(str.strip), max_size=5), delimiter=st.sampled_from(",;\t"))
def test_files_written_by_the_csv_module_are_read_back(tmp_path: Path, rows: list[str], delimiter: str) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "text"], *([str(i), row] for i, row in enumerate(rows))])
    path = tmp_path / "a.csv"
    path.write_bytes(buffer.getvalue().encode())
    assert list(read_documents([str(path)])) == [Document(str(i), "", (Part(row),)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("header", ["ID,Title,Text,Label", "Id,TITLE,text,label", "KEY,Subject,Body,Category"])
def test_the_case_of_a_column_does_not_matter(write: Write, documents: Read, header: str) -> None:
    ((document,), rejected) = documents(write("a.csv", f"{header}\n1,t,x,l\n"))
    assert rejected == []
    assert (document.key, document.title, document.parts[0].text, document.label) == ("1", "t", "x", "l")
    assert document.metadata == {}


def test_a_column_of_the_very_name_comes_first(write: Write, documents: Read) -> None:
    ((document,), _) = documents(write("a.csv", "Text,text,Remark\none,two,three\n"))
    assert (document.parts[0].text, document.metadata) == ("two", {"Text": "one", "Remark": "three"})
    ((document,), _) = documents("a.csv", fields=Fields(text="remark"))
    assert document.parts[0].text == "three"


@pytest.mark.parametrize("field", [None, "remark"])
def test_a_missing_column_is_reported_once(write: Write, documents: Read, field: str | None) -> None:
    rows = "".join(f"{i},x\n" for i in range(50))
    found, (rejection,) = documents(write("a.csv", f"id,note\n{rows}"), fields=Fields(text=field))
    assert found == []
    assert str(rejection).startswith("a.csv:1: there is no field ")
    assert "the record has 'id', 'note'" in rejection.reason
    assert field or rejection.reason.endswith("--text-field names another")


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n"])
def test_a_spreadsheet_names_its_delimiter(write: Write, documents: Read, first: str) -> None:
    found, bad = documents(write("a.csv", f"{first}id;text,more\n1;hot, hot\n"), fields=Fields(text="text,more"))
    assert not bad
    assert [(each.key, each.parts[0].text) for each in found] == [("1", "hot, hot")]


def test_a_backslash_escapes_quotation_marks_where_none_is_doubled(write: Write, documents: Read) -> None:
    found, bad = documents(write("a.csv", 'id,text\n1,"a \\"hot, red\\" plug"\n2,"b"\n3,"c\nd"\n'))
    assert not bad
    assert [each.parts[0].text for each in found] == ['a "hot, red" plug', "b", "c\nd"]
    (found_,), _ = documents(write("b.csv", 'id,text\n1,"a ""hot\\"" plug"\n'))
    assert found_.parts[0].text == 'a "hot\\" plug'
