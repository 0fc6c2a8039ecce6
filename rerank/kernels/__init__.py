"""Inner loops compiled by numba, over a range of rows each: `rerank.runtime.threads` spreads them over the processors.

The only package that imports numba: its import is_single_threaded takes half a second. What is compiled is kept on disk. Decorators
leave the functions without types: `rerank.distance.ground_cost` and `rerank.distance.bounds` are the typed doors to them.

A document is a row of bags in compressed form (`starts`, `words`, `weights`); `cost` (v, h) float32 holds distances
that are never above the exact ones, from every word of the vocabulary to every word of the query, whose weights are
`query_weights` (h,); `place` (v,) is a word's column in it, -1 where the query does not have the word.
"""

from collections.abc import Callable

from numba.core.event import Event, Listener, register


class _Compiling(Listener):
    """Hears of the first kernel that has to be compiled: those that are on disk are only loaded."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Tell it once."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Event) -> None:
        """Say nothing more."""


def when_compiling(tell: Callable[[], None]) -> None:
    """Call `tell` when a kernel is compiled that is not on disk yet: it takes some seconds, once."""
    register("numba:compile", _Compiling(tell))  # type: ignore[no-untyped-call]
