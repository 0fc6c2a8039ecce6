"""Records of options: the options of their fields, and the record that a command gets."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer
from typer.testing import CliRunner

from moverank.indexer.commands.option_records import with_records


@dataclass(frozen=True, slots=True)
class _Size:
    PANEL: ClassVar = "Size"

    height: Annotated[int, typer.Option(min=1, help="Its height.")] = 3
    width: Annotated[float | None, typer.Option("--wide", help="Its width.", rich_help_panel="Elsewhere")] = None


@dataclass(frozen=True, slots=True)
class _Tall(_Size):
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def _built(*arguments: str) -> list[Any]:
    """Return what a command gets from `arguments`."""
    app, given = typer.Typer(), []

    @app.command()
    @with_records
    def build(text: str, *, size: _Tall, loud: bool = False) -> None:
        """Build."""
        given.extend([text, size, loud])

    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == (0 if given or "--help" in arguments else 2), result.output
    return given or [result.output]


def test_a_command_gets_the_record_of_its_options() -> None:
    assert _built("a") == ["a", _Tall(3, None, None), False]
    given = _built("a", "--height", "2", "--wide", "1.5", "--name", "x", "--name", "y", "--loud")
    assert given == ["a", _Tall(2, 1.5, ["x", "y"]), True]
    assert "--height" in _built("a", "--height", "0")[0]


def test_its_options_are_in_its_panel_unless_they_name_another() -> None:
    (shown,) = _built("--help")
    panels = [line.strip("╭─╮ ") for line in shown.splitlines() if line.startswith("╭")]
    assert panels == ["Arguments", "Options", "Size", "Elsewhere"]
    assert _Size.__dataclass_fields__["height"].type.__metadata__[0].rich_help_panel is None  # type: ignore[union-attr]
