"""The sources that a run may replace and, with pruning, delete: regions of canonical paths."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from moverank.indexer.values.documents import STREAM, NamedSource

_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/")  # the second is of macOS
_ROOT = re.compile("/|[A-Za-z]:/")  # the second is of Windows

UNKNOWN_SOURCE = "unknown"
"""The name of the source of documents that were stored before the schema had sources."""


def place_of(path: str) -> str:
    """Return the canonical path of a file or folder, which need not exist; `-` for standard input and other streams.

    Links to folders are resolved. A link to a file is not: its name stays the same source when it gets another target.
    """
    if path == STREAM:
        return STREAM
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where permission is denied
        return as_text(Path(os.path.realpath(path)).as_posix())
    # A process substitution, `<(zcat posts.gz)`, has another path in each run.
    place = as_text(Path(os.path.realpath(Path(path).parent), Path(path).name).as_posix())
    return STREAM if place.startswith(_STREAMS) else place


def listed_place(named: str) -> str:
    """Return the place of a source by its listed name: a path, or `-` or `-:PREFIX` for standard input."""
    return named if named.startswith(STREAM) else place_of(named)


def as_text(path: str) -> str:
    """Return a path with bytes that are not UTF-8 escaped, so that it can be stored."""
    return path.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Region:
    """A file, a folder with everything below it, or, with a `pattern`, the files below a folder that match it."""

    place: str
    pattern: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str) -> "tuple[str, Region]":
        """Return the folder or file that a path of the command line names, as spelled, and its region."""
        if path == STREAM or not glob.has_magic(path) or os.path.exists(path):  # noqa: PTH110 - as with isdir
            return path, cls(place_of(path))
        base, pattern = split_pattern(path)
        return base, cls(place_of(base), pattern)

    def covers(self, path: str) -> bool:
        """Return whether a canonical path lies in the region."""
        base = self.place.rstrip("/") + "/"
        if path == self.place or not path.startswith(base):
            return path == self.place and not self.pattern
        return _matches(path[len(base) :].split("/"), self.pattern)


def _matches(parts: list[str], pattern: tuple[str, ...]) -> bool:
    """Return whether a path, or a folder above it, matches a pattern by the rules of `glob`."""
    if not pattern:
        return True
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_matches(parts[i:], rest) for i in range(len(parts) + 1))
    return bool(parts) and name_matches(parts[0], first) and _matches(parts[1:], rest)


def split_pattern(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder in which the search for a pattern begins, and the parts from the first wildcard on."""
    parts = PurePath(pattern).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return PurePath(*parts[:plain]).as_posix(), parts[plain:]


def name_matches(name: str, pattern: str) -> bool:
    """Return whether the name of a file or folder matches a part of a pattern; a wildcard matches no hidden name."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


class Scope:
    """The sources that a run may replace and, with pruning, delete.

    `unknown`: also documents whose source is unknown. `renamed` are known sources that get another prefix. A shell may
    expand a pattern to very many regions, so they are looked up by each folder of a path.
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
        """Return the scope of a source, or of a part of one, by its listed name."""
        return cls(unknown=True) if named == UNKNOWN_SOURCE else cls([Region(listed_place(named))])

    def covers(self, path: str) -> bool:
        """Return whether a canonical path lies in one of the regions."""
        return not self._whole.isdisjoint(upwards(path)) or any(region.covers(path) for region in self._patterns)

    def touches(self, place: str) -> bool:
        """Return whether a source at a canonical path can have documents within the scope."""
        return place in self._above or not self._places.isdisjoint(upwards(place))


def upwards(path: str) -> Iterator[str]:
    """Iterate over a canonical path and all folders above it; over a stream alone."""
    yield path
    root = _ROOT.match(path)
    while root and path != root[0]:
        path = max(path.rpartition("/")[0], root[0], key=len)
        yield path
