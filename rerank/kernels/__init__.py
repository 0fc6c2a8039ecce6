"""Inner loops compiled by numba, each over a range of rows, so that `rerank.runtime.threads` can run them in parallel.

The only package that imports numba, whose import takes half a second. Compiled code is cached on disk. The decorators
erase the types of the functions: the modules of `rerank.distance` are their typed interface.

Parameters of one name have one meaning. A kernel processes the rows from `first` to `last`, exclusive. A document is a
row of bags in compressed form (`starts`, `words`, `weights`), and `rows` (m,) are the documents to process. `cost`
(v, h) float32 holds distances that are never above the exact ones, from every word of the vocabulary to every word of
the query, whose weights are `query_weights` (h,); `query_index` (v,) is a word's column in it, -1 for words that the
query lacks. `left` and `right` are the masses of rows and columns of a transport problem: of the document's and of the
query's words; `u` and `v` are the potentials of rows and columns. `norms` (v,) and `query_norms` (h,) are the lengths
of word vectors.
"""

from collections.abc import Callable
from functools import cache

from numba.core.event import Event, Listener, register

from moverank.rerank.kernels.compiled import cache_directory

__all__ = ["cache_directory", "when_compiling"]


class _FirstCompilation(Listener):
    """Calls `callback` when the first kernel is compiled; kernels cached on disk are only loaded."""

    def __init__(self) -> None:
        self.callback: Callable[[], None] | None = None
        self._seen = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Call the callback, once in a process."""
        if self.callback is not None and not self._seen:
            self._seen = True
            self.callback()

    def on_end(self, event: Event) -> None:
        """Do nothing."""


@cache
def _first_compilation() -> _FirstCompilation:
    """Return the only listener of the process, registered on first use."""
    listener = _FirstCompilation()
    register("numba:compile", listener)  # type: ignore[no-untyped-call]
    return listener


def when_compiling(callback: Callable[[], None]) -> None:
    """Call `callback` when a kernel that is not cached on disk is about to be compiled, which takes seconds.

    It is called at most once in a process, however often it is passed.
    """
    _first_compilation().callback = callback
