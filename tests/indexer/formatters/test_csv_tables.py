"""Tables for spreadsheets: read back by the csv module and by `index`, and without formulas."""

import csv
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.indexer.formatters.csv_tables import csv_line, document_table, hit_table, metadata_fields
from moverank.indexer.formatters.escaping import printable
from moverank.rerank.ranking import Hit, Percentile, Ranking
from tests.indexer.world import document


def _read(lines: list[str]) -> list[list[str]]:
    return list(csv.reader(StringIO("".join(f"{line}\n" for line in lines), newline=""), strict=True))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=5))
@example(["a\nb", '"c"', "d,e", "\x1b[31m"])
def test_texts_are_read_back_whole_but_for_control_characters(texts: list[str]) -> None:
    (cells,) = _read([csv_line(texts)])
    assert len(cells) == len(texts)
    for cell, text in zip(cells, texts, strict=True):
        assert cell.removeprefix("'") == "\n".join(map(printable, text.split("\n"))).removeprefix("'")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1+2", "'+1+2"),
        ("-2+cmd", "'-2+cmd"),
        ("\t=1", "' =1"),
        ("-17", "-17"),
        ("+4.5e3", "+4.5e3"),
        ("a=1", "a=1"),
    ],
)
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    assert _read([csv_line([text, ""])]) == [[cell, ""]]


def test_numbers_have_all_digits_and_nothing_stands_for_none() -> None:
    assert csv_line([0.1 + 0.2, None, float("nan"), True, 3]) == "0.30000000000000004,,,true,3"


def test_hits_of_several_queries_share_the_columns_of_their_metadata() -> None:
    one = Hit("a", 0.5, "Title", "red", "extract", metadata={"year": 2019, "by": {"name": "Ann"}})
    other = Hit("b", float("nan"), scored=-3.5, metadata={"tags": ["x", "y"], "rank": 7, "query": None})
    answers = [("q1", Ranking((one,), True, "collection")), ("q2", Ranking((other,), False, "candidates"))]
    header, first, second = _read(list(hit_table(answers, several=True)))
    assert header[:2] == ["query", "rank"]
    assert header[-4:] == ["year", "by.name", "tags", "metadata.rank"]
    rows = [dict(zip(header, row, strict=True)) for row in (first, second)]
    assert [row["query"] for row in rows] == ["q1", "q2"]
    assert [(row["rank"], row["distance"], row["score"]) for row in rows] == [
        ("1", "0.5", repr(1 / 1.5)),
        ("1", "", "-3.5"),
    ]
    assert [row["certified"] for row in rows] == ["true", "false"]
    assert [row["tags"] for row in rows] == ["", "x, y"]


def test_percentiles_have_columns_only_where_a_hit_has_one() -> None:
    one, other = Hit("a", 0.5, metadata={"percentile": 7}), Hit("b", 0.75, percentile=Percentile(0.1, 0.05, 0.2))
    header, first = _read(list(hit_table([("q", Ranking((one,), True, "collection"))], several=False)))
    assert (header[-2:], first[-1]) == (["snippet", "percentile"], "7")
    header, *rows = _read(list(hit_table([("q", Ranking((one, other), True, "collection"))], several=False)))
    assert header[-4:] == ["percentile", "percentile_low", "percentile_high", "metadata.percentile"]
    assert [row[-4:] for row in rows] == [["", "", "", "7"], ["0.1", "0.05", "0.2", ""]]


def test_a_text_has_its_line_ends_and_parts_are_apart() -> None:
    thread = document("t", "one\ntwo", "three, four", metadata={"year": 1})
    header, row = _read(list(document_table([thread], metadata_fields([thread.metadata]))))
    assert dict(zip(header, row, strict=True)) == {
        "key": "t",
        "title": "",
        "label": "",
        "year": "1",
        "text": "one\ntwo\n\nthree, four",
    }
