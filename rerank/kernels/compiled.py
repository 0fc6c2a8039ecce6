"""The decorator of kernels: numba compiles them, caches the compiled code on disk, and loads it without its compiler.

numba caches beside the module or in the home directory, and raises RuntimeError if neither is writable, as in many
containers. Then the code is cached in a directory for temporary files, or compiled again by each process.

By default, numba prepares its compiler before it loads cached code: it imports scipy and its implementations of
Python's and numpy's functions, which takes twice as long as importing numba. The code needs only symbols that are
registered with the runtime. numba does not promise this: untested versions load as by default.
"""

import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import __version__, njit
from numba import config as numba_config
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, register
from numba.core.runtime.nrt import rtsys

TESTED = ("0.68",)
"""Versions of numba for which the tests load cached kernels without the compiler; in others a symbol may be missing."""


class _CachedCode(FunctionCache):
    """numba's cache of one function; a function that is not in the cache is compiled as by default."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code for a signature, or return None."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def is_tested() -> bool:
    """Return whether the installed numba is one of `TESTED`."""
    return ".".join(__version__.split(".")[:2]) in TESTED


def load_without_compiler(kernel: Any) -> Any:
    """Let a kernel, the result of `njit(cache=True)`, load its cached code without the compiler; return it."""
    if is_tested() and hasattr(kernel, "_cache"):  # without a compiler (NUMBA_DISABLE_JIT), it is the function itself
        cache = _CachedCode(kernel.py_func)  # type: ignore[no-untyped-call]
        kernel._cache = cache  # noqa: SLF001 - numba has no public way
    return kernel


_log = logging.getLogger("moverank")
_config: Any = numba_config  # its attributes are set when numba is imported
_CHOSEN_BY_NUMBA = ""


def compiled(**options: Any) -> Any:
    """Return the decorator of a kernel, which releases the GIL; `options` are options of `numba.njit`."""

    def decorate(function: Any) -> Any:
        _report_first_compilation()
        directory = code_cache_directory()
        if directory is None:
            return njit(nogil=True, **options)(function)
        with _caching_in(directory):
            return load_without_compiler(njit(cache=True, nogil=True, **options)(function))

    return decorate


class _FirstCompilation(Listener):
    """Logs a warning before the first compilation in the process; kernels cached on disk are only loaded."""

    def __init__(self) -> None:
        self._seen = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Log a warning, once in a process."""
        if not self._seen:
            self._seen = True
            _log.warning(_compiling(code_cache_directory()))

    def on_end(self, event: Event) -> None:
        """Do nothing."""


@cache
def _report_first_compilation() -> None:
    """Let numba call the only listener of the process."""
    register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]


def _compiling(directory: str | None) -> str:
    """Return the warning: how long compilation takes, and the `directory` of the cache if it is not the usual one."""
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
    return "compiling for this machine: this takes some seconds, once for each part that is used"


@cache
def code_cache_directory() -> str | None:
    """Return the directory of the compiled code: empty for numba's own choice, None if no directory is writable."""
    if not _lacks_home() and _can_cache_in(_CHOSEN_BY_NUMBA):
        return _CHOSEN_BY_NUMBA
    temporary = _own_temporary_directory()
    return temporary if temporary and _can_cache_in(temporary) else None


def _lacks_home() -> bool:
    """Return whether numba would create a directory named `~`, because there is no home directory."""
    home, own = os.path.expanduser("~"), os.path.dirname(__file__)  # noqa: PTH111, PTH120 - no pathlib in `rerank`
    return not os.path.isabs(home) and not os.access(own, os.W_OK)  # noqa: PTH117 - as above


def _can_cache_in(directory: str) -> bool:
    """Return whether numba can cache in `directory`: decorating a function tries it."""
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

    None if there is no writable directory for temporary files, or another user owns the directory of this name, or the
    system does not say by a number who owns it, as Windows.
    """
    if not hasattr(os, "geteuid"):
        return None
    try:
        directory = os.path.join(tempfile.gettempdir(), f".moverank-{os.geteuid()}")  # noqa: PTH118 - as above
        os.makedirs(directory, mode=stat.S_IRWXU, exist_ok=True)  # noqa: PTH103 - as above
        found = os.lstat(directory)
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return directory if is_own and not stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO) else None


MINIMA = {"nnan", "nsz"}
"""Fast-math flags of minima, with which the compiler vectorises loops: no NaN, and the sign of zero does not matter."""

SUMS = {"nnan", "nsz", "reassoc", "contract"}
"""Fast-math flags of sums: in addition, terms may be reordered and fused."""
