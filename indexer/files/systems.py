"""What Windows and macOS do otherwise than Linux with files, processes and users: each difference has one function.

Windows has neither descriptors of directories nor effective users. It neither renames nor removes a file that is open
or mapped, nor a folder that holds one. On macOS, `fsync` returns before the data are on the disk.
"""

import errno
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from subprocess import Popen

try:
    import fcntl
except ImportError:  # on Windows
    _FULL_SYNC: Any = None
else:
    _FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)

OPEN_FILES_STAY = os.name == "nt"
"""Whether a file that is open or mapped, or a folder that holds one, can be neither renamed nor removed."""

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of `ru_maxrss`, the peak of memory of a process."""

_BINARY = getattr(os, "O_BINARY", 0)  # else Windows would change ends of lines
_GONE = {errno.EPIPE, errno.EINVAL} if os.name == "nt" else {errno.EPIPE}


def has_access(path: Path, mode: int) -> bool:
    """Return whether this process may use a file or directory, by its effective user where the system has one."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def opened_to_read(path: Path) -> int:
    """Return the descriptor of an opened file, which is read byte by byte as it is."""
    return os.open(path, os.O_RDONLY | _BINARY)


def read_into(descriptor: int, buffer: memoryview) -> int:
    """Read bytes of a file into a buffer, and return how many; 0 at the end."""
    if hasattr(os, "readv"):
        return os.readv(descriptor, [buffer])
    data = os.read(descriptor, len(buffer))
    buffer[: len(data)] = data
    return len(data)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file; Windows has others, which a new file takes from its directory."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def sync(descriptor: int) -> None:
    """Write the content of an open file to the disk."""
    if _FULL_SYNC is not None:
        with suppress(OSError):  # not every file system has it
            fcntl.fcntl(descriptor, _FULL_SYNC)
            return
    os.fsync(descriptor)


def sync_path(path: Path) -> None:
    """Write a file's content, or the names in a directory, to the disk; Windows writes names itself."""
    has_directories = hasattr(os, "O_DIRECTORY")
    if not has_directories and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if has_directories else os.O_RDWR | _BINARY)  # Windows syncs what it writes
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sqlite_address(path: PurePath, mode: str) -> str:
    """Return the URI of a SQLite file by its absolute path, in a `mode` of SQLite's URIs."""
    place = path.as_posix()
    return f"file://{quote(place if place.startswith('/') else f'/{place}', safe='/:')}?mode={mode}"


def user_id() -> int | str:
    """Return what identifies the user of this process on this machine."""
    if hasattr(os, "geteuid"):
        return os.geteuid()
    return os.environ.get("USERNAME", "")


def user_caches() -> Path:
    """Return the user's directory for caches of all programs."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
    return Path(os.environ.get("XDG_CACHE_HOME") or local or Path.home() / ".cache")


def stop_session(process: "Popen[bytes]") -> None:
    """Kill a process that began a session, if it still runs, and those that it started; on Windows, it alone."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def is_reader_gone(error: OSError) -> bool:
    """Return whether writing to a pipe failed because its reader has closed it."""
    return error.errno in _GONE
