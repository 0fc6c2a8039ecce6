"""The decorator of kernels: numba compiles them, and caches the compiled code on disk where a directory is writable.

numba caches beside the module or in the home directory, and raises RuntimeError if neither is writable, as in many
containers. Then the code is cached in a directory for temporary files, or compiled again by each process.
"""

import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import config as numba_config
from numba import njit
from numba.core.event import Event, Listener, register

from moverank.rerank.kernels.cached_code import load_without_compiler

_log = logging.getLogger("moverank")
_config: Any = numba_config  # its attributes are set when numba is imported
_CHOSEN_BY_NUMBA = ""


def compiled(**options: Any) -> Any:
    """Return the decorator of a kernel, which releases the GIL; `options` are those of `numba.njit`."""

    def decorate(function: Any) -> Any:
        _report_first_compilation()
        directory = cache_directory()
        if directory is None:
            return njit(nogil=True, **options)(function)
        with _caching_in(directory):
            return load_without_compiler(njit(cache=True, nogil=True, **options)(function))

    return decorate


class _FirstCompilation(Listener):
    """Logs that kernels are compiled, when the first of the process is; those cached on disk are only loaded."""

    def __init__(self) -> None:
        self._seen = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Log a warning, once in a process."""
        if not self._seen:
            self._seen = True
            _log.warning(_compiling(cache_directory()))

    def on_end(self, event: Event) -> None:
        """Do nothing."""


@cache
def _report_first_compilation() -> None:
    """Let numba call the only listener of the process."""
    register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]


def _compiling(directory: str | None) -> str:
    """Return how long kernels are compiled, and where their code is cached, `directory`, if not at the usual place."""
    if directory is None:
        return (
            "compiling for this machine takes some seconds of every run, since neither the package, the home directory "
            "nor TMPDIR is writable: name a directory for the compiled code by NUMBA_CACHE_DIR"
        )
    if directory:
        return (
            "compiling for this machine: this takes some seconds, and again when "
            f"{directory} is emptied: neither the package nor the home directory is writable"
        )
    return "compiling for this machine: this takes some seconds, once"


@cache
def cache_directory() -> str | None:
    """Return the directory of the compiled code: empty for numba's own choice, None if no directory is writable."""
    if not _lacks_home() and _can_cache_in(_CHOSEN_BY_NUMBA):
        return _CHOSEN_BY_NUMBA
    temporary = _own_temporary_directory()
    return temporary if temporary and _can_cache_in(temporary) else None


def _lacks_home() -> bool:
    """Return whether numba would take `~` for a directory of that name, because there is no home directory."""
    home, own = os.path.expanduser("~"), os.path.dirname(__file__)  # noqa: PTH111, PTH120 - no pathlib in `rerank`
    return not os.path.isabs(home) and not os.access(own, os.W_OK)  # noqa: PTH117 - as above


def _can_cache_in(directory: str) -> bool:
    """Return whether numba can cache there: it tries that when a function is decorated."""
    with _caching_in(directory):
        try:
            njit(cache=True)(_can_cache_in)
        except RuntimeError:
            return False
    return True


@contextmanager
def _caching_in(directory: str) -> Iterator[None]:
    """Let numba cache the functions that are decorated in this context in a directory, unless it is empty."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = directory or before
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def _own_temporary_directory() -> str | None:
    """Return a directory for temporary files that no other user can write to, since cached code is executed.

    None if there is no writable directory for temporary files, or another user has made the one of this name.
    """
    try:
        directory = os.path.join(tempfile.gettempdir(), f".moverank-{os.geteuid()}")  # noqa: PTH118 - as above
        os.makedirs(directory, mode=stat.S_IRWXU, exist_ok=True)  # noqa: PTH103 - as above
        found = os.lstat(directory)
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return directory if is_own and not stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO) else None
