import io
import re

import pytest
from rich.console import Console

from moverank.indexer.formatters.progress import Bars


def _drawn(*calls: tuple[int, int | None, str], terminal: bool = True) -> str:
    """Return what is written for the progress of one task."""
    file = io.StringIO()
    with Bars(Console(file=file, force_terminal=terminal, width=100, color_system=None)) as progress:
        for done, total, unit in calls:
            progress("Reading", done, total, unit)
    return file.getvalue()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task counts as long."""
    monkeypatch.setattr("moverank.indexer.formatters.progress._PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_nothing_is_written_unless_to_a_terminal() -> None:
    assert _drawn((1, 10, "B"), (5, 10, "B"), terminal=False) == ""


def test_a_short_task_has_no_bar() -> None:
    assert _drawn((1, 10, "B"), (10, 10, "B")) == ""


@pytest.mark.usefixtures("impatient")
def test_a_long_task_has_a_bar_with_its_name_and_amount() -> None:
    drawn = _drawn((1_000_000, 4_000_000, "B"), (2_500_000, 4_000_000, "B"))
    assert "Reading" in drawn
    assert "2.5 MB" in drawn


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("width", [30, 50, 80, 100, 200])
def test_a_bar_fits_the_terminal(width: int) -> None:
    file = io.StringIO()
    with Bars(Console(file=file, force_terminal=True, width=width, color_system=None)) as progress:
        for done in (100_000, 900_000):
            progress("Ranking by wmd:mu=20,weights=tfidf+0.5*cover+1.5*bm25:stem=english", done, 1_234_567, "distances")
            progress("Computing WMD", done, None, "distances")
    lines = [re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", file.getvalue())]
    assert max(map(len, lines)) <= width
    drawn = "\n".join(lines)
    assert "Ranking b" in drawn
    assert ("900,000 of 1,234,567 distances" if width >= 100 else "73 %") in drawn


def test_without_a_terminal_a_long_task_has_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 59.0, 60.0, 100.0, 130.0])
    monkeypatch.setattr("moverank.indexer.formatters.progress.time.monotonic", lambda: next(now))
    calls = [(done, 20_000, "distances") for done in (1, 9_000, 10_000, 15_000, 19_000)]
    assert _drawn(*calls, terminal=False).splitlines() == [
        "moverank: Reading: 10,000 of 20,000 distances in 60 s, about 60 s left",
        "moverank: Reading: 19,000 of 20,000 distances in 2 min, about 7 s left",
    ]


def test_the_time_left_is_that_of_the_current_run_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 50.0, 55.0, 65.0])
    monkeypatch.setattr("moverank.indexer.formatters.progress.time.monotonic", lambda: next(now))
    calls = [(1, 100, "queries"), (100, 100, "queries"), (1, 100, "queries"), (20, 100, "queries")]
    assert _drawn(*calls, terminal=False).splitlines() == [
        "moverank: Reading: 20 of 100 queries in 10 s, about 40 s left"
    ]


@pytest.mark.usefixtures("impatient")
def test_a_task_of_unknown_size_is_counted_in_its_unit() -> None:
    assert "12,345 words" in _drawn((1, None, "words"), (12_345, None, "words"))
