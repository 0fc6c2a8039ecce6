"""The commands by name, whose modules are imported on first use: a process runs one command, and needs no other."""

from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from shlex import quote
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_group

MODULES = {
    "indexing": ("index", "threads"),
    "searching": ("search", "similar", "explain"),
    "serving": ("serve",),
    "reranking": ("rerank",),
    "pairing": ("pairs",),
    "contents": ("list", "show", "export"),
    "upkeep": ("remove", "refit", "info", "check", "backup", "copy"),
    "tuning": ("tune",),
    "demonstration": ("demo",),
    "help": ("help",),
    "evaluating": ("evaluate",),
    "sharding": ("shards",),
}
"""The names of the commands in each module, in the order of the help."""

GROUPS = ("evaluate", "shards")
"""The names of those which are groups of commands, each the whole app of its module."""

_VALUES = {"bool": "", "int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER", "str": "TEXT"}
"""How the help shows the values of options by Python's names of their types: those of switches not at all."""

_HOMES = {name: module for module, names in MODULES.items() for name in names}


def _plain(parameters: Sequence[Any], context: Any) -> list[Any]:
    """Return parameters whose values are shown as in `--depth N`, where Typer would show `<int range>` and `<bool>`."""
    for each in parameters:
        shown = each.display_type(context).strip("<>") if hasattr(each, "display_type") else None
        if isinstance(each, TyperArgument):
            each.display_type_rich = _nothing  # type: ignore[method-assign]  # its name says what it is
        elif each.metavar is None and shown is not None:
            each.metavar = _VALUES.get(shown, shown)
    return list(parameters)


def _nothing(ctx: Any) -> None:
    """Return no type."""


class Command(TyperCommand):
    """A command with a plain help, and a hint at quotes where a text of several words has none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, also that of `--help`."""
        return _plain(super().get_params(ctx), ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; the error for too many of them shows how to quote a text."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            message = getattr(error, "message", None)  # the parser's class of errors depends on the version of Typer
            names = [each.name for each in self.params if isinstance(each, TyperArgument)]
            if message is not None and "extra argument" in message and names[:1] == ["query"]:
                named, extra, _ = self.make_parser(ctx).parse_args(args=given)
                words = [named[name] for name in names] + list(extra)
                text, rest = words[: len(words) - len(names) + 1], words[len(words) - len(names) + 1 :]
                command = " ".join([ctx.command_path, _quoted(" ".join(text)), *map(quote, rest)])
                error.message = f"{message}: put a text of several words into quotes: `{command}`"  # type: ignore[attr-defined]
            raise


def _quoted(text: str) -> str:
    """Return a text as a shell reads it, in double quotes if these suffice."""
    return quote(text) if any(sign in text for sign in '"$`\\!') else f'"{text}"'


class Group(TyperGroup):
    """A group of commands with a plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, also that of `--help`."""
        return _plain(super().get_params(ctx), ctx)


class LazyCommands(MutableMapping[str, Any]):
    """Click's commands by name, built on first use from the module of each; others may be added."""

    def __init__(self, rich_markup_mode: Any) -> None:
        self._mode = rich_markup_mode
        self._commands: dict[str, Any] = dict.fromkeys(_HOMES)

    def __getitem__(self, name: str) -> Any:
        if self._commands[name] is None:
            self._commands |= self._built(_HOMES[name])
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)

    def _built(self, module: str) -> dict[str, Any]:
        """Return the commands of a module."""
        (first, *_) = MODULES[module]
        parent = typer.Typer(rich_markup_mode=self._mode)
        app = import_module(f"moverank.indexer.commands.{module}").app
        for each in app.registered_commands:
            each.cls = Command
        parent.add_typer(app, name=first if first in GROUPS else None, cls=Group)
        return dict(get_group(parent).commands)


class LazyGroup(Group):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands(self.rich_markup_mode)
