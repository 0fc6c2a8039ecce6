"""A collection in shards that is served: the processes of the shards search, this process merges their hits."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from time import monotonic

from moverank.indexer.documents import Changes
from moverank.indexer.errors import UsageError
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.served import Served, State, WorkResult
from moverank.indexer.server.writer_process import Change
from moverank.indexer.shards.cluster import Cluster
from moverank.indexer.store import Reader
from moverank.indexer.watching.watches import NO_WATCHES
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.embedding import Embedding

_CLOSING = 1.0  # seconds for changes that run or wait when the server ends: shards that hang hold no others up


class _State:
    """The states of all shards that are searched; `revision` is the sum of their revisions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self.settings = cluster, cluster.settings
        self.revisions, self.documents = cluster.revision, len(cluster)
        self.revision = sum(self.revisions)
        self.searcher, self.contents, self.nearest_words = cluster.searcher, cluster.contents, cluster.nearest_words

    def reranker(self, _rank: str | None, _gamma: float | None) -> Reranker:
        """Raise UsageError: see `embedding`."""
        return Reranker(self.embedding)

    @property
    def embedding(self) -> Embedding:
        """Raise UsageError: the word vectors are with the shards."""
        return self._cluster.embedding


class ServedShards(Served):
    """The collection that the file at `path` describes. Raises CollectionError."""

    _poll, _share = 1.0, 0
    _failures = (Exception,)  # Ray has errors of its own; the next check may succeed

    def __init__(self, name: str, path: Path, limits: Limits) -> None:
        super().__init__(name, limits)
        self._until = inf
        self._cluster = Cluster.open(path, wait=10.0)
        try:
            self._cluster.prepare()
            self._states = _State(self._cluster)
        except BaseException:
            self._cluster.close()
            raise
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"moverank-write-{name}")
        self._refresher.start()

    @property
    def _state(self) -> _State:
        return self._states

    def answer(self, work: Callable[[State], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state."""
        return work(self._states)

    def read(self, work: Callable[[Reader], WorkResult]) -> WorkResult:  # noqa: ARG002 - as of `Served`
        """Raise UsageError: what is read has no place in all shards together."""
        raise UsageError(NO_WATCHES)

    def _submit(self, change: Change) -> "Future[Changes]":
        return self._writer.submit(self._change, change)

    def _change(self, change: Change) -> Changes:
        own = monotonic() + self._limits.work_seconds
        with stopping(lambda: monotonic() > min(own, self._until)):
            if self._until < inf:
                raise HttpProblem(
                    503, "the server ends: send the request again when it has started", {"Retry-After": "5"}
                )
            return change(self._cluster)

    def _follow(self) -> None:
        with stopping(self._closed.is_set):
            super()._follow()

    def _is_changed(self) -> bool:
        return self._cluster.changed()

    def refresh(self) -> None:
        """Search the new states, if there are any; a search after a change here may have opened them before."""
        if changed := self.is_behind():
            self._cluster.refresh()
            self._cluster.prepare()
        if changed or self._cluster.revision != self._states.revisions:
            self._states = _State(self._cluster)

    def stop(self, *, running: bool) -> None:
        """Refuse the changes that wait, and all later ones; the running change has to end soon, or at once."""
        if running:
            self._until = monotonic()
        self._until = min(self._until, monotonic() + _CLOSING)

    def close(self) -> None:
        """End the changes that wait, if shards answer, then disconnect from the shards."""
        self.stop(running=False)
        self._writer.shutdown(wait=True)
        super().close()
        self._cluster.close()
