"""`help`: topics, pages and unknown topics."""

import re
import sys

import pytest

from moverank.indexer.commands.lazy_commands import PANELS, LazyCommands
from moverank.indexer.manual import page, topics
from tests.contracts.documentation import PROGRAM, commands
from tests.indexer.commands.program import Call


def test_without_a_topic_all_are_listed(call: Call) -> None:
    answer = call("help")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert [line.split(maxsplit=1) for line in lines[: len(topics())]] == [[*topic] for topic in topics().items()]
    assert "`moverank COMMAND --help`" in lines[-1]


@pytest.mark.parametrize(
    "command",
    [
        ["index"],
        pytest.param(["evaluate"], marks=pytest.mark.plugin("laboratory")),
        pytest.param(["evaluate", "knn"], marks=pytest.mark.plugin("laboratory")),
        ["help"],
    ],
)
def test_a_command_shows_its_options(call: Call, command: list[str]) -> None:
    answer = call("help", *command)
    assert (answer.code, answer.err) == (0, "")
    assert f"Usage: moverank {' '.join(command)} " in answer.out
    assert answer.out == call(*command, "--help").out == call(*command, "-h").out


def test_a_topic_precedes_the_command_of_its_name(call: Call) -> None:
    assert call("help", "search").out.startswith("# Search: ")


def test_a_command_that_does_not_exist_is_no_page(call: Call) -> None:
    answer = call("help", "evaluate", "nope")
    assert (answer.code, answer.out) == (2, "")
    assert answer.sentence.startswith("the manual has no page 'evaluate nope'")


@pytest.mark.parametrize("topic", topics())
def test_a_page_is_raw_markdown_without_a_terminal(call: Call, topic: str) -> None:
    answer = call("help", topic)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == page(topic, PROGRAM).rstrip("\n") + "\n"


def test_a_page_is_rendered_on_a_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    heading = page("formats").splitlines()[0].removeprefix("# ")
    answer = call("help", "formats")
    assert answer.code == 0
    assert heading.partition(":")[0] in answer.out
    assert f"# {heading}" not in answer.out


def test_an_unknown_topic_lists_the_valid_ones(call: Call) -> None:
    answer = call("help", "nope")
    assert (answer.code, answer.out) == (2, "")
    assert "'nope'" in answer.sentence
    assert all(topic in answer.sentence for topic in topics())


@pytest.mark.parametrize("name", ["", *(name for name, _ in commands(PROGRAM))])
def test_values_are_shown_as_people_write_them(call: Call, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    answer = call(*name.split(), "--help")
    rows = [line.strip("│ ") for line in answer.out.splitlines() if line.startswith("│") and " --" in f" {line}"]
    assert rows
    for row in rows:
        assert not re.search(r"<(bool|int|str|float|list|path)\b|\blist\[|BOOLEAN|INTEGER|FLOAT", row), row
    assert re.search(r"--help +-h +Show this message", answer.out)


def test_commands_and_options_are_in_panels_by_subject(call: Call) -> None:
    panels = {
        name: re.findall(r"^╭─ (.+?) ─", call(*name.split(), "--help").out, re.MULTILINE)
        for name in ("", "index", "search")
    }
    assert panels[""] == ["Options", *(panel for panel, names in PANELS.items() if {*names} & {*LazyCommands()})]
    assert {"What is read", "Settings of the collection", "Sources and changes"} <= set(panels["index"])
    assert {"Query", "Ranking", "Output"} <= set(panels["search"])
