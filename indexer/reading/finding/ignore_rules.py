"""Rules in the syntax of `.gitignore`, and the files of this name which apply in a directory."""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

_STAR = "[^/]*"
_LIMIT = 1 << 20
"""How many bytes of a `.gitignore` are read."""


class _Rule(NamedTuple):
    """A pattern; `ignores` is False for one which begins with `!`."""

    regex: "re.Pattern[str]"
    ignores: bool
    directories_only: bool


class IgnoreRules:
    """The rules of one file, or of one option; paths are relative to its directory.

    Raises `ValueError` for a line that is no pattern.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines for rule in _rules(line)]
        self._rules.reverse()

    def ignores(self, path: str, *, is_directory: bool) -> bool | None:
        """Return the decision of the last rule for `path` itself, not for a directory above it; None without one."""
        for regex, ignores, directories_only in self._rules:
            if is_directory or not directories_only:
                match = regex.search(path)
                # This group of pathspec's matches the slash after a directory above.
                if match and match.groupdict().get("ps_d") is None:
                    return ignores
        return None


def _rules(line: str) -> list[_Rule]:
    line = line.rstrip(" \t\r") if not line.endswith("\\ ") else line
    directories_only = line.endswith("/") and line.strip("!") != "/"
    return [
        _Rule(re.compile(_without_backtracking(pattern.regex.pattern)), pattern.include, directories_only)
        for pattern in GitIgnoreSpec.from_lines([line.removesuffix("/") if directories_only else line]).patterns
        if pattern.regex is not None and pattern.include is not None
    ]


def _without_backtracking(regex: str) -> str:
    """Return pathspec's regular expression, changed so that malicious names do not take exponential time.

    Between two stars in the same part of a path, the first star stops at the first match.
    """
    first, *pieces = regex.split(_STAR)
    changed = [first]
    for piece, following in zip_longest(pieces, pieces[1:]):
        is_last = following is None or "/" in piece.replace("[^/]", "")
        changed.append(f"{_STAR}{piece}" if is_last else f"(?>{_STAR}?{piece})")
    return "".join(changed)


Chain = tuple[tuple[Path, IgnoreRules], ...]
"""The `.gitignore` files that apply in a directory, the outermost first, each with its own directory."""


def rules_in(directory: Path) -> Chain:
    """Return the rules of the `.gitignore` in a directory, if it has one; like Git, skip lines that are no pattern."""
    path = directory / ".gitignore"
    try:
        if not path.is_file():
            return ()
        with path.open("rb") as file:
            text = file.read(_LIMIT).decode("utf-8-sig", errors="surrogateescape")
    except OSError:
        return ()
    return ((directory, IgnoreRules(_valid(text.split("\n")))),)


def rules_above(root: Path) -> Chain:
    """Return the rules of the directories above `root` up to its Git repository.

    Without a repository there are none; rules that ignore `root` itself do not count either, because the user named it.
    """
    chain: Chain = ()
    above = [root, *root.parents]
    top = next((i for i, directory in enumerate(above) if _is_repository(directory)), 0)
    for directory in reversed(above[1 : top + 1]):
        chain = (*chain, *rules_in(directory))
    for directory in above[:top]:
        applying = [(base, rules) for base, rules in chain if directory.parent.is_relative_to(base)]
        if is_ignored(directory, applying, is_directory=True):
            return ()
    return chain


def _is_repository(directory: Path) -> bool:
    try:
        return (directory / ".git").exists()
    except OSError:
        return False


def is_ignored(path: Path, chain: Sequence[tuple[Path, IgnoreRules]], *, is_directory: bool) -> bool:
    """Return the decision of the innermost rule for `path`."""
    for base, rules in reversed(chain):
        decision = rules.ignores(path.relative_to(base).as_posix(), is_directory=is_directory)
        if decision is not None:
            return decision
    return False


def _valid(lines: Iterable[str]) -> list[str]:
    valid = []
    for line in lines:
        try:
            IgnoreRules([line])
        except ValueError:
            continue
        valid.append(line)
    return valid
