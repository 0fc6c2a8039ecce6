import io
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from moverank.indexer.formatters.escaping import without_isolates
from moverank.indexer.formatters.html_page import ranking_page
from moverank.indexer.formatters.sentences import changes_line
from moverank.indexer.formatters.terminal import (
    explanation_view,
    flow_table,
    info_view,
    print_view,
    ranking_view,
    why_not_view,
)
from moverank.indexer.values.documents import Changes
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.ranking import Flow, Highlight, Hit, Passage, Percentile, Ranking
from tests.indexer.formatters.samples import COUNTS, FLOWS, HIT, MALICIOUS, RANKING, printed


def test_a_ranking_as_text() -> None:
    lines = printed(ranking_view(RANKING, 0.5)).splitlines()
    assert lines[0].split() == ["1", "distance", "1.2500", "Title", "[pets]"]
    assert [line.strip() for line in lines[1:4]] == ["key/1", "a dog and a bird", "red,  cat → dog,  cat → bird"]
    assert lines[4] == "Certified: no other document is nearer. 1,200 compared, 3 solved, 0.50 s."


def _styled(hit: Hit) -> str:
    """Return what a terminal with styles shows of a hit; escape sequences are in brackets."""
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system="truecolor")
    console.print(ranking_view(Ranking((hit,), certified=True, scope="collection", counts=COUNTS), 1))
    assert isinstance(console.file, io.StringIO)
    return re.sub("\x1b\\[([0-9;]*)m", r"<\1>", console.file.getvalue())


def test_words_of_the_query_are_marked_and_near_ones_fainter() -> None:
    same, near = Highlight(0, 2, 5, "dog", "dog", 0.0), Highlight(0, 12, 16, "bird", "cat", 0.5)
    title = Highlight(None, 2, 5, "dog", "dog", 0.0)
    text = "a dog and a bird"
    shown = _styled(
        replace(HIT, title="A Dog\nx", flows=(), highlights=(title, same, near), snippet_highlights=(same, near))
    )
    assert "<1>A <0><1;4>Dog<0><1> x<0>" in shown
    assert "a <1;4>dog<0> and a <2;4>bird<0>" in shown
    whole = f" \n{text}\n\nno {text}"
    other = replace(near, part=1, start=15, end=19)
    shown = _styled(Hit("k", 1.0, text=whole, highlights=(same, other), part_starts=(2, 20)))
    assert "a <1;4>dog<0> and a bird" in shown
    assert "no a dog and a <2;4>bird<0>" in shown
    passage = Passage(0, 10, 16, text[10:], 0.25, 3)
    shown = _styled(replace(HIT, flows=(), highlights=(same, near), passage=passage))
    assert "a <2;4>bird<0>" in shown
    assert "dog" not in shown
    assert "Passage of part 0, distance 0.2500, the nearest of 3 windows" in shown
    marked = replace(same, start=0, end=len(MALICIOUS))
    assert "\x1b" not in printed(
        ranking_view(Ranking((Hit("k", 1.0, snippet=MALICIOUS, snippet_highlights=(marked,)),), True, "collection"), 1)
    )


@pytest.mark.parametrize(
    ("percentile", "shown"),
    [
        (Percentile(0.00125, 0.00125, 0.00125), "top 0.12 %"),
        (Percentile(0.0, 0.0, 0.0009), "top 0 % (0 to 0.09 %)"),
        (Percentile(0.5, 0.482, 0.5181), "top 50 % (48 to 52 %)"),
        (Percentile(0.996, 0.9949, 1.0), "top 100 % (99 to 100 %)"),
        (Percentile(1e-7, 0.0, 3.2e-6), "top 0.00001 % (0 to 0.00032 %)"),
    ],
)
def test_a_percentile_is_shown_with_its_interval(percentile: Percentile, shown: str) -> None:
    hit = replace(HIT, percentile=percentile)
    assert printed(ranking_view(replace(RANKING, hits=(hit,)), 0.5)).splitlines()[0].endswith(f"[pets]  {shown}")
    assert f">{shown}</span>" in ranking_page([("cat", replace(RANKING, hits=(hit,)))])


def test_all_flows_are_shown_on_request() -> None:
    text = printed(ranking_view(RANKING, 0.5, flows=True))
    assert "mass" in text
    assert "80.0 %" in text


def test_a_hit_without_a_title_is_named_by_its_key_once() -> None:
    text = printed(ranking_view(Ranking((Hit("key/1", 1.0),), certified=True, scope="collection", counts=COUNTS), 1))
    assert text.count("key/1") == 1


def test_an_uncertified_ranking_says_what_it_is_exact_for() -> None:
    ranking = Ranking((HIT,), certified=False, scope="candidates", counts=COUNTS)
    assert "Not certified: exact among 1,200 candidates; --exact proves it" in printed(ranking_view(ranking, 1))


def test_an_exceeded_budget_shows_the_largest_error() -> None:
    ranking = Ranking((HIT,), certified=False, scope="collection", counts=COUNTS, largest_error=0.125)
    text = printed(ranking_view(ranking, 1))
    assert "Not certified: time limit reached; the last hit is at most 0.1250 too far" in text


@pytest.mark.parametrize("kth", [0.45, math.inf])
def test_the_bounds_of_a_document_show_why_it_is_no_hit(kth: float) -> None:
    why = WhyNot.of(3, kth, 0.7, {"rwmd": 0.4, "dual": 0.5, "sinkhorn": 0.6}, candidate=True, hit=False)
    text = printed(why_not_view(why, "total"))
    if kth == 0.45:
        assert "its total is 0.700000; that of hit 3 is 0.450000. The dual bound is above that already." in text
        assert text.count("above") == 4
    else:
        assert "there are fewer hits" in text


def test_texts_from_right_to_left_stay_in_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """By Unicode's algorithm (UAX 9), what is isolated takes one place in its line, whatever is around it."""
    flows = (Flow("كتاب", "قلم", 0.5, 1.25, 0.6), Flow("book", "pen", 0.5, 0.5, 0.4))
    hit = Hit("k", 1.0, "كتاب جديد", "مدرسة", "نص", flows)
    ranking = Ranking((hit,), certified=True, scope="collection", counts=COUNTS)
    lines = printed(ranking_view(ranking, 1, flows=True)).splitlines()
    assert lines[0].rstrip().endswith("\u2068كتاب جديد\u2069  [\u2068مدرسة\u2069]")
    arabic, latin = lines[-3:-1]
    assert arabic.split()[:2] == ["\u2068كتاب\u2069", "\u2068قلم\u2069"]
    columns = [[match.end() for match in re.finditer(r"\d\.\d{4}", without_isolates(line))] for line in (arabic, latin)]
    assert columns[0] == columns[1]
    assert "\u2068كتاب\u2069 → \u2068قلم\u2069" in printed(ranking_view(ranking, 1))
    print_view(ranking_view(ranking, 1, flows=True))  # not to a terminal
    found = capsys.readouterr().out
    assert "كتاب جديد" in found
    assert not {"\u2068", "\u2069"} & {*found}


def test_an_empty_ranking_says_why() -> None:
    assert "No document to compare" in printed(ranking_view(Ranking((), certified=True, scope="collection"), 0.01))


def test_markup_and_control_characters_in_texts_have_no_effect() -> None:
    hit = Hit(MALICIOUS, 1.0, MALICIOUS, MALICIOUS, MALICIOUS, (Flow("a", "b", 1.0, 1.0, 1.0),))
    text = printed(ranking_view(Ranking((hit,), certified=True, scope="collection", counts=COUNTS), 1, flows=True))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("[bold]x[/y]") == 4
    assert "[bold]x[/y]" in printed(info_view({"embedding": MALICIOUS}))


def test_the_costliest_flow_has_the_full_bar() -> None:
    rows = printed(flow_table(FLOWS)).splitlines()[1:]
    assert [row.count("█") for row in rows] == [20, 5, 0]
    assert rows[2].rstrip().endswith("·")


def test_flows_of_no_cost_have_no_bar() -> None:
    assert "█" not in printed(explanation_view(Explanation(0.0, (Flow("a", "a", 1.0, 0.0, 0.0),))))


@pytest.mark.parametrize(
    ("changes", "seconds", "text"),
    [
        (Changes(), 0.01, "no document found (0.01 s; revision 0)"),
        (Changes(added=1, revision=2), 1.0, "1 added (1.00 s; revision 2)"),
        (Changes(duplicates=1), 0.01, "1 near-duplicate left out (0.01 s; revision 0)"),
        (Changes(added=2, duplicates=37), 0.01, "2 added, 37 near-duplicates left out (0.01 s; revision 0)"),
        (
            Changes(added=1500, updated=2, removed=3, unchanged=498, wordless=4, rejected=5, revision=6),
            2.0,
            "1,500 added, 2 updated, 3 removed, 498 unchanged, 5 rejected; 4 without any known word, never "
            "ranked by a distance (2.00 s, 1,000 documents/s; revision 6)",
        ),
    ],
)
def test_changes_as_text(changes: Changes, seconds: float, text: str) -> None:
    assert changes_line(changes, seconds) == text


def test_info_as_text() -> None:
    values = {"documents": 12345, "bytes": 80713223, "normalize": None, "yes": True, "no": False, "fields": ["a", "b"]}
    rows = dict(line.split(maxsplit=1) for line in printed(info_view(values | {"faiss": "Flat", "n": []})).splitlines())
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


def test_long_lines_are_folded_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    print_view("word " * 30)
    assert len(capsys.readouterr().out.splitlines()) == 1
