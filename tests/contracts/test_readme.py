"""The README cannot lie: its commands are those that are checked, and it names every command and option there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from moverank.cli import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_first_screen_shows_the_two_commands() -> None:
    commands = re.findall(r"^    (python -m pip .*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert all(README.splitlines().index(f"    {command}") < 40 for command in commands)
    assert commands[0].endswith("&& moverank demo")
    assert f"\n{commands[1]}\n" in (ROOT / ".ci" / "run").read_text()


def _commands(group: Any, within: str = "") -> Iterator[tuple[str, Any]]:
    """Go through all commands by the names that one types, those of groups among them."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{within}{name} ")
        else:
            yield f"{within}{name}", command


def test_every_command_and_option_is_documented() -> None:
    group = typer.main.get_command(app)
    missing = []
    for name, command in _commands(group):
        missing += [] if f"`moverank {name}" in README else [name]
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        missing += [f"{name} {option}" for option in options if f"`{option}" not in README]
    assert missing == []
