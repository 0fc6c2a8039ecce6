"""Loading of cached kernels without numba's compiler.

Before numba loads cached code it prepares its compiler, which takes twice as long as importing numba: all of its
implementations of Python's and numpy's functions, and scipy. The code needs none of them, only symbols that are
registered with the runtime. numba does not promise this: other versions than those tested load as they do by default.
"""

from typing import Any

from numba import __version__
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

TESTED = ("0.68",)
"""Versions of numba with which the tests load all kernels in this way; in another one a missing symbol may be fatal."""


class _CachedCode(FunctionCache):
    """numba's cache of one function. A function that is not in it is compiled as by default."""

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
