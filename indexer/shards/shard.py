"""One shard: a collection that one process holds for searches and changes by others.

Rankings that depend on all documents by more than statistics of words are refused.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, DamagedFile, NoCollection, UsageError
from moverank.indexer.files.location import collection_directory, display_name
from moverank.indexer.given_vectors import GIVEN
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.options import SearchOptions
from moverank.indexer.ranking_spec import VECTOR, RankingSpec
from moverank.indexer.search.explanations import check_bounded, explain_document, why_not_below
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Outcome, PortableQuery
from moverank.indexer.search.searcher import Request, Searcher
from moverank.indexer.search.shared_statistics import (
    SharedStatistics,
    TableKey,
    TermTable,
    counted_terms,
    with_statistics,
)
from moverank.indexer.search.sum_terms import QueryStatistics
from moverank.indexer.settings import Settings
from moverank.indexer.shards.messages import ExplainRequest, Found, ShardState
from moverank.indexer.shards.shard_contents import ShardContents
from moverank.indexer.state.follower import Follower
from moverank.indexer.state.open_state import OpenState
from moverank.indexer.store import Store
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.distance.ground_cost import NearWord, nearest_words
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit
from moverank.rerank.words.embedding import Embedding

_Floats = NDArray[np.float64]

_VERSIONS = 4  # that are open: searches that began before a change end on the old state
_FORGOTTEN = 3600.0  # seconds after which a search is forgotten


class StaleState(CollectionError):  # noqa: N818 - named after what it is
    """The shard does not have the version that a search names, as after a restart of its process."""


class _Version:
    """A state of the shard, searched by the statistics of all shards."""

    def __init__(self, opened: OpenState, statistics: SharedStatistics) -> None:
        self.opened = opened
        view = with_statistics(opened.view, statistics)
        own = opened.reader, opened.settings, opened.embedding
        self.searcher = Searcher(*own, lambda: view, fields=statistics.fields)


class _Running:
    """A search that has begun; its outcome is kept until its hits are read."""

    def __init__(self, version: _Version, options: SearchOptions) -> None:
        self.version, self.began, self.stopped = version, time.monotonic(), False
        self.options = replace(options, stop=lambda: self.stopped)
        self.search: Search | None = None
        self.bounds: _Floats | None = None
        self.problem = ""
        self.outcome: Outcome | None = None


class Shard(ShardContents):
    """The collection at `place`, which need not exist yet. Calls may come from several threads at a time."""

    def __init__(self, place: str) -> None:
        super().__init__(collection_directory(place))
        self._store: Store | None = None
        self._states: Follower[OpenState] | None = None
        self._embedding: Embedding | None = None
        self._versions: dict[str, _Version] = {}
        self._running: dict[str, _Running] = {}
        self._lock, self._reading = Lock(), Lock()

    def state(self) -> ShardState:
        """Return the committed state, which need not be the open one; CollectionError if there is no collection."""
        with self._reading:
            return _state_of(self._current_store())

    def tables(self, state: ShardState, keys: Iterable[TableKey]) -> dict[TableKey, TermTable]:
        """Count terms in a committed state, which is opened; StaleState if there is a later one."""
        opened = self._current(state)
        try:
            return counted_terms(opened.view, keys)
        finally:
            opened.release()

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, NearWord]:
        """Return, for each of the `targets` with a vector, the nearest of the `sources`."""
        embedding = self._embedding
        return nearest_words(embedding, sources, targets) if embedding else {}

    def adopt(self, version: str, state: ShardState, statistics: SharedStatistics) -> None:
        """Search a committed state by the statistics of all shards under the name `version`, if this is new."""
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

    def _current(self, state: ShardState) -> OpenState:
        """Return a committed state, opened if necessary, which the caller releases; StaleState if there is a later one.

        Searches of earlier states go on while it is opened.
        """
        with self._reading:
            self._current_store()
            states = self._states
        opened = states.at(state.revision, state.token, state.stored) if states else None
        if opened is None:
            raise StaleState(f"{self.directory} was changed meanwhile")
        return opened

    def _take(self, opened: OpenState) -> None:
        """Open the searcher of a new state, whose word vectors are not opened again for the next one."""
        opened.view  # noqa: B018
        self._embedding = opened.embedding

    def repaired(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Return the result of a method; if it finds a damaged file, that is rebuilt, and StaleState is raised."""
        try:
            return getattr(self, method)(*arguments, **named)
        except DamagedFile as damage:
            if self._states is None:
                raise
            self._states.repair(damage)
            self.forget()
            raise StaleState(f"{self.directory} was repaired") from damage

    def forget(self) -> None:
        """Let states be opened again, after the connection to a database was lost; running searches end first."""
        with self._lock:
            versions, self._versions = self._versions, {}
        for version in versions.values():
            version.opened.release()
        if self._states:
            self._states.close()

    def _current_store(self) -> Store:
        if self._store is None or self._states is None:
            self._store, self._embedding = _opened_store(self.directory)
            self._states = Follower(OpenState, self._store, self.directory, lambda: self._embedding, self._take)
        self._store.reopen_if_changed(self._states.close)
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

    def begin(self, version: str, name: str, request: Request, options: SearchOptions) -> QueryStatistics | None:
        """Begin the search called `name`, and return its statistics; None if the query has no word that is known here.

        See `Search` for the phases.
        """
        self._end_forgotten()
        running = _Running(self._adopted(version), options)
        self._running[name] = running
        try:
            running.search = running.version.searcher.begun(request, running.options, sharded=True)
        except NoKnownWords as error:
            running.problem = str(error)
            return None
        own = running.search.statistics()
        if running.search.is_unscaled:  # bounded before a shard that hangs can use up the time
            running.bounds = running.search.bounds(own, shared=True)
        return own

    def bounds(self, name: str, statistics: QueryStatistics) -> _Floats:
        """Return upper bounds of the values of a search's best documents; `statistics` are those of all shards."""
        running = self._begun(name)
        if running.bounds is None:
            running.bounds = running.search.bounds(statistics, shared=True) if running.search else np.empty(0)
        return running.bounds

    def answer(self, name: str, limit: float) -> Found:
        """Return the best documents of a search with values of at most `limit`, which all shards share."""
        running = self._begun(name)
        if running.search is None:
            return Found(np.empty(0), problem=running.problem)
        running.outcome = outcome = running.search.answer(limit)
        query = running.search.query
        return Found(
            outcome.values,
            outcome.counts,
            outcome.unsolved_bounds,
            outcome.floor,
            outcome.scores is not None,
            str(query.ranking),
            query.words.unknown,
            query.words.ignored,
            terms=outcome.terms,
            why_empty=query.why_empty,
        )

    def explain(self, name: str, statistics: QueryStatistics, request: ExplainRequest) -> Explanation | WhyNot | None:
        """Explain a document for a search, or why it is no hit; None if it is in another shard.

        `statistics` are those of all shards.
        """
        running = self._begun(name)
        searcher, search = running.version.searcher, running.search
        if not searcher.has(request.key):
            return None
        if search is None:
            raise NoKnownWords(running.problem)
        if request.kth is not None:
            check_bounded(search.query.ranking)
        document = searcher.stored(search.query, request.key)
        if request.kth is None:
            return explain_document(search, document, statistics)
        return why_not_below(search, document, request.kth, statistics, hit=request.hit)

    def stop(self, name: str) -> None:
        """Let a search end with what it has found so far, as if its budget were used up."""
        self._begun(name).stopped = True

    def hits(self, name: str, positions: Sequence[int]) -> list[Hit]:
        """Return hits of a search by their positions in its answer."""
        running = self._begun(name)
        if running.search is None or running.outcome is None:
            return []
        outcome = _chosen(running.outcome, np.array(positions, np.int64))
        return list(running.version.searcher.ranking(running.search, outcome, running.options).hits)

    def end(self, name: str) -> None:
        """End a search in any phase; nothing happens if it has ended."""
        running = self._running.pop(name, None)
        if running is not None:
            running.stopped = True
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
        """End searches that began long ago: the process which began them must have ended."""
        for name, running in list(self._running.items()):
            if time.monotonic() - running.began > _FORGOTTEN:
                self.end(name)

    def _begun(self, name: str) -> _Running:
        """Return a search; StaleState if it is not known, as after a restart of the process."""
        running = self._running.get(name)
        if running is None:
            raise StaleState("the search is not known here")
        return running


def _opened_store(directory: Path) -> tuple[Store, Embedding | None]:
    try:
        store, _, embedding = open_collection(directory)
    except NoCollection as error:
        raise NoCollection(
            f"there is no shard in {display_name(directory)}: put a backup of it there, or take it out of the file of "
            "shards"
        ) from error
    return store, embedding


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


_INSTEAD = "rank by distances, cosine, word counts (bm25, tfidf, ...) or fields, or put all documents in one collection"


def checked_ranking(ranking: RankingSpec, settings: Settings) -> RankingSpec:
    """Return a ranking; UsageError for one that depends on all documents by more than statistics of words.

    Encoders are fitted to the documents of one collection, mutual proximity compares with a sample of them, and some
    scorers compare the words of all.
    """
    for term in ranking.terms:
        if term.is_fitted or (term.name == VECTOR and settings.encoder != GIVEN):
            raise UsageError(f"shards cannot rank by {term}: {_INSTEAD}")
    return ranking
