"""The files and directories that match a pattern of the command line, such as `notes/**/*.md`."""

import glob
import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from moverank.indexer.readers.selection import Rules

Unreadable = Callable[[OSError], None]
"""Called with the error of each directory that cannot be read."""


def fixed_part(pattern: str) -> Path:
    """Return the directory in which the search for a pattern begins: its parts before the first wildcard."""
    parts = Path(pattern).parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def matches(pattern: str, rules: Rules, unreadable: Unreadable) -> list[Path]:
    """Return the sorted paths that match `pattern` as in the shell, `**` any number of directories.

    A wildcard matches no hidden name and no link to a directory, so that no loop is followed, and nothing that `rules`,
    whose root is the `fixed_part`, leave out. Of a directory and what it holds, only the directory is returned.
    """
    root = fixed_part(pattern)
    found = set(_below(root, Path(pattern).parts[len(root.parts) :], rules, unreadable))
    return sorted(path for path in found if found.isdisjoint(path.parents))


def is_directory(path: Path) -> bool:
    """Return whether `path` is a directory or a link to one; False if it cannot be examined."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_regular(path: Path) -> bool:
    """Return whether `path` is a regular file or a link to one, or cannot be examined: reading it reports why."""
    try:
        return path.is_file()
    except OSError:
        return True


def _below(directory: Path, parts: tuple[str, ...], rules: Rules, unreadable: Unreadable) -> Iterator[Path]:
    """Yield the paths below a directory that match the `parts` of a pattern."""
    if parts in ((), ("**",)):
        yield directory
    elif parts[0] == "**":
        for folder, subfolders, _ in os.walk(directory, onerror=unreadable):
            subfolders[:] = [
                name for name in subfolders if name[0] != "." and rules.keeps_directory(Path(folder, name))
            ]
            yield from _below(Path(folder), parts[1:], rules, unreadable)
    elif glob.has_magic(parts[0]):
        for entry in _entries(directory, unreadable):
            hidden = entry.name.startswith(".") and not parts[0].startswith(".")
            is_link_to_directory = entry.is_symlink() and entry.is_dir()
            if fnmatchcase(entry.name, parts[0]) and not hidden and not is_link_to_directory:
                yield from _at(directory / entry.name, parts[1:], rules, unreadable)
    else:
        yield from _at(directory / parts[0], parts[1:], rules, unreadable)


def _at(path: Path, parts: tuple[str, ...], rules: Rules, unreadable: Unreadable) -> Iterator[Path]:
    """Yield `path` if it is a file and no parts are left; the matches below it if it is a directory."""
    if is_directory(path):
        if rules.keeps_directory(path):
            yield from _below(path, parts, rules, unreadable)
    elif not parts and is_regular(path) and rules.keeps_file(path):
        yield path


def _entries(directory: Path, unreadable: Unreadable) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        unreadable(error)
        return []
