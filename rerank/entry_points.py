"""The entry points of installed packages.

Read without `importlib.metadata`, whose import takes a fifth of the time of `moverank --help`.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

_PLUG_IN = re.compile(r"moverank\.\w+\.plugins\.\w+")


class EntryPoint(NamedTuple):
    """What an installed package declares: a name, and `module:attribute` as its value."""

    name: str
    value: str
    information: Path
    """The directory of the package's metadata."""

    @property
    def package(self) -> str:
        """Return the name and the version of the package."""
        from importlib.metadata import PathDistribution

        package = PathDistribution(self.information)
        return f"{package.name} {package.version}"

    @property
    def is_own(self) -> bool:
        """Return whether moverank itself declares it, and not another package."""
        return _package_of(self.information) == "moverank"

    @property
    def is_there(self) -> bool:
        """Return whether the module may be there: the folder of a plug-in of moverank itself may have been removed."""
        package, *_ = self.value.partition(":")
        folder = _PLUG_IN.match(package)
        if folder is None:
            return True
        try:
            return find_spec(folder[0]) is not None
        except ModuleNotFoundError:
            return False

    def load(self) -> Any:
        """Import the module, and return the attribute, or the module if none is declared."""
        return loaded(self.value)


def loaded(value: str) -> Any:
    """Import the module of `module:attribute`, and return the attribute, or the module if none is named."""
    module, _, attribute = (part.strip() for part in value.partition("[")[0].partition(":"))
    found = import_module(module)
    return attrgetter(attribute)(found) if attribute else found


def named_points(what: str, name: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of one kind with a name, moverank's own first."""
    points = (point for point in entry_points(f"moverank.{what}s", tuple(sys.path)) if point.name == name)
    return tuple(sorted(points, key=lambda point: not point.is_own))


def names(what: str, *, own: bool = True) -> tuple[str, ...]:
    """Return the names of one kind, "command", that installed packages provide, without loading any.

    `own`: also those that moverank itself declares, which no other package replaces.
    """
    points = entry_points(f"moverank.{what}s", tuple(sys.path))
    left_out = set() if own else {point.name for point in points if point.is_own}
    return tuple(sorted({point.name for point in points} - left_out))


@cache
def entry_points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; they are read again if the import path changes."""
    points = (point for file in _files(path) for point in _declared(file, group))
    return tuple(point for point in points if point.is_there)


@cache
def _files(path: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the files of entry points on an import path, one for each package."""
    files = dict[str, Path]()
    folders = [sorted(folder.iterdir()) for folder in map(Path, path) if folder.is_dir()]
    for kind in (".dist-info", ".egg-info"):  # the remains of a build count only without an installation
        for entry in (entry for entries in folders for entry in entries if entry.name.endswith(kind)):
            if (file := entry / "entry_points.txt").is_file():
                files.setdefault(_package_of(entry), file)  # the first on the path is the one imported
    return tuple(files.values())


def _package_of(information: Path) -> str:
    """Return the package, in lower case, whose metadata are in a directory."""
    return information.name.partition("-")[0].lower().removesuffix(".egg")


def _declared(file: Path, group: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a group in a file."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if f"[{group}]" not in text:
        return
    section = ""
    for line in text.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if name.startswith("["):
            section = name.strip("[]")
        elif equals and section == group:
            yield EntryPoint(name, value, file.parent)
