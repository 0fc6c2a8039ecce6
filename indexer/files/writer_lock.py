"""The writer's lock: only one process at a time writes to a collection; a file beside the lock names that process."""

import json
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from moverank.indexer.errors import CollectionError, LockedError, NoPermission
from moverank.indexer.files.directory import LOCK, LOCK_OWNER, remove_temporary
from moverank.indexer.files.location import display_name, without_passwords
from moverank.indexer.files.systems import has_access

_log = logging.getLogger("moverank")


@contextmanager
def locked(directory: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of a collection during the block; wait at most `wait` seconds for it.

    The operating system releases the lock of a dead process. Raises LockedError, which names the owner, if the lock
    is not free in time, and CollectionError if the directory is not writable.
    """
    from filelock import FileLock, Timeout

    if not _is_writable(directory):
        raise NoPermission(f"{directory} cannot be written to: permission denied, or it is read-only")
    lock = FileLock(directory / LOCK, timeout=0)
    try:
        try:
            lock.acquire()
        except Timeout:
            if not wait:
                raise
            _log.warning("waiting for %s", _owner(directory))
            lock.acquire(timeout=-1 if wait == float("inf") else wait)
    except Timeout as error:
        raise still_locked(_owner(directory), display_name(directory), wait) from error
    except OSError as error:
        raise CollectionError(f"{directory} cannot be written to: {error.strerror}") from error
    try:
        remove_temporary(directory)
        _record_owner(directory)
        yield
    finally:
        with suppress(OSError):
            (directory / LOCK_OWNER).unlink()
        lock.release()


def still_locked(owner: str, place: object, wait: float) -> LockedError:
    """Return the error of a writer that waited `wait` seconds for the lock of a place, which `owner` still holds."""
    hint = "try again when it is done" if wait else "try again when it is done, or give --wait"
    return LockedError(f"{owner} is writing to {place}: {hint}")


def _is_writable(directory: Path) -> bool:
    """Return whether files can be created in a directory: permissions allow it, and the file system is writable."""
    return has_access(directory, os.W_OK | os.X_OK)


def _record_owner(directory: Path) -> None:
    """Write this process's id, host and command for the messages of waiting processes; a failure is ignored.

    A link of that name, as in another user's collection, is replaced and not followed.
    """
    command = without_passwords(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]))[:200]
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    with suppress(OSError):
        (directory / LOCK_OWNER).unlink(missing_ok=True)
        with (directory / LOCK_OWNER).open("x", encoding="utf-8") as file:
            json.dump(owner, file)


def _owner(directory: Path) -> str:
    """Describe the owner of the lock; "another process" if its record is missing or incomplete."""
    try:
        owner = json.loads((directory / LOCK_OWNER).read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']} (`{owner['command']}`, since {owner['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
