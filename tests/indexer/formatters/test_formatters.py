import io
import json
import math
from html.parser import HTMLParser

import pytest
from rich.console import Console, RenderableType

from moverank.indexer.documents import Changes
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.formatters.html_page import explanation_page
from moverank.indexer.formatters.json_objects import changes_object, explanation_object, ranking_object, why_not_object
from moverank.indexer.formatters.progress_bars import Bars
from moverank.indexer.formatters.table_views import table_csv, table_object, table_view
from moverank.indexer.formatters.terminal import (
    changes_view,
    explanation_view,
    flow_table,
    info_view,
    print_view,
    ranking_view,
    shown,
    why_not_view,
)
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Flow, Hit, Ranking, StageCounts

FLOWS = (Flow("cat", "dog", 0.5, 2.0, 0.8), Flow("cat", "bird", 0.25, 1.0, 0.2), Flow("red", "red", 0.25, 0.0, 0.0))
HIT = Hit("key/1", 1.25, "Title", "pets", "a dog and a bird", FLOWS)
COUNTS = StageCounts(candidates=1200, rwmd=1190, dual=5, sinkhorn=2, solved=3)
RANKING = Ranking((HIT,), certified=True, scope="collection", counts=COUNTS)
EVIL = "red \x1b[31m\r\nline\u202e[bold]x[/y]"


def _printed(view: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_ranking_as_an_object_has_the_keys_of_the_contract() -> None:
    told = ranking_object(RANKING, 0.1234567)
    assert list(told) == ["hits", "certified", "scope", "largest_error", "counts", "seconds"]
    assert told["counts"] == {"candidates": 1200, "rwmd": 1190, "dual": 5, "sinkhorn": 2, "solved": 3}
    hit = told["hits"][0]
    assert (hit["rank"], hit["key"], hit["title"], hit["distance"]) == (1, "key/1", "Title", 1.25)
    assert hit["score"] == pytest.approx(1 / 2.25)
    assert hit["flows"][0] == {"source": "cat", "target": "dog", "mass": 0.5, "cost": 2.0, "share": 0.8}
    assert told["seconds"] == 0.123457
    assert json.loads(json.dumps(told)) == told


def test_a_batch_names_the_query_first_and_hits_without_flows_have_no_such_key() -> None:
    told = ranking_object(Ranking((Hit("k", 1.0),), certified=False, scope="candidates"), 1.0, "q7")
    assert next(iter(told)) == "query"
    assert told["query"] == "q7"
    assert "flows" not in told["hits"][0]


def test_an_explanation_and_changes_as_objects() -> None:
    told = explanation_object(Explanation(1.25, FLOWS))
    assert list(told) == ["distance", "flows"]
    assert [list(flow) for flow in told["flows"]] == [["source", "target", "mass", "cost", "share"]] * 3
    assert changes_object(Changes(added=2, revision=3)) == {
        "added": 2,
        "updated": 0,
        "removed": 0,
        "unchanged": 0,
        "wordless": 0,
        "rejected": 0,
        "revision": 3,
    }


@pytest.mark.parametrize(
    ("text", "on_screen"),
    [("plain → ü", "plain → ü"), ("a\x1b[31mb\r\nc\td\u202ee", "a [31mb  c d e"), ("caf\udce9", "caf?"), ("", "")],
)
def test_nothing_that_a_terminal_would_obey_is_shown(text: str, on_screen: str) -> None:
    assert shown(text) == on_screen


def test_a_ranking_for_people() -> None:
    lines = _printed(ranking_view(RANKING, 0.5)).splitlines()
    assert lines[0].split() == ["1", "1.2500", "Title", "[pets]"]
    assert [line.strip() for line in lines[1:4]] == ["key/1", "a dog and a bird", "red,  cat → dog,  cat → bird"]
    assert lines[4] == "Certified: no other document is nearer. 1,200 compared, 3 solved, 0.50 s."


def test_all_flows_on_demand() -> None:
    text = _printed(ranking_view(RANKING, 0.5, flows=True))
    assert "mass" in text
    assert "80.0 %" in text


def test_a_hit_without_a_title_is_named_by_its_key_once() -> None:
    text = _printed(ranking_view(Ranking((Hit("key/1", 1.0),), certified=True, scope="collection", counts=COUNTS), 1))
    assert text.count("key/1") == 1


def test_what_is_not_proven_is_said() -> None:
    ranking = Ranking((HIT,), certified=False, scope="candidates", counts=COUNTS)
    assert "Not certified: exact among 1,200 candidates; --exact proves it" in _printed(ranking_view(ranking, 1))


def test_what_time_did_not_allow_is_said() -> None:
    ranking = Ranking((HIT,), certified=False, scope="collection", counts=COUNTS, largest_error=0.125)
    text = _printed(ranking_view(ranking, 1))
    assert "Not certified: the time was up; the last hit is at most 0.1250 too far" in text


@pytest.mark.parametrize("kth", [0.45, math.inf])
def test_why_a_document_is_no_hit(kth: float) -> None:
    why = WhyNot.of(3, kth, 0.7, {"rwmd": 0.4, "dual": 0.5, "sinkhorn": 0.6}, candidate=True, hit=False)
    told = why_not_object(why)["why_not"]
    assert list(told) == ["k", "kth", "distance", "bounds", "stage"]
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    text = _printed(why_not_view(why))
    if kth == 0.45:
        assert "the distance of hit 3 is 0.450000. The dual bound is above that already." in text
        assert text.count("above") == 4
    else:
        assert "there are fewer hits" in text


def test_an_empty_ranking_says_why() -> None:
    assert "No document to compare" in _printed(ranking_view(Ranking((), certified=True, scope="collection"), 0.01))


def test_titles_and_words_are_no_markup_and_no_escape_sequences() -> None:
    hit = Hit(EVIL, 1.0, EVIL, EVIL, EVIL, (Flow("a", "b", 1.0, 1.0, 1.0),))
    text = _printed(ranking_view(Ranking((hit,), certified=True, scope="collection", counts=COUNTS), 1, flows=True))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("[bold]x[/y]") == 4
    assert "[bold]x[/y]" in _printed(info_view({"embedding": EVIL}))


def test_the_costliest_flow_has_the_full_bar() -> None:
    rows = _printed(flow_table(FLOWS)).splitlines()[1:]
    assert [row.count("█") for row in rows] == [20, 5, 0]
    assert rows[2].rstrip().endswith("·")


def test_flows_of_no_cost_have_no_bar() -> None:
    assert "█" not in _printed(explanation_view(Explanation(0.0, (Flow("a", "a", 1.0, 0.0, 0.0),))))


@pytest.mark.parametrize(
    ("changes", "seconds", "told"),
    [
        (Changes(), 0.01, "no document found (0.01 s; revision 0)"),
        (Changes(added=1, revision=2), 1.0, "1 added (1.00 s; revision 2)"),
        (
            Changes(added=1500, updated=2, removed=3, unchanged=498, wordless=4, rejected=5, revision=6),
            2.0,
            "1,500 added, 2 updated, 3 removed, 498 unchanged, 5 rejected; 4 without any known word, never ranked "
            "(2.00 s, 1,000 documents/s; revision 6)",
        ),
    ],
)
def test_changes_for_people(changes: Changes, seconds: float, told: str) -> None:
    assert changes_view(changes, seconds) == told


def test_info_for_people() -> None:
    values = {"documents": 12345, "bytes": 80713223, "normalize": None, "yes": True, "no": False, "fields": ["a", "b"]}
    rows = dict(
        line.split(maxsplit=1) for line in _printed(info_view(values | {"faiss": "Flat", "n": []})).splitlines()
    )
    assert {name: value.strip() for name, value in rows.items()} == {
        "documents": "12,345",
        "bytes": "80.7 MB",
        "normalize": "-",
        "yes": "yes",
        "no": "no",
        "fields": "a, b",
        "faiss": "Flat",
        "n": "-",
    }


def test_long_lines_are_not_folded_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_view("word " * 30)
    assert len(capsys.readouterr().out.splitlines()) == 1


class _Balance(HTMLParser):
    """Checks that every element is closed, and collects what the page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.seen += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_loads_nothing() -> None:
    evil = "<script>alert(1)</script>\"'&"
    flows = (Flow(evil, "b", 0.5, 2.0, 1.0), Flow("a", evil, 0.5, 0.0, 0.0))
    page = _Balance()
    page.feed(explanation_page(Explanation(1.0, flows), evil, evil))
    assert page.open == []
    assert not {"script", "link", "img", "src", "href"} & set(page.seen)
    assert not [name for name in page.seen if name.startswith("on")]
    assert page.seen.count("path") == len(flows)
    assert page.text.count(evil) >= 6


def test_a_page_of_equal_texts() -> None:
    assert "distance 0.0000" in explanation_page(Explanation(0.0, (Flow("a", "a", 1.0, 0.0, 0.0),)), "a", "k")


def _drawn(*calls: tuple[int, int | None, str], terminal: bool = True) -> str:
    """Draw the progress of one task, and return what was written."""
    file = io.StringIO()
    with Bars(Console(file=file, force_terminal=terminal, width=100, color_system=None)) as progress:
        for done, total, unit in calls:
            progress("Reading", done, total, unit)
    return file.getvalue()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece of work counts as long."""
    monkeypatch.setattr("moverank.indexer.formatters.progress_bars._PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_no_bar_and_no_empty_line_where_there_is_no_terminal() -> None:
    assert _drawn((1, 10, "B"), (5, 10, "B"), terminal=False) == ""


def test_short_work_has_no_bar() -> None:
    assert _drawn((1, 10, "B"), (10, 10, "B")) == ""


@pytest.mark.usefixtures("impatient")
def test_long_work_has_a_bar_with_its_name_and_how_much_is_done() -> None:
    drawn = _drawn((1_000_000, 4_000_000, "B"), (2_500_000, 4_000_000, "B"))
    assert "Reading" in drawn
    assert "2.5 MB" in drawn


@pytest.mark.usefixtures("impatient")
def test_work_of_unknown_size_is_counted_in_its_unit() -> None:
    assert "12,345 words" in _drawn((1, None, "words"), (12_345, None, "words"))


def test_a_table_of_an_experiment() -> None:
    rows: tuple[dict[str, Value], ...] = (
        {"method": "bow", "map": 0.25, "p": None},
        {"method": EVIL, "map": 0.5, "p": 0.125},
    )
    facts = {"documents": 1234, "clean": False, "chosen": {"bow": 3, "wmd:weights=tfidf": 1200}}
    table = Table("retrieval", rows, facts, ("two queries are alike",), higher=("map",))
    told = _printed(table_view(table))
    assert "documents 1,234, clean no, chosen bow for 3 and wmd:weights=tfidf for 1,200" in told
    assert "Note: two queries are alike." in told
    assert "\x1b" not in told
    assert "0.2500" in told.splitlines()[1]
    assert table_csv(table).splitlines()[1] == "bow,0.25,"
    assert table_object(table)["chosen"] == facts["chosen"]
