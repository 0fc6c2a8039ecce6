"""A collection of another store, such as shards, that is served."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from moverank.indexer.errors import UsageError
from moverank.indexer.opening import other_store
from moverank.indexer.operations.operation import Found, Operation
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.served import Served, State, WorkResult
from moverank.indexer.plugins.serving.writer_process import Change
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.values.documents import Changes
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.embedding import Embedding

_NEEDED = ("changed", "searcher", "nearest_words")
"""What a served collection of another store has beside the methods of `Collection`; its `revision` is a tuple."""

_CLOSING = 1.0  # seconds for changes that run or wait when the server ends: parts that hang hold no others up


class _State:
    """The states of all parts that are searched; `revision` is the sum of their revisions."""

    def __init__(self, opened: Any) -> None:
        self._opened, self.settings = opened, opened.settings
        self.revisions, self.documents = opened.revision, len(opened)
        self.revision = sum(self.revisions)
        self.searcher, self.contents, self.nearest_words = opened.searcher, opened.contents, opened.nearest_words

    def reranker(self, _rank: str | None, _gamma: float | None) -> Reranker:
        """Raise UsageError: see `embedding`."""
        return Reranker(self.embedding)

    @property
    def embedding(self) -> Embedding:
        """Raise UsageError if the word vectors are with the parts."""
        embedding: Embedding = self._opened.embedding
        return embedding


class ServedStore(Served):
    """The collection at `place`. Raises CollectionError, and UsageError if its store serves none."""

    _poll, _share = 1.0, 0
    _failures = (Exception,)  # a store may have errors of its own; the next check may succeed

    def __init__(self, name: str, place: Path, limits: Limits) -> None:
        super().__init__(name, limits)
        self._until = inf
        kind = other_store(place)
        self._opened = kind.open(place, wait=10.0)
        try:
            _check_served(self._opened, place, kind.NAME)
            self._opened.prepare()
            self._states = _State(self._opened)
        except BaseException:
            self._opened.close()
            raise
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"moverank-write-{name}")
        self._refresher.start()

    @property
    def _state(self) -> _State:
        return self._states

    def answer(self, work: Callable[[State], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state."""
        return work(self._states)

    def read(self, operation: Operation[Found]) -> Found:
        """Return the answer to an operation, which parts without a single database may refuse."""
        return operation.run(self._opened)

    def _submit(self, change: Change) -> "Future[Changes]":
        return self._writer.submit(self._change, change)

    def _change(self, change: Change) -> Changes:
        own = monotonic() + self._limits.work_seconds
        with stopping(lambda: monotonic() > min(own, self._until)):
            if self._until < inf:
                raise HttpProblem(
                    503, "the server ends: send the request again when it has started", {"Retry-After": "5"}
                )
            return change(self._opened)

    def _follow(self) -> None:
        with stopping(self._closed.is_set):
            super()._follow()

    def _is_changed(self) -> bool:
        changed: bool = self._opened.changed()
        return changed

    def refresh(self) -> None:
        """Search the new states, if there are any; a search after a change here may have opened them before."""
        if changed := self.is_behind():
            self._opened.refresh()
            self._opened.prepare()
        if changed or self._opened.revision != self._states.revisions:
            self._states = _State(self._opened)

    def stop(self, *, running: bool) -> None:
        """Refuse the changes that wait, and all later ones; the running change has to end soon, or at once."""
        if running:
            self._until = monotonic()
        self._until = min(self._until, monotonic() + _CLOSING)

    def close(self) -> None:
        """End the changes that wait, if the parts answer, then disconnect from them."""
        self.stop(running=False)
        self._writer.shutdown(wait=True)
        super().close()
        self._opened.close()


def _check_served(opened: Any, place: Path, store: str) -> None:
    """Raise UsageError for a collection of a store that a server cannot follow."""
    lacking = [name for name in _NEEDED if not hasattr(opened, name)]
    if lacking:
        raise UsageError(f"{place} cannot be served: collections of the store {store!r} lack {lacking[0]!r}")
