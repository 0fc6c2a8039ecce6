import io

import pytest
from rich.console import Console

from moverank.indexer.formatters.progress_bars import Bars


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
    monkeypatch.setattr("moverank.indexer.formatters.progress_bars._PATIENCE", 0.0)


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
def test_a_task_of_unknown_size_is_counted_in_its_unit() -> None:
    assert "12,345 words" in _drawn((1, None, "words"), (12_345, None, "words"))
