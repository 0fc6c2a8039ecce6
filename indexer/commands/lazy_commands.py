"""The commands by name, whose modules are imported on first use: a process runs one command, and needs no other."""

import sys
from collections import UserDict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from inspect import cleandoc
from shlex import quote
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from moverank.indexer.errors import UsageError

MODULES = {
    "indexing": ("index", "threads"),
    "searching": ("search", "similar", "explain"),
    "reranking": ("rerank",),
    "pairing": ("pairs", "dedupe"),
    "listing": ("list", "show", "export"),
    "upkeep": ("remove", "refit", "info", "check", "backup", "copy", "upgrade"),
    "demonstration": ("demo",),
    "help": ("help",),
}
"""The names of the commands of the core in each module."""

PANELS = {
    "Everyday": ("index", "threads", "search", "similar", "explain", "compare", "remove", "demo", "help"),
    "Look": ("list", "show", "export", "info", "pairs", "watch", "verify"),
    "Other engines and programs": ("rerank", "serve", "mcp"),
    "Measure": ("evaluate", "tune"),
    "Maintain": ("check", "backup", "copy", "upgrade", "refit", "dedupe", "shards"),
}
"""The panels of the help, and the commands in each, in its order."""

_VALUES = {"bool": "", "int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER", "str": "TEXT"}
"""The placeholder for an option's value in the help, by Python's name of its type; switches have none."""

_OTHERS = "Other packages"
_HOMES = {name: module for module, names in MODULES.items() for name in names}
_PANELS = {name: panel for panel, names in PANELS.items() for name in names}


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
            self._refuse_repeated(ctx, given)
            return super().parse_args(ctx, args)
        except Exception as error:
            # The parser's class of errors depends on the version of Typer.
            message = getattr(error, "message", None)
            names = [each.name for each in self.params if isinstance(each, TyperArgument)]
            if message is not None and "extra argument" in message and names[:1] == ["query"]:
                named, extra, _ = self.make_parser(ctx).parse_args(args=given)
                words = [named[name] for name in names] + list(extra)
                text, rest = words[: len(words) - len(names) + 1], words[len(words) - len(names) + 1 :]
                command = " ".join([ctx.command_path, _quoted(" ".join(text)), *map(quote, rest)])
                error.message = f"{message}: put a text of several words into quotes: `{command}`"  # type: ignore[attr-defined]
            raise

    def _refuse_repeated(self, ctx: Any, args: list[str]) -> None:
        """Raise UsageError for an option that is given twice, of which the parser would drop the first value."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        single = [each for each in order if isinstance(each, TyperOption) and not (each.multiple or each.is_flag)]
        for each in single:
            if single.count(each) > 1:
                raise UsageError(f"{each.opts[-1]} is given {single.count(each)} times: give it once")


def _quoted(text: str) -> str:
    """Return a text as a shell reads it, in double quotes if these suffice."""
    return quote(text) if any(sign in text for sign in '"$`\\!') else f'"{text}"'


class Group(TyperGroup):
    """A group of commands with a plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, also that of `--help`."""
        return _plain(super().get_params(ctx), ctx)


class LazyCommands(UserDict[str, Any]):
    """Click's commands by name, built on first use: of the core, of plug-ins, and of other packages' operations.

    The entry points of the last two are read only when needed.
    """

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_HOMES))

    def __getitem__(self, name: str) -> Any:
        if name not in self.data:
            return _built_once(name, tuple(sys.path))[name]
        if self.data[name] is None:
            self.data |= _built(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in _other_names()

    def __iter__(self) -> Iterator[str]:
        names = {*self.data, *_other_names()}
        return iter([*(name for name in _PANELS if name in names), *sorted(names - set(_PANELS))])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _other_names() -> set[str]:
    """Return the names of the commands that are not the core's."""
    from moverank.rerank.entry_points import names

    return {*names("command"), *names("operation", own=False)}


@cache
def _built_once(name: str, _path: tuple[str, ...]) -> dict[str, Any]:
    """Return the commands of a plug-in or of another package, which are those of an import path."""
    return _built(name)


def _app_of(name: str) -> Any:
    """Return the app that has the command `name`; KeyError if there is none."""
    return import_module(f"moverank.indexer.commands.{_HOMES[name]}").app if name in _HOMES else _other_app(name)


def _summary(name: str) -> TyperCommand:
    """Return a command as the help of all commands shows it, without its options, which take longer to build."""
    app = _app_of(name)
    named = {each.name or each.callback.__name__: each for each in app.registered_commands}
    text = named[name].help or named[name].callback.__doc__ if name in named else app.info.help
    return TyperCommand(name, help=cleandoc(text or ""), rich_help_panel=_PANELS.get(name, _OTHERS))


def _built(name: str) -> dict[str, Any]:
    """Return the commands of the module that has the command `name`; KeyError if there is none."""
    app = _app_of(name)
    parent = typer.Typer(rich_markup_mode="markdown")
    for each in app.registered_commands:
        each.cls = Command
    is_command = name in {each.name or each.callback.__name__ for each in app.registered_commands}
    parent.add_typer(app, name=None if is_command else name, cls=Group)
    built = dict(get_group(parent).commands)
    for each, command in built.items():
        command.rich_help_panel = _PANELS.get(each, _OTHERS)  # type: ignore[attr-defined]  # both classes have it
    return built


def _other_app(name: str) -> Any:
    """Return the app of a plug-in's command, or of the operation of another package; KeyError if there is none."""
    from moverank.rerank.entry_points import named_points

    for point in named_points("command", name):
        try:
            return point.load()
        except Exception as error:  # noqa: BLE001 - its module may raise anything
            from moverank.indexer.commands.operating import unusable_app

            where = f"the command {name!r} of the package {point.package}"
            return unusable_app(name, f"{where} cannot be loaded: {type(error).__name__}: {error}")
    if name not in _other_names():
        raise KeyError(name)
    from moverank.indexer.commands.operating import operation_app

    return operation_app(name)


class LazyGroup(Group):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all commands."""
        every, self.commands = self.commands, {name: _summary(name) for name in self.commands}
        super().format_help(ctx, formatter)
        self.commands = every
