"""The message files of a Maildir: a directory with `cur`, `new` and `tmp`, and its Maildir++ folders (`.Sent`)."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from moverank.indexer.readers.file_pattern import Unreadable, is_regular

PARTS = frozenset({"cur", "new", "tmp"})
"""The subdirectories of a Maildir; `tmp` holds messages which are still being delivered."""


class MessageFile(NamedTuple):
    """A message: its path, the path without what changes when it is read, and its Maildir++ folder, if it has one."""

    path: Path
    key: str
    folder: str | None


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
                    # `new/1466160000.M1.host` becomes `cur/1466160000.M1.host:2,S` when it is read.
                    yield MessageFile(path, (directory / name.partition(":2,")[0]).as_posix(), folder[1:] or None)


def _names(directory: Path, unreadable: Unreadable) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except OSError as error:
        unreadable(error)
        return []
