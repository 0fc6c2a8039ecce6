"""What a run speaks for: regions of canonical paths, so that a folder is one source however it is spelled."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from moverank.indexer.documents import STREAM, NamedSource

UNKNOWN_SOURCE = "unknown"
"""The name of the source of documents that were stored before sources were."""


def place_of(path: str) -> str:
    """Return the canonical path of a file or folder, which need not exist; `-` for standard input and other streams.

    Links to folders are resolved. A link to a file is not: its name stays the same source when it gets another target.
    """
    if path == STREAM:
        return STREAM
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where permission is denied
        return as_text(os.path.realpath(path))
    # A process substitution, `<(zcat posts.gz)`, has another path in each run.
    place = as_text(str(Path(os.path.realpath(Path(path).parent), Path(path).name)))
    return STREAM if place.startswith(("/dev/stdin", "/proc/")) else place


def listed_place(named: str) -> str:
    """Return the place of a source that is named as it is listed: a path, or `-` or `-:PREFIX` for standard input."""
    return named if named.startswith(STREAM) else place_of(named)


def as_text(path: str) -> str:
    """Return a path with bytes that are not UTF-8 escaped, so that it can be stored."""
    return path.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Region:
    """A file, a folder with all that is below it, or with a `pattern` the files below a folder that match it."""

    place: str
    pattern: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str) -> "tuple[str, Region]":
        """Return the folder or file that a path of the command line names, as it is spelled, and its region."""
        if path == STREAM or not glob.has_magic(path) or os.path.exists(path):  # noqa: PTH110 - as with isdir
            return path, cls(place_of(path))
        parts = PurePosixPath(path).parts
        plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
        base = PurePosixPath(*parts[:plain]).as_posix()
        return base, cls(place_of(base), parts[plain:])

    def covers(self, path: str) -> bool:
        """Return whether a canonical path lies in the region."""
        base = self.place.rstrip("/") + "/"
        if path == self.place or not path.startswith(base):
            return path == self.place and not self.pattern
        return _matches(path[len(base) :].split("/"), self.pattern)


def _matches(parts: list[str], pattern: tuple[str, ...]) -> bool:
    """Return whether a path, or a folder above it, matches a pattern as `glob` has it."""
    if not pattern:
        return True
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_matches(parts[i:], rest) for i in range(len(parts) + 1))
    hidden = bool(parts) and parts[0].startswith(".") and not first.startswith(".")
    return bool(parts) and not hidden and fnmatchcase(parts[0], first) and _matches(parts[1:], rest)


class Scope:
    """What a run speaks for: the documents of these regions may be replaced, and are removed if it prunes.

    `unknown`: also those whose source is unknown. `renamed` are known sources that get another prefix. There may be as
    many regions as a shell expands a pattern to, so they are looked up by each folder of a path.
    """

    def __init__(
        self, regions: Iterable[Region] = (), *, unknown: bool = False, renamed: Iterable[NamedSource] = ()
    ) -> None:
        self.unknown, self.renamed = unknown, tuple(renamed)
        regions = list(regions)
        self._whole = {region.place for region in regions if not region.pattern}
        self._patterns = [region for region in regions if region.pattern]
        self._places = {region.place for region in regions}
        self._above = {folder for region in regions for folder in upwards(region.place)}

    @classmethod
    def of_source(cls, named: str) -> "Scope":
        """Return the scope of a source, or of a part of one, that is named as it is listed."""
        return cls(unknown=True) if named == UNKNOWN_SOURCE else cls([Region(listed_place(named))])

    def covers(self, path: str) -> bool:
        """Return whether a canonical path lies in one of the regions."""
        return not self._whole.isdisjoint(upwards(path)) or any(region.covers(path) for region in self._patterns)

    def touches(self, place: str) -> bool:
        """Return whether a source at a canonical path can have documents within the scope."""
        return place in self._above or not self._places.isdisjoint(upwards(place))


def upwards(path: str) -> Iterator[str]:
    """Iterate over a canonical path and all folders above it."""
    yield path
    while path.startswith("/") and path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
