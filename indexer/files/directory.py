"""The directory of a collection: what lies in it, and who may write to it."""

import json
import logging
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from moverank.indexer.errors import CollectionError, LockedError

DATABASE, VECTORS = "collection.db", "vectors"
UNFINISHED = "new-collection.db"
_LOCK, _OWNER = "lock", "lock.owner"
_log = logging.getLogger("moverank")


def exists(place: Path) -> bool:
    """Say whether a directory holds a collection."""
    try:
        return (place / DATABASE).is_file()
    except OSError as error:
        raise CollectionError(f"{place} cannot be read: {error.strerror}") from error


def leftover(file: Path) -> bool:
    """Say whether a file is the lock, or was left by a process that was killed while it made a collection."""
    ours = file.name == VECTORS and (file / "embedding.json").is_file()
    return ours or file.name in (_LOCK, _OWNER) or file.name.startswith((f".{VECTORS}.", UNFINISHED, f"{DATABASE}-"))


def clear(place: Path) -> None:
    """Remove what a failure may leave of a collection that is being made."""
    for file in place.iterdir():
        if leftover(file) and file.name not in (_LOCK, _OWNER):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    (place / DATABASE).unlink(missing_ok=True)


def remove(place: Path) -> None:
    """Remove a collection that holds nothing, and its directory if that holds nothing else."""
    clear(place)
    for name in (_LOCK, _OWNER):
        (place / name).unlink(missing_ok=True)
    with suppress(OSError):
        place.rmdir()


def unwritable(place: Path) -> bool:
    """Say whether nothing can be written in a directory: no permission, or a file system that takes no changes."""
    return not os.access(place, os.W_OK | os.X_OK, effective_ids=True)


@contextmanager
def locked(place: Path, wait: float = 0.0) -> Iterator[None]:
    """Be the only process that writes to a collection, at most `wait` seconds after it was asked for.

    The system takes the lock of a dead process back. Raises LockedError, which names the owner, where it is not to be
    had in time, and CollectionError where nothing can be written.
    """
    from filelock import FileLock, Timeout

    if unwritable(place):
        raise CollectionError(f"{place} cannot be written to: permission denied, or it is read-only")
    lock = FileLock(place / _LOCK, timeout=0)
    try:
        try:
            lock.acquire()
        except Timeout:
            if not wait:
                raise
            _log.warning("waiting for %s", _owner(place))
            lock.acquire(timeout=-1 if wait == float("inf") else wait)
    except Timeout as error:
        hint = "try again when it is done" if wait else "try again when it is done, or give --wait"
        raise LockedError(f"{_owner(place)} is writing to {place}: {hint}") from error
    except OSError as error:
        raise CollectionError(f"{place} cannot be written to: {error.strerror}") from error
    try:
        _sweep(place)
        _claim(place)
        yield
    finally:
        with suppress(OSError):
            (place / _OWNER).unlink()
        lock.release()


def _sweep(place: Path) -> None:
    """Remove what a killed writer has begun: nobody else has the lock, and readers know no such names."""
    for pattern in (f".{VECTORS}.*", "new-snapshot-*"):
        for path in place.glob(pattern):
            shutil.rmtree(path, ignore_errors=True)


def _claim(place: Path) -> None:
    """Leave word who has the lock, for whoever has to wait; without room on the disk it is done without."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    with suppress(OSError):
        (place / _OWNER).write_text(json.dumps(owner), encoding="utf-8")


def _owner(place: Path) -> str:
    """Describe who has the lock, as far as is known: it may just have come, or gone."""
    try:
        owner = json.loads((place / _OWNER).read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']} (`{owner['command']}`, since {owner['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
