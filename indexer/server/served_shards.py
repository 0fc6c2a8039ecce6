"""A collection in shards that is served: the processes of the shards search, this process merges their hits."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from moverank.indexer.documents import Changes
from moverank.indexer.errors import UsageError
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.served import State, WorkResult
from moverank.indexer.server.served_collection import DatabaseCheck, WaitingWrites
from moverank.indexer.server.writer_process import Change
from moverank.indexer.shards.cluster import Cluster
from moverank.indexer.store import Reader
from moverank.indexer.watching.watches import NO_WATCHES
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.embedding import Embedding

_POLL = 1.0  # seconds between checks for changes by other processes
_CLOSING = 1.0  # seconds for changes that run or wait when the server ends: shards that hang hold no others up

_log = logging.getLogger("moverank")


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


class ServedShards:
    """The collection that the file at `path` describes, called `name` by clients. Raises CollectionError."""

    def __init__(self, name: str, path: Path, limits: Limits) -> None:
        self.name, self._writes, self._seconds = name, WaitingWrites(limits.writes), limits.work_seconds
        self._cluster = Cluster.open(path, wait=10.0)
        try:
            self._cluster.prepare()
            self._state = _State(self._cluster)
        except BaseException:
            self._cluster.close()
            raise
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"moverank-write-{name}")
        self._changed, self._closed, self._until = Event(), Event(), inf
        self._check, self._problem = DatabaseCheck(), ""
        self._refresher = Thread(target=self._follow, name=f"moverank-refresh-{name}", daemon=True)
        self._refresher.start()

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        return self._writes.count

    @property
    def problem(self) -> str:
        """Return why the shards cannot be read now, or an empty string; the last states are still searched."""
        return self._check.problem or self._problem

    @property
    def revision(self) -> int:
        """Return the sum of the revisions of the shards."""
        return self._state.revision

    def answer(self, work: Callable[[State], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state."""
        return work(self._state)

    @property
    def facts(self) -> _State:
        """Return what is known of the current state."""
        return self._state

    def read(self, work: Callable[[Reader], WorkResult]) -> WorkResult:  # noqa: ARG002 - as of `Served`
        """Raise UsageError: what is read has no place in all shards together."""
        raise UsageError(NO_WATCHES)

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after the waiting changes; HttpProblem 503 if too many wait."""
        running = self._writes.add(lambda: self._writer.submit(self._change, change))
        running.add_done_callback(lambda _: self._changed.set())
        return running

    def _change(self, change: Change) -> Changes:
        own = monotonic() + self._seconds
        with stopping(lambda: monotonic() > min(own, self._until)):
            if self._until < inf:
                raise HttpProblem(
                    503, "the server ends: send the request again when it has started", {"Retry-After": "5"}
                )
            return change(self._cluster)

    def _follow(self) -> None:
        """Search the new states of shards after each change, here or by another process."""
        with stopping(self._closed.is_set):
            self._follow_changes()

    def _follow_changes(self) -> None:
        while not self._closed.is_set():
            self._changed.wait(_POLL)
            self._changed.clear()
            try:
                if not self._closed.is_set():
                    self._follow_shards()
                    self._problem = ""
            except Exception as error:  # noqa: BLE001 - Ray has errors of its own; the next check may succeed
                _log.warning("%s: the last state is still served: %s", self.name, error)
                self._problem = str(error)

    def _follow_shards(self) -> None:
        """Search the new states, if there are any; a search after a change here may have opened them before."""
        with self._check:
            changed = self._cluster.changed()
        if changed:
            self._cluster.refresh()
            self._cluster.prepare()
        if changed or self._cluster.revision != self._state.revisions:
            self._state = _State(self._cluster)

    def stop(self, *, running: bool) -> None:
        """Refuse the changes that wait, and all later ones; the running change has to end soon, or at once."""
        if running:
            self._until = monotonic()
        self._until = min(self._until, monotonic() + _CLOSING)

    def close(self) -> None:
        """End the changes that wait, if shards answer, then disconnect from the shards."""
        self.stop(running=False)
        self._writer.shutdown(wait=True)
        self._closed.set()
        self._changed.set()
        self._refresher.join()
        self._cluster.close()
