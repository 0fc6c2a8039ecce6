"""The files to read, found by the paths of the command line."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.files.directory import holds_database, is_own

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read.

    `name` is shown in messages; `key` is the normalised path, used in the keys of its documents. `folder` is the name
    of the file's directory if that is a subdirectory of the given one. `explicit`: the file itself was given, not a
    directory that holds it. `size` in bytes, None if unknown.
    """

    name: str
    key: str
    folder: str | None = None
    explicit: bool = True
    size: int | None = None


def find_sources(paths: Sequence[str]) -> list[Source]:
    """Return the files of `paths` in order: files, directories, patterns, `-` for standard input.

    A directory is searched recursively in sorted order, without hidden files, links to directories, collections, and
    anything that is not a regular file. A pattern matches as in the shell. Raises `UsageError` for an invalid list of
    paths, `ReadError` if a path is missing or unreadable, or holds no file.
    """
    if isinstance(paths, str):
        raise UsageError(f"the paths must be a list, not one string: write [{paths!r}]")
    if not paths:
        raise UsageError("no path is named: name a file, a directory, a pattern or - for standard input")
    if list(paths).count(STDIN) > 1:
        raise UsageError("- (standard input) is named twice: it can be read only once")
    return [source for path in paths for source in _sources_of(path)]


def _sources_of(path: str) -> Iterator[Source]:
    if path == STDIN:
        yield Source(STDIN, STDIN)
    elif _exists(path):
        yield from _existing(path)
    elif glob.has_magic(path):
        # Path.glob neither skips hidden files nor accepts an absolute pattern.
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
        matches = [match for match in matches if not _in_collection(Path(match))]
        if not matches:
            raise ReadError(f"{path}: no file matches this pattern")
        for match in matches:
            yield from _existing(match)
    else:
        raise ReadError(f"{path}: there is no such file or directory")


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror}") from error


def _existing(path: str) -> Iterator[Source]:
    if Path(path).is_dir():
        yield from _below(Path(path))
    else:
        _check_readable(path)
        # A pipe (`<(zcat posts.gz)`) has no size.
        yield Source(path, Path(path).as_posix(), size=Path(path).stat().st_size if Path(path).is_file() else None)


def _below(root: Path) -> Iterator[Source]:
    def refuse(error: OSError) -> None:
        raise ReadError(f"{error.filename}: cannot be read: {error.strerror}") from error

    files: list[Path] = []
    for folder, subfolders, names in os.walk(root, onerror=refuse):
        own = is_own if holds_database(Path(folder)) else lambda _: False
        shown = [Path(folder, name) for name in subfolders if not name.startswith(".")]
        subfolders[:] = [path.name for path in shown if not own(path) and not holds_database(path)]
        files += [path for path in (Path(folder, name) for name in names if not name.startswith(".")) if not own(path)]
    files = sorted(file for file in files if file.is_file())
    if not files:
        raise ReadError(f"{root}: there is no file in this directory")
    for file in files:
        _check_readable(str(file))
        folder_name = file.relative_to(root).parent.name or None
        yield Source(str(file), file.as_posix(), folder_name, explicit=False, size=file.stat().st_size)


def _in_collection(match: Path) -> bool:
    """Return whether a match of a pattern is a collection, or one of its files."""
    folders = (match, *match.parents[:-1])
    return any(map(holds_database, folders)) or (is_own(match) and holds_database(match.parent))


def _check_readable(path: str) -> None:
    if not os.access(path, os.R_OK):
        raise ReadError(f"{path}: cannot be read: permission denied")
