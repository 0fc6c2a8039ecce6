"""Finds the files to read by the paths of the command line, and the messages of Maildir folders."""

import glob
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.reading.finding.patterns import Unreadable, is_directory, is_regular, matches
from moverank.indexer.reading.finding.selection import EVERYTHING, Rules, Selection
from moverank.indexer.reading.records import log_left_out
from moverank.indexer.values.scope import split_pattern

PARTS = frozenset({"cur", "new", "tmp"})
"""The subdirectories of a Maildir; `tmp` holds messages which are still being delivered."""


class MessageFile(NamedTuple):
    """A message: its path, the path without the parts that mail programs change, and its Maildir++ folder, if any."""

    path: Path
    key: str
    folder: str | None


_LEFT_OUT = frozenset("TD")
"""Flags of messages in the trash, and of drafts."""


def is_maildir(subfolders: Collection[str]) -> bool:
    """Return whether a directory with these subdirectories is a Maildir."""
    return PARTS.issubset(subfolders)


def message_files(maildir: Path, unreadable: Unreadable) -> Iterator[MessageFile]:
    """Yield the messages of a Maildir and its Maildir++ folders; `unreadable` is called with errors of directories."""
    folders = [name for name in _names(maildir, unreadable) if name.startswith(".")]
    for folder in ("", *folders):
        directory = maildir / folder
        if folder and not all((directory / part).is_dir() for part in PARTS):
            continue
        for part in ("cur", "new"):
            for name in _names(directory / part, unreadable):
                path = directory / part / name
                if not name.startswith(".") and is_regular(path):
                    # Mail programs move a read message from `new/1466160000.M1.host` to `cur/1466160000.M1.host:2,S`.
                    yield MessageFile(path, (directory / name.partition(":2,")[0]).as_posix(), folder[1:] or None)


def _names(directory: Path, unreadable: Unreadable) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except OSError as error:
        unreadable(error)
        return []


STDIN = "-"
MAILDIR = "maildir"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read, or one Maildir."""

    name: str
    """The path in messages."""
    key: str
    """The normalised path, with which the keys of documents begin."""
    folder: str | None = None
    """The name of the file's directory if that is a subdirectory of the given one."""
    explicit: bool = True
    """The file itself was given, not a directory that holds it."""
    size: int | None = None
    """Size in bytes, None if unknown."""
    format: str | None = None
    """The format, if the file's directory determines it."""
    messages: tuple["Source", ...] = ()
    """The messages of a Maildir."""
    fault: str | None = None
    """Why the file or directory cannot be read, if that is known already."""


def find_sources(paths: Sequence[str], selection: Selection = EVERYTHING) -> list[Source]:
    """Return the files of `paths` in order: files, directories, patterns, `-` for standard input.

    A directory is searched recursively in sorted order, without hidden files, links to directories, collections,
    anything that is not a regular file, and files that `selection` leaves out. A pattern matches as in the shell. A
    file or directory that cannot be read becomes a source with a `fault`. Raises `UsageError` for an invalid list of
    paths or an invalid selection, `ReadError` if a path is missing or holds no file.
    """
    if isinstance(paths, str):
        raise UsageError(f"the paths must be a list, not one string: write [{paths!r}]")
    if not paths:
        raise UsageError("no path is named: name a file, a directory, a pattern or - for standard input")
    if list(paths).count(STDIN) > 1:
        raise UsageError("- (standard input) is named twice: it can be read only once")
    return [source for path in paths for source in _sources_of(path, selection)]


def _sources_of(path: str, selection: Selection) -> Iterator[Source]:
    try:
        exists = path == STDIN or Path(path).exists()
    except PermissionError as error:
        yield _unreadable(path, error)
        return
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror}") from error
    if path == STDIN:
        yield Source(STDIN, STDIN)
    elif exists:
        yield from _existing(path, selection)
    elif glob.has_magic(path):
        yield from _matching(path, selection)
    else:
        raise ReadError(f"{path}: there is no such file or directory")


def _existing(path: str, selection: Selection) -> Iterator[Source]:
    if is_directory(Path(path)):
        rules = Rules(Path(path), selection)
        yield from _some(_below(Path(path), rules), rules, path, "there is no file in this directory")
    else:
        yield _file(path)


def _matching(pattern: str, selection: Selection) -> Iterator[Source]:
    """Yield the files that match a pattern, and the files in directories that match."""
    rules, faults = Rules(Path(split_pattern(pattern)[0]), selection), list[OSError]()
    found = [
        source
        for path in matches(pattern, rules, faults.append)
        for source in (_below(path, rules) if is_directory(path) else [_file(str(path))])
    ]
    found += [_unreadable(str(Path(error.filename)), error) for error in faults]
    yield from _some(found, rules, pattern, "no file matches this pattern")


def _some(found: list[Source], rules: Rules, path: str, nothing: str) -> list[Source]:
    """Return the sources that were found at `path`; raises `ReadError` if there are none."""
    if not found:
        raise ReadError(
            f"{path}: every file is left out by a .gitignore, --include or --exclude: see --no-ignore"
            if rules.left_out
            else f"{path}: {nothing}"
        )
    return found


def _below(root: Path, rules: Rules) -> list[Source]:
    """Return the files below `root` in sorted order, then the directories that cannot be read."""
    faults: list[OSError] = []
    found: list[tuple[Path, bool]] = []
    for folder, subfolders, names in os.walk(root, onerror=faults.append):
        is_mail = is_maildir(subfolders)
        shown = [name for name in subfolders if not name.startswith(".") and not (is_mail and name in PARTS)]
        subfolders[:] = [name for name in shown if rules.keeps_directory(Path(folder, name))]
        if is_mail:
            found.append((Path(folder), True))
        else:
            files = [Path(folder, name) for name in names if not name.startswith(".")]
            found += [(file, False) for file in files if is_regular(file) and rules.keeps_file(file)]
    sources = []
    for path, is_mail in sorted(found):
        label = path.relative_to(root).parent.name or None
        source = _maildir(root, path, rules, faults) if is_mail else _file(str(path), label, explicit=False)
        if source.messages or not is_mail:
            sources.append(source)
    return [*sources, *(_unreadable(str(Path(error.filename)), error) for error in faults)]


def _file(name: str, folder: str | None = None, *, explicit: bool = True) -> Source:
    try:
        found = os.stat(name)  # noqa: PTH116 - of many small files, a path takes long
    except OSError as error:
        return _unreadable(name, error)
    # A pipe (`<(zcat posts.gz)`) has no size.
    size = found.st_size if S_ISREG(found.st_mode) else None
    fault = None if os.access(name, os.R_OK) else "cannot be read: permission denied"
    return Source(name, Path(name).as_posix(), folder, explicit, size, fault=fault)


def _maildir(root: Path, path: Path, rules: Rules, faults: list[OSError]) -> Source:
    """Return a Maildir with its messages; a message's label is its Maildir++ folder, else the Maildir below `root`."""
    label = path.name if path != root else None
    files = [file for file in message_files(path, faults.append) if rules.keeps_file(file.path)]
    kept = [file for file in files if _LEFT_OUT.isdisjoint(file.path.name.partition(":2,")[2])]
    log_left_out(str(path), len(files) - len(kept), "trashed or unsent message")
    messages = tuple(
        replace(_file(str(file.path), file.folder or label, explicit=False), key=file.key, format="message")
        for file in kept
    )
    size = sum(message.size or 0 for message in messages)
    return Source(str(path), path.as_posix(), label, False, size, MAILDIR, messages)


def _unreadable(name: str, error: OSError) -> Source:
    """Return a file or directory that cannot be read."""
    return Source(name, Path(name).as_posix(), explicit=False, fault=f"cannot be read: {error.strerror or error}")
