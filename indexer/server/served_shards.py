"""A collection in shards that is served: the processes of the shards search, this one merges what they find."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.contents.description import Description
from moverank.indexer.documents import Changes, Document
from moverank.indexer.errors import UnknownKey
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress
from moverank.indexer.ranked_texts import QueryText, StoredKey
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.search.pairs import Pairs
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.served import Answer, State
from moverank.indexer.server.waiting_writes import WaitingWrites
from moverank.indexer.server.writer_process import Change
from moverank.indexer.settings import Settings
from moverank.indexer.store import Entry
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Ranking

_POLL = 1.0  # seconds between two looks for changes by other processes

_log = logging.getLogger("moverank")


class _Searcher:
    """The searches of a cluster as the endpoints call them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def search(self, text: QueryText, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text or a record."""
        return self._cluster.search(text, options)

    def similar(self, key: str, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a stored one."""
        return self._cluster.similar(key, options)

    def explain(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from a document, and its flows."""
        return self._cluster.explain(**_query(text), key=key, gamma=options.gamma, rank=options.rank)

    def why_not(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search excludes a document."""
        return self._cluster.why_not(**_query(text), key=key, options=options)

    def rerank(self, *_: Any) -> Ranking:
        """Raise Problem 422: candidates are ranked by one collection."""
        raise Problem(422, "a collection in shards cannot rank stored candidates: search it")

    def pairs(self, within: float, k: int | None, options: SearchOptions, progress: Progress) -> Pairs:
        """Find the nearest pairs of documents."""
        return self._cluster.pairs(
            within, k, rank=options.rank, gamma=options.gamma, where=options.where, progress=progress
        )


def _query(text: QueryText | StoredKey) -> dict[str, Any]:
    return {"similar": text.key} if isinstance(text, StoredKey) else {"query": text}


class _Contents:
    """The documents of all shards that pass a filter, shard by shard."""

    def __init__(self, cluster: Cluster, where: Where | None) -> None:
        self._cluster, self._where = cluster, where

    @property
    def total(self) -> int:
        """Return the number of all documents."""
        return len(self._cluster)

    def __len__(self) -> int:
        """Return the number of documents that pass the filter."""
        return self._cluster.count(self._where)

    def entries(self, limit: int | None = None, first: int = 0) -> Iterator[Entry]:
        """Iterate over `limit` documents after the `first` ones, without their texts."""
        return self._cluster.entries(self._where, limit, first)

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
        return self._cluster.describe(key)

    def get(self, key: str) -> Document | None:
        """Return the document with a key, None if there is none."""
        try:
            return self._cluster.describe(key).document
        except UnknownKey:
            return None


class _State:
    """The states of all shards that are searched; `revision` is the sum of theirs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.settings: Settings = cluster.settings
        self.revisions, self.documents = cluster.revision, len(cluster)
        self.revision = sum(self.revisions)
        self.searcher = _Searcher(cluster)

    @property
    def reranker(self) -> Reranker:
        """Raise Problem 422: the word vectors are with the shards."""
        raise Problem(422, "a collection in shards cannot rerank texts: serve one of the shards, or `Reranker`")

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[_Contents]:
        """Open the documents that pass a filter."""
        yield _Contents(self._cluster, where)


class ServedShards:
    """The collection that the file at `path` describes, called `name` by clients. Raises CollectionError."""

    def __init__(self, name: str, path: Path, limits: Limits) -> None:
        self.name, self._writes = name, WaitingWrites(limits.writes)
        self._cluster = Cluster.open(path, wait=10.0)
        try:
            self._cluster.prepare()
            self._state = _State(self._cluster)
        except BaseException:
            self._cluster.close()
            raise
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"moverank-write-{name}")
        self._changed, self._closed = Event(), Event()
        self._refresher = Thread(target=self._follow, name=f"moverank-refresh-{name}", daemon=True)
        self._refresher.start()

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        return self._writes.count

    @property
    def revision(self) -> int:
        """Return the sum of the revisions of the shards."""
        return self._state.revision

    def answer(self, work: Callable[[State], Answer]) -> Answer:
        """Return what `work` makes of the current state."""
        return work(self._state)

    @contextmanager
    def current(self) -> Iterator[_State]:
        """Return the current state."""
        yield self._state

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after those that wait already; Problem 503 if too many do."""
        running = self._writes.add(lambda: self._writer.submit(change, self._cluster))
        running.add_done_callback(lambda _: self._changed.set())
        return running

    def _follow(self) -> None:
        """Search the new states of shards after each change, here or by another process."""
        while not self._closed.is_set():
            self._changed.wait(_POLL)
            self._changed.clear()
            try:
                if not self._closed.is_set():
                    self._look()
            except Exception as error:  # noqa: BLE001 - Ray has errors of its own; the next look may succeed
                _log.warning("%s: the last state is still served: %s", self.name, error)

    def _look(self) -> None:
        """Search the new states, if there are any; a search after a change here may have opened them before."""
        changed = self._cluster.changed()
        if changed:
            self._cluster.refresh()
            self._cluster.prepare()
        if changed or self._cluster.revision != self._state.revisions:
            self._state = _State(self._cluster)

    def close(self) -> None:
        """End the changes that wait, then disconnect from the shards."""
        self._writer.shutdown(wait=True)
        self._closed.set()
        self._changed.set()
        self._refresher.join()
        self._cluster.close()
