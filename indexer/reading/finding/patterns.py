"""The files and directories that match a pattern of the command line, such as `notes/**/*.md`."""

import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from moverank.indexer.reading.finding.selection import Rules
from moverank.indexer.values.scope import name_matches, split_pattern

Unreadable = Callable[[OSError], None]
"""Called with the error of each directory that cannot be read."""


def matches(pattern: str, rules: Rules, unreadable: Unreadable) -> list[Path]:
    """Return the sorted paths that match `pattern` as in the shell, `**` any number of directories.

    A wildcard matches no hidden name, no link to a directory, so that no loop is followed, and no path that `rules`
    leave out; their root is the folder in which the search begins. A directory is returned without its content.
    """
    root, parts = split_pattern(pattern)
    found = set(_below(Path(root), parts, rules, unreadable))
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
            is_link_to_directory = entry.is_symlink() and entry.is_dir()
            if name_matches(entry.name, parts[0]) and not is_link_to_directory:
                yield from _at(directory / entry.name, parts[1:], rules, unreadable)
    else:
        yield from _at(directory / parts[0], parts[1:], rules, unreadable)


def _at(path: Path, parts: tuple[str, ...], rules: Rules, unreadable: Unreadable) -> Iterator[Path]:
    """Yield a file `path` if no parts of the pattern are left, or the matches below a directory `path`."""
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
