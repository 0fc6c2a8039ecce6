"""One shard: a collection that one process holds for searches and changes by others."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, DamagedFile, NoCollection, UnknownKey
from moverank.indexer.files.location import collection_directory, display_name
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.plugins.shards.messages import ShardState
from moverank.indexer.plugins.shards.shard_contents import ShardContents
from moverank.indexer.search.percentiles import Population, SampledValues
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Outcome, QueryWords
from moverank.indexer.search.searcher import Request, Searcher
from moverank.indexer.search.shared_statistics import (
    SharedStatistics,
    TableKey,
    TermTable,
    counted_terms,
    with_statistics,
)
from moverank.indexer.search.sum_terms import QueryStatistics
from moverank.indexer.state.follower import Follower
from moverank.indexer.state.open_state import OpenState, Outdated
from moverank.indexer.store import Store
from moverank.indexer.values.search_options import SearchOptions
from moverank.rerank.distance.ground_cost import NearWord, nearest_words
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking
from moverank.rerank.words.embedding import Embedding

_Floats = NDArray[np.float64]

_VERSIONS = 4  # that are open: searches that began before a change end on the old state
_FORGOTTEN = 3600.0  # seconds after which a search is forgotten


class StaleState(CollectionError):  # noqa: N818 - named after what it is
    """The shard does not have the version that a search names, as after a restart of its process."""


class _Version:
    """A state of the shard, searched by the statistics of all shards."""

    def __init__(self, opened: OpenState, statistics: SharedStatistics, shard: str) -> None:
        self.opened = opened
        view = with_statistics(opened.view, statistics, shard)
        own = opened.reader, opened.settings, opened.embedding
        self.searcher = Searcher(*own, lambda: view, fields=statistics.fields)


class ShardSearch:
    """The part of a search in one shard, which answers with the same `version` from its beginning to its end.

    It has the phases of `Search`, and may be stopped in each of them, also in the first.
    """

    def __init__(self, version: _Version, options: SearchOptions) -> None:
        self.version, self.began = version, time.monotonic()
        self._stopped = False
        self._options = replace(options, stop=lambda: self._stopped)
        self._search: Search
        self._knows_words = False
        self._bounds: _Floats | None = None

    def statistics(self, request: Request) -> QueryStatistics:
        """Return the statistics of a query; NoKnownWords if none of its words is known here."""
        self._search = self.version.searcher.begun(request, self._options)
        self._knows_words = True
        own = self._search.statistics()
        if self._search.is_unscaled:  # bounded before a shard that hangs can use up the time
            self._bounds = self._search.bounds(own, shared=True)
        return own

    def bounds(self, statistics: QueryStatistics) -> _Floats:
        """Return upper bounds of the values of the best documents, by the `statistics` of all shards."""
        return self._search.bounds(statistics, shared=True) if self._bounds is None else self._bounds

    def answer(self, limit: float) -> Outcome:
        """Return the best documents with values of at most `limit`, which all shards share."""
        return self._search.answer(limit)

    def sampled(self, limit: float, size: int) -> SampledValues:
        """Return the values up to a limit of a sample of the shard's documents, of at most a size."""
        if self._knows_words:
            return self._search.sampled(limit, size)
        return SampledValues.unranked(Population.of(self.version.searcher.view, None, size))

    def ranking(self, outcome: Outcome) -> Ranking:
        """Return the ranking of some documents of the answer, with their stored data."""
        return self.version.searcher.ranking(self._search, outcome, self._options)

    def explain(self, key: str, explain: Callable[..., Any], statistics: QueryStatistics) -> Any:
        """Return the result of `explain` for a document in this search; None if it is in another shard.

        `statistics` are of all shards.
        """
        try:
            document = self.version.searcher.stored(self._search.query, key, self._options)
        except UnknownKey:
            return None
        return explain(self._search, document, statistics=statistics)

    def stop(self) -> None:
        """Let the search end with what it has found so far, as if its budget were used up."""
        self._stopped = True


class Shard(ShardContents):
    """The collection at `place`, which need not exist yet. Calls may come from several threads at a time."""

    def __init__(self, place: str) -> None:
        super().__init__(collection_directory(place))
        self._store: Store | None = None
        self._states: Follower[OpenState] | None = None
        self._embedding: Embedding | None = None
        self._versions: dict[str, _Version] = {}
        self._searches: dict[str, ShardSearch] = {}
        self._lock, self._reading = Lock(), Lock()

    def state(self) -> ShardState:
        """Return the committed state, which need not be the open one; CollectionError if there is no collection."""
        with self._reading, self._current_store().reading() as reader:
            revision = reader.revision()
            facts = reader.document_count(), reader.settings(), tuple(reader.field_names())
            return ShardState(revision, reader.token(revision) or "", *facts)

    def tables(self, state: ShardState, keys: Iterable[TableKey]) -> dict[TableKey, TermTable]:
        """Count terms in a committed state, which is opened; StaleState if there is a later one."""
        with self._current(state) as opened:
            return counted_terms(opened.view, keys)

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, NearWord]:
        """Return, for each of the `targets` with a vector, the nearest of the `sources`."""
        embedding = self._embedding
        return nearest_words(embedding, sources, targets) if embedding else {}

    def adopt(self, version: str, state: ShardState, statistics: SharedStatistics, shard: str) -> None:
        """Search a committed state by the statistics of all shards under the name `version`, if this is new.

        `shard` is the name of this shard.
        """
        if version in self._versions:
            return
        with self._current(state) as opened:
            adopted = _Version(opened, statistics, shard)
            opened.keep()  # until the version is dropped
        with self._lock:
            dropped = [self._versions.pop(name) for name in list(self._versions)[: 1 - _VERSIONS]]
            if version in self._versions:  # adopted by another thread meanwhile
                dropped.append(adopted)
            else:
                self._versions[version] = adopted
        for old in dropped:
            old.opened.drop()

    @contextmanager
    def _current(self, state: ShardState) -> Iterator[OpenState]:
        """Keep a committed state open during the block; it is opened if necessary, StaleState if there is a later one.

        Searches of earlier states go on while it is opened.
        """
        with self._reading:
            self._current_store()
            states = self._states
        opened = states.at(state.revision, state.token, state.stored) if states else None
        if opened is None:
            raise StaleState(f"{self.directory} was changed meanwhile")
        try:
            yield opened
        finally:
            opened.release()

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
            version.opened.drop()
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
            try:
                found.opened.acquire()
            except Outdated as error:
                raise StaleState(f"{self.directory} was changed meanwhile") from error
            return found

    def portable(self, version: str, key: str, options: SearchOptions) -> QueryWords:
        """Return the words of a stored document as the query of a search in all shards; see `Searcher.portable`."""
        found = self._adopted(version)
        try:
            return found.searcher.portable(key, options)
        finally:
            found.opened.release()

    def begin(self, name: str, version: str, request: Request, options: SearchOptions) -> QueryStatistics | str:
        """Begin the search called `name`, and return its statistics, or why no word of its query is known here."""
        self._end_forgotten()
        self._searches[name] = search = ShardSearch(self._adopted(version), options)
        try:
            return search.statistics(request)
        except NoKnownWords as error:
            return str(error)

    def phase(self, name: str, method: str, *arguments: Any) -> Any:
        """Return the result of a method of a search; StaleState if it is not known, as after a restart."""
        search = self._searches.get(name)
        if search is None:
            raise StaleState("the search is not known here")
        return getattr(search, method)(*arguments)

    def end(self, name: str) -> None:
        """End a search in any phase; nothing happens if it has ended."""
        search = self._searches.pop(name, None)
        if search is not None:
            search.stop()
            search.version.opened.release()

    def close(self) -> None:
        """End all searches, and close the collection."""
        for name in list(self._searches):
            self.end(name)
        self.forget()
        with self._lock:
            store, self._store = self._store, None
        if store:
            store.close()

    def _end_forgotten(self) -> None:
        """End searches that began long ago: the process which began them must have ended."""
        for name, search in list(self._searches.items()):
            if time.monotonic() - search.began > _FORGOTTEN:
                self.end(name)


def _opened_store(directory: Path) -> tuple[Store, Embedding | None]:
    try:
        store, _, embedding = open_collection(directory)
    except NoCollection as error:
        raise NoCollection(
            f"there is no shard in {display_name(directory)}: put a backup of it there, or take it out of the file of "
            "shards"
        ) from error
    return store, embedding
