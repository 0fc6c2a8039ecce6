"""Durable and atomic writes: success means that the data is on disk; a failure leaves the old content unchanged.

All functions but `write_text` raise OSError; the caller turns it into an error that names what cannot be written. A
file that is opened early and read later may be replaced in between.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal
from weakref import finalize

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.files.checksums import FileChecksum, check_descriptor
from moverank.indexer.files.systems import has_access, opened_to_read, set_mode, sync, sync_path


@contextmanager
def durable_file(path: Path, mode: Literal["wb", "xb"] = "wb") -> Iterator[BinaryIO]:
    """Open a file for writing, and sync it to disk when the block ends without an error.

    Not atomic by itself: for the files of a directory that `atomic_directory` puts in place.
    """
    with path.open(mode) as file:
        yield file
        file.flush()
        sync(file.fileno())


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends without an error; otherwise it is removed.

    Readers of `path` see the old content or the new, never part of it. The temporary file gets the mode of the file
    that it replaces. It is `.NAME.HEX` in the same directory; only a killed process leaves it behind. A symbolic link
    is replaced and not followed: it may come with a collection from another user.
    """
    mode = _file_mode(path)
    replaced = mode if mode is None or stat.S_ISREG(mode) else None
    temporary = _temporary_path(path)
    try:
        with durable_file(temporary, "xb") as file:
            if replaced is not None:
                set_mode(file.fileno(), stat.S_IMODE(replaced))
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(path.parent)


@contextmanager
def named_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that the user has named, as `atomic_file` does.

    Renaming would destroy a symbolic link, a device or a pipe: these are written in place, not atomically.
    """
    mode = _file_mode(path)
    in_place = mode is not None and not stat.S_ISREG(mode)
    with path.open("wb") if in_place else atomic_file(path) as file:
        yield file


@contextmanager
def atomic_directory(directory: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a new temporary directory that becomes `directory` when the block ends; it is removed after an error.

    An existing `directory` is replaced at the end; without `replace`, OSError is raised if it is not empty. Its files
    are durable if they were written by `durable_file`. The temporary directory is `.NAME.HEX` beside `directory`; only
    a killed process leaves it behind.
    """
    directory = directory.absolute()
    temporary = _temporary_path(directory)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        sync_path(temporary)
        if replace:
            _replace_directory(directory, temporary)
        else:
            temporary.rename(directory)
        sync_path(directory.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary_path(path: Path) -> Path:
    """Return an unused hidden name in the same directory."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}")


def _file_mode(path: Path) -> int | None:
    """Return type and permissions of a file, symbolic links not followed; None if it does not exist."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def _replace_directory(directory: Path, new: Path) -> None:
    """Rename `new` to `directory`; an existing one is moved aside first, and back if that fails."""
    if not directory.exists():
        new.rename(directory)
        return
    old = new.with_name(f"{new.name}.old")
    directory.rename(old)
    try:
        new.rename(directory)
    except BaseException:
        old.rename(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_writable(path: Path) -> None:
    """Raise UsageError, before any work, for a file that cannot be written: its directory is missing or read-only."""
    directory = path.absolute().parent
    if not directory.is_dir():
        raise UsageError(f"{path}: cannot be written: there is no directory {path.parent}")
    if path.is_dir():
        raise UsageError(f"{path}: cannot be written: it is a directory")
    if not has_access(path if path.exists() else directory, os.W_OK):
        raise UsageError(f"{path}: cannot be written: permission denied, or it is read-only")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; IndexerError if that fails."""
    try:
        with named_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error


class OpenFile:
    """A snapshot's file, opened on construction; closed by `close()` or by the garbage collector.

    Without an `expected` checksum, `check` is a no-op.
    """

    def __init__(self, path: Path, expected: FileChecksum | None = None) -> None:
        self.path, self._expected = path, expected
        self.descriptor = opened_to_read(path)
        self.close = finalize(self, os.close, self.descriptor)

    def check(self) -> None:
        """Raise DamagedFile if the file differs from its checksum."""
        if self._expected is not None:
            check_descriptor(self.path, self.descriptor, self._expected)
