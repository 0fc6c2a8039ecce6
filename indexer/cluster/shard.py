"""One shard: a collection that one process holds for searches and changes by others.

Over 250 lines: states, versions and running searches are counted together, under one lock.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.cluster.messages import Explained, ExplainRequest, Found, Message, Reply, ShardState
from moverank.indexer.cluster.session import Session
from moverank.indexer.cluster.shard_contents import ShardContents
from moverank.indexer.errors import CollectionError, NoCollection
from moverank.indexer.files.location import collection_directory, shown
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.maintenance.opened_view import OpenedView
from moverank.indexer.options import SearchOptions
from moverank.indexer.search.query import Outcome, PortableQuery, Query
from moverank.indexer.search.searcher import Request, Searcher
from moverank.indexer.search.shared_statistics import (
    SharedStatistics,
    TableKey,
    TermTable,
    counted_terms,
    with_statistics,
)
from moverank.indexer.store import Store
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit
from moverank.rerank.words.embedding import Embedding

_VERSIONS = 4  # that are kept: searches that began before a change end on the state before
_FORGOTTEN = 3600.0  # seconds


class StaleState(CollectionError):  # noqa: N818 - named after what it is
    """The shard does not have the version that a search names, as after a restart of its process."""


class _Version:
    """A state of the shard, searched by the statistics of all shards."""

    def __init__(self, opened: OpenedView, statistics: SharedStatistics) -> None:
        self.opened = opened
        with opened.database:
            view = with_statistics(opened.view, statistics)
        self.searcher = Searcher(
            opened.reader, view, opened.settings, opened.embedding, opened.database, statistics.fields
        )


class _Running:
    """A search that has begun; its outcome is kept until its hits are read."""

    def __init__(self, version: _Version, options: SearchOptions) -> None:
        self.version, self.options, self.began = version, options, time.monotonic()
        self.session: Session | None = None
        self.query: Query | None = None
        self.outcome: Outcome | None = None


class Shard(ShardContents):
    """The collection at `place`, which need not exist yet. Calls may come from several threads at a time."""

    def __init__(self, place: str) -> None:
        super().__init__(collection_directory(place))
        self._store: Store | None = None
        self._embedding: Embedding | None = None
        self._opened: OpenedView | None = None
        self._versions: dict[str, _Version] = {}
        self._running: dict[str, _Running] = {}
        self._lock, self._opening, self._reading = Lock(), Lock(), Lock()

    def state(self) -> ShardState:
        """Return the committed state, which need not be the open one; CollectionError if there is no collection."""
        with self._reading:
            return _state_of(self._current_store())

    def tables(self, state: ShardState, keys: Iterable[TableKey]) -> dict[TableKey, TermTable]:
        """Count terms in a committed state, which is opened; StaleState if there is a later one."""
        opened = self._current(state)
        try:
            with opened.database:
                return counted_terms(opened.view, keys)
        finally:
            opened.release()

    def adopt(self, version: str, state: ShardState, statistics: SharedStatistics) -> None:
        """Search a committed state by the statistics of all shards under the name `version`, unless it does."""
        if version in self._versions:
            return
        opened = self._current(state)
        try:
            adopted = _Version(opened, statistics)
        except BaseException:
            opened.release()
            raise
        with self._lock:
            dropped = [self._versions.pop(name) for name in list(self._versions)[: 1 - _VERSIONS]]
            if version in self._versions:  # adopted by another thread meanwhile
                dropped.append(adopted)
            else:
                self._versions[version] = adopted
        for old in dropped:
            old.opened.release()

    def _current(self, state: ShardState) -> OpenedView:
        """Return a committed state, which the caller releases, opened unless it is; StaleState if there is a later one.

        Searches of earlier states go on while it is opened.
        """
        with self._opening:
            if self._opened is None or not self._opened.shows(state.revision, state.token, state.stored):
                if self.state() != state:
                    raise self._stale()
                self._open()
            with self._lock:
                opened = self._opened
                if opened is None or not opened.shows(state.revision, state.token, state.stored):
                    raise self._stale()
                opened.acquire()
                return opened

    def _stale(self) -> StaleState:
        return StaleState(f"{self.directory} was changed meanwhile")

    def _open(self) -> None:
        """Open the committed state in the place of the one before."""
        with self._reading:
            store = self._current_store()
        opened = OpenedView.open(store, self.directory, self._embedding)
        if opened:
            self._embedding = opened.embedding
            opened.acquire()
        with self._lock:
            before, self._opened = self._opened, opened
        if before:
            before.replaced()
            before.release()

    def forget(self) -> None:
        """Let states be opened again, after the connection to a database was lost; searches that run end first."""
        with self._lock:
            versions, self._versions = self._versions, {}
            opened, self._opened = self._opened, None
        for version in versions.values():
            version.opened.release()
        if opened:
            opened.replaced()
            opened.release()

    def _current_store(self) -> Store:
        if self._store is None:
            self._store, self._embedding = _opened_store(self.directory)
        self._store.reopen_if_changed()
        return self._store

    def _adopted(self, version: str) -> _Version:
        """Return a version, whose state the caller releases; StaleState if it is not there."""
        with self._lock:
            found = self._versions.get(version)
            if found is None:
                raise StaleState(f"{self.directory} was opened again")
            found.opened.acquire()
            return found

    def portable(self, version: str, key: str, options: SearchOptions) -> PortableQuery:
        """Return the words of a stored document as the query of a search in all shards; see `Searcher.portable`."""
        found = self._adopted(version)
        try:
            return found.searcher.portable(key, options)
        finally:
            found.opened.release()

    def begin(
        self, version: str, name: str, request: Request, options: SearchOptions, explain: ExplainRequest | None = None
    ) -> Message:
        """Begin the search called `name`, or an explanation of one document, and return its first message."""
        self._end_forgotten()
        running = _Running(self._adopted(version), options)
        self._running[name] = running
        running.session = Session(
            lambda session: (
                _explain(running, request, session, explain) if explain else _search(running, request, session)
            )
        )
        return running.session.first()

    def proceed(self, name: str, reply: Reply) -> Message:
        """Continue a search with the reply to its last message, and return its next one."""
        return self._session(name).proceed(reply)

    def stop(self, name: str) -> None:
        """Let a search end with what it has found so far, as if its budget were used up."""
        self._session(name).stopped = True

    def hits(self, name: str, positions: Sequence[int]) -> list[Hit]:
        """Return hits of a search by their positions in what it found, and end it."""
        running = self._begun(name)
        try:
            if running.query is None or running.outcome is None:
                return []
            outcome = _chosen(running.outcome, np.array(positions, np.int64))
            return list(running.version.searcher.ranking(running.query, outcome, running.options).hits)
        finally:
            self.end(name)

    def end(self, name: str) -> None:
        """End a search, wherever it is; nothing happens if it has ended."""
        running = self._running.pop(name, None)
        if running is not None:
            if running.session:
                running.session.end()
            running.version.opened.release()

    def close(self) -> None:
        """End all searches, and close the collection."""
        for name in list(self._running):
            self.end(name)
        self.forget()
        with self._lock:
            store, self._store = self._store, None
        if store:
            store.close()

    def _end_forgotten(self) -> None:
        """End searches that nobody has continued for long: the process that began them must have ended."""
        for name, running in list(self._running.items()):
            if time.monotonic() - running.began > _FORGOTTEN:
                self.end(name)

    def _begun(self, name: str) -> _Running:
        """Return a search; StaleState if it is not known, as after a restart of the process."""
        running = self._running.get(name)
        if running is None:
            raise StaleState("the search is not known here")
        return running

    def _session(self, name: str) -> Session:
        session = self._begun(name).session
        if session is None:
            raise StaleState("the search is not known here")
        return session


def _opened_store(directory: Path) -> tuple[Store, Embedding | None]:
    try:
        store, _, embedding = open_collection(directory)
    except NoCollection as error:
        raise NoCollection(
            f"there is no shard in {shown(directory)}: put a backup of it there, or take it out of the file of shards"
        ) from error
    return store, embedding


def _explain(running: _Running, request: Request, session: Session, explain: ExplainRequest) -> Explained:
    """Explain a document together with the other shards, which know how it compares with theirs."""
    searcher = running.version.searcher
    here = searcher.has(explain.key)
    try:
        query = searcher.query(request, running.options, session)
    except NoKnownWords:
        if here:
            raise
        return Explained()
    key = explain.key if here else None
    if explain.kth is None:
        return Explained(explanation=searcher.explanation(query, key))
    return Explained(why_not=searcher.exclusion(query, key, explain.kth, hit=explain.hit))


def _search(running: _Running, request: Request, session: Session) -> Found:
    """Run a search together with those of the other shards."""
    searcher, options = running.version.searcher, replace(running.options, stop=session.over)
    try:
        running.query = searcher.query(request, options, session)
    except NoKnownWords as error:
        return Found(np.empty(0), problem=str(error))
    running.outcome = outcome = searcher.answer(running.query)
    words = running.query.words
    return Found(
        outcome.values,
        outcome.counts,
        outcome.unsolved_bounds,
        outcome.floor,
        outcome.scores is not None,
        str(running.query.ranking),
        words.unknown,
        words.ignored,
        terms=outcome.terms,
        why_empty=running.query.why_empty,
    )


def _chosen(outcome: Outcome, rows: NDArray[np.int64]) -> Outcome:
    """Return the documents at `rows` (m,) of an outcome."""
    return replace(
        outcome,
        ids=outcome.ids[rows],
        distances=outcome.distances[rows],
        scores=None if outcome.scores is None else outcome.scores[rows],
        totals=None if outcome.totals is None else outcome.totals[rows],
        parts={name: values[rows] for name, values in outcome.parts.items()},
        costs={name: values[rows] for name, values in outcome.costs.items()},
    )


def _state_of(store: Store) -> ShardState:
    with store.reading() as reader:
        revision = reader.revision()
        facts = reader.document_count(), reader.settings(), tuple(reader.field_names())
        return ShardState(revision, reader.token(revision) or "", *facts)
