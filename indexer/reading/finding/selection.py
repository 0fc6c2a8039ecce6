"""The files of a directory that are read: neither a `.gitignore` nor the command line leaves them out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pathspec import GitIgnoreSpec

from moverank.indexer.errors import UsageError
from moverank.indexer.files.directory import holds_database, is_own
from moverank.indexer.reading.finding.ignore_rules import Chain, IgnoreRules, is_ignored, rules_above, rules_in

_Compiled = TypeVar("_Compiled")


@dataclass(frozen=True, slots=True)
class Selection:
    """The files to read, by patterns in the syntax of `.gitignore`.

    A file is read if it matches a pattern of `include` (if there are any) and none of `exclude`, and if no `.gitignore`
    names it, unless `gitignore` is False. Files that the user names themselves are always read.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = True


EVERYTHING = Selection()
"""All files but the files that a `.gitignore` names."""


class Rules:
    """The files that a `Selection` leaves out below `root`, to which its patterns are relative; also collections.

    `left_out` counts the files and directories left out so far, except collections. Raises `UsageError` for an invalid
    pattern.
    """

    def __init__(self, root: Path, selection: Selection) -> None:
        self.left_out = 0
        self._root, self._resolved = root, root.resolve()
        self._include = globs_of("--include", selection.include, GitIgnoreSpec.from_lines)
        self._exclude = globs_of("--exclude", selection.exclude, IgnoreRules)
        self._kept: dict[Path, bool] = {root: True}
        self._collections: dict[Path, bool] = {}
        self._reads_ignore_files = selection.gitignore
        top = (*rules_above(self._resolved), *rules_in(self._resolved)) if selection.gitignore else ()
        self._chains: dict[Path, Chain] = {root: top}

    def keeps_directory(self, path: Path) -> bool:
        """Return whether the files in the directory `path`, which is the root or below, may be read."""
        kept = self._kept.get(path)
        if kept is None:
            in_collection = self._is_collection(path) or self._is_of_collection(path)
            kept = not in_collection and self.keeps_directory(path.parent)
            kept = kept and not self._leaves_out(path, is_directory=True)
            self._kept[path] = kept
            self.left_out += not (kept or in_collection)
        return kept

    def keeps_file(self, path: Path) -> bool:
        """Return whether the file `path`, which is below the root, is read."""
        if not self.keeps_directory(path.parent) or self._is_of_collection(path):
            return False
        kept = not self._leaves_out(path, is_directory=False)
        if kept and self._include is not None:
            kept = self._include.match_file(path.relative_to(self._root).as_posix())
        self.left_out += not kept
        return kept

    def _is_of_collection(self, path: Path) -> bool:
        """Return whether a path belongs to a collection; files of the user may lie beside it."""
        return self._is_collection(path.parent) and is_own(path)

    def _is_collection(self, directory: Path) -> bool:
        if directory not in self._collections:
            self._collections[directory] = holds_database(directory)
        return self._collections[directory]

    def _leaves_out(self, path: Path, *, is_directory: bool) -> bool:
        chain = self._chain(path.parent)
        if not chain and self._exclude is None:  # the usual case: path objects take as long as small files
            return False
        below = path.relative_to(self._root)
        if self._exclude is not None and self._exclude.ignores(below.as_posix(), is_directory=is_directory):
            return True
        return is_ignored(self._resolved / below, chain, is_directory=is_directory)

    def _chain(self, directory: Path) -> Chain:
        """Return the rules in a directory, which is the root or below."""
        if directory not in self._chains:
            own = rules_in(self._resolved / directory.relative_to(self._root)) if self._reads_ignore_files else ()
            self._chains[directory] = (*self._chain(directory.parent), *own)
        return self._chains[directory]


def globs_of(option: str, lines: tuple[str, ...], compile_: Callable[[tuple[str, ...]], _Compiled]) -> _Compiled | None:
    """Return the compiled patterns of an option, None if there are none; raises `UsageError` for an invalid one."""
    try:
        return compile_(lines) if lines else None
    except ValueError as error:
        raise UsageError(f"{option}: {', '.join(map(repr, lines))} is no pattern as in a .gitignore") from error
