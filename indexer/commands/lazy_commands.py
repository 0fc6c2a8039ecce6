"""The commands by name, whose modules are imported on first use: a process runs one command, and needs no other."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
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

_HOMES = {name: module for module, names in MODULES.items() for name in names}


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
        parent.add_typer(app, name=first if first in GROUPS else None)
        return dict(get_group(parent).commands)


class LazyGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands(self.rich_markup_mode)
