"""Searches all shards together: exchanges their limits, merges what they found, and repeats what a lost one missed.

Over 250 lines: calls, versions and searches share what is known of the shards.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from moverank.indexer.cluster.actors import Lost, RayShards
from moverank.indexer.cluster.merging import Merged, merged_ranking, replies_to
from moverank.indexer.cluster.messages import Call, Explained, ExplainRequest, Failure, Found, Message, ShardState
from moverank.indexer.cluster.shard import StaleState
from moverank.indexer.errors import CollectionError, ConnectionLost, UnknownKey
from moverank.indexer.files.checksums import checksum
from moverank.indexer.indexing.vectors_folder import FINGERPRINT
from moverank.indexer.options import SearchOptions
from moverank.indexer.ranked_texts import StoredKey
from moverank.indexer.search.grouping import grouped
from moverank.indexer.search.query import PortableQuery
from moverank.indexer.search.searcher import Request
from moverank.indexer.search.shared_statistics import SharedStatistics, TableKey, TermTable
from moverank.indexer.settings import Settings
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit, Ranking

_log = logging.getLogger("moverank")

_PATIENCE = 120.0  # seconds for which a search is repeated if processes end again and again
_RESTART = 20.0  # seconds that a lost shard is waited for
_ROUNDS = 5
_STARTED = 120.0  # seconds after which a process that is started must answer


_Answer = TypeVar("_Answer")

Keys = Callable[[], set[TableKey]]
"""Returns the tables that a search needs by the current settings, which may change while it is repeated."""


class ShardLost(CollectionError):  # noqa: N818 - named after what happened
    """The process of a shard has ended: it is started again."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(_unreachable(names))
        self.names = names


@dataclass(frozen=True, slots=True)
class Version:
    """States of shards that are searched together, with common `statistics`; `tables` are those that these have.

    `missing` are the shards that cannot be reached.
    """

    id: str
    states: Mapping[str, ShardState]
    tables: frozenset[TableKey]
    statistics: Any
    missing: tuple[str, ...]


class Coordinator:
    """Calls `shards`; may be used by several threads at a time. `reload` reads which shards there are."""

    def __init__(self, shards: RayShards, reload: Callable[[], None] = lambda: None) -> None:
        self._shards, self._lock, self._reload = shards, Lock(), reload
        self._version: Version | None = None
        self._checked = False  # whether it is that of the current states
        self._settings: Settings | None = None  # of the current states, or of the version
        self._counted: dict[tuple[str, str], dict[TableKey, TermTable]] = {}

    def call(self, shard: str, method: str, *arguments: Any, **named: Any) -> Any:
        """Return the result of one call of a shard; raises its error, and ShardLost if it cannot be reached."""
        return self.call_all({shard: Call(method, arguments, named)})[shard]

    def call_all(self, calls: Mapping[str, Call]) -> dict[str, Any]:
        """Return the results of calls of several shards; raises the error of the first that fails."""
        answers = self._shards.ask(calls)
        lost = tuple(name for name, answer in answers.items() if isinstance(answer, Lost))
        if lost:
            raise ShardLost(lost)
        for answer in answers.values():
            if isinstance(answer, Failure):
                raise answer.error
        return answers

    def tell(self, names: Iterable[str], method: str, *arguments: Any) -> None:
        """Call a method of several shards, whether they can be reached or not."""
        self._shards.ask(dict.fromkeys(names, Call(method, arguments)))

    def settings(self) -> Settings:
        """Return the settings, which all shards have, as of the last refresh."""
        known = self._settings
        if known is None:
            self._settings = known = next(iter(self.states().values())).settings
        return known

    def is_current(self) -> bool:
        """Return whether the version that is searched is that of the current states."""
        version = self._version
        return version is not None and dict(version.states) == self.states()

    def refresh(self) -> None:
        """Let the next search see the current states of all shards."""
        with self._lock:
            self._checked, self._settings = False, None

    def states(self) -> dict[str, ShardState]:
        """Return the committed states of the shards that can be reached, all of one moment.

        Lost shards are waited for, and left out if they do not come back. The shards are called until nothing has
        changed between two calls, so that a document that is being moved is in one of them; at most some times, as
        others may write all the time.
        """
        names, until = tuple(self._shards.names), time.monotonic() + _RESTART
        before, warned, rounds = None, set[str](), 0
        while True:
            found = self._answered(names)
            lost = set(names) - found.keys()
            for name in sorted(lost - warned):
                _log.warning("the process of the shard %s has ended, or cannot be reached: waiting for it", name)
            warned |= lost
            rounds += not lost
            if (found == before or rounds > _ROUNDS) and (not lost or time.monotonic() > until):
                break
            if lost:
                time.sleep(0.2)
            before = found
        if not found:  # waited for already: the search is not repeated
            raise CollectionError(_unreachable(names))
        _check_alike(found)
        return found

    def _answered(self, names: tuple[str, ...]) -> dict[str, ShardState]:
        """Return the states of the shards that answer; raises the error of one that fails."""
        answers = self._shards.ask(dict.fromkeys(names, Call("state")), _STARTED)
        for answer in answers.values():
            if isinstance(answer, Failure):
                raise answer.error
        return {name: answer for name, answer in answers.items() if isinstance(answer, ShardState)}

    def version(self, keys: set[TableKey]) -> Version:
        """Return the version that searches use, with at least the tables `keys`."""
        with self._lock:
            if self._version is None or not self._checked or not keys <= self._version.tables:
                known = self._version.tables if self._version else frozenset()
                self._version, self._checked = self._new_version(known | keys), True
            return self._version

    def _new_version(self, keys: frozenset[TableKey]) -> Version:
        """Return the version of the current states: the last one, if only processes were started again since."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            self._reload()
            states, last = self.states(), self._version
            self._settings = next(iter(states.values())).settings
            missing = tuple(name for name in self._shards.names if name not in states)
            try:
                if last and (last.states, last.missing) == (states, missing) and keys <= last.tables:
                    version = last
                else:
                    shared = self._shards.shared(self._statistics(states, keys))
                    version = Version(_id_of(states, keys), states, keys, shared, missing)
                self._adopt(version)
            except (StaleState, ShardLost):
                continue
            return version
        raise CollectionError("the shards are being changed all the time by other processes: try again")

    def _adopt(self, version: Version) -> None:
        """Let all shards open and search the states of a version; nothing happens in those that do already."""
        shared, states = version.statistics, version.states.items()
        self.call_all({name: Call.of("adopt", version.id, own, shared) for name, own in states})

    def _statistics(self, states: Mapping[str, ShardState], keys: frozenset[TableKey]) -> SharedStatistics:
        """Count the terms of all shards; those of shards that have not changed are known."""
        own = {name: self._counted.get((name, state.token), {}) for name, state in states.items()}
        needed = {name: keys - tables.keys() for name, tables in own.items()}
        calls = {n: Call.of("tables", states[n], missing) for n, missing in needed.items() if missing}
        for name, tables in self.call_all(calls).items():
            own[name] = own[name] | tables
        self._counted = {(name, state.token): own[name] for name, state in states.items()}
        documents = sum(state.documents for state in states.values())
        tables = {key: TermTable.merged(own[name][key] for name in states) for key in keys}
        return SharedStatistics(documents, tables, fields_of(states))

    def search(self, request: Request, options: SearchOptions, keys: Keys) -> Ranking:
        """Search all shards for a text, a record, or the words of a document; `keys` are the tables that it needs."""
        return grouped(
            lambda chosen: self._repeated(lambda version: self._search(version, request, chosen), keys),
            options,
            lambda: fields_of(self.states()),
        )

    def similar(self, key: str, owners: list[str], options: SearchOptions, keys: Keys) -> Ranking:
        """Search all shards for the document `key`, which is in one of `owners`, the likeliest first."""

        def search(version: Version, chosen: SearchOptions) -> Ranking:
            return self._search(version, self._portable(version, key, owners, chosen), chosen)

        return grouped(
            lambda chosen: self._repeated(lambda version: search(version, chosen), keys),
            options,
            lambda: fields_of(self.states()),
        )

    def _portable(self, version: Version, key: str, owners: list[str], options: SearchOptions) -> PortableQuery:
        plain = replace(options, stop=None)
        for owner in owners:
            if owner in version.states:
                with suppress(UnknownKey):
                    found: PortableQuery = self.call(owner, "portable", version.id, key, plain)
                    return found
        raise UnknownKey(f"the collection has no document with the key {key!r}")

    def _repeated(self, search: Callable[[Version], _Answer], keys: Keys) -> _Answer:
        """Search, and search again in a new version if a shard was lost or changed, or lost its database."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return search(self.version(keys()))
            except (StaleState, ShardLost, ConnectionLost) as error:
                if isinstance(error, ConnectionLost):
                    self.tell(self._shards.names, "forget")
                self.refresh()
                if time.monotonic() > until:
                    raise

    def _search(self, version: Version, request: Request, options: SearchOptions) -> Ranking:
        """Search one version; a document that is being moved is in two shards: then for so many more hits."""
        wanted = options.k
        while True:
            depth = None if options.depth is None else max(options.depth, wanted)
            ranking = self._once(version, request, replace(options, k=wanted, depth=depth))
            first = {hit.key: hit for hit in reversed(ranking.hits)}
            if len(first) >= options.k or len(ranking.hits) < wanted:
                hits = tuple(hit for hit in ranking.hits if first[hit.key] is hit)
                return replace(ranking, hits=hits[: options.k])
            wanted += options.k - len(first)

    def _once(self, version: Version, request: Request, options: SearchOptions) -> Ranking:
        began, name = time.monotonic(), uuid4().hex
        within = np.inf if options.max_distance is None else options.max_distance
        try:
            found = self._found(version, name, request, options)
            _check_words(found)
            merged = Merged.of(found, options.k)
            hits = self._hits(name, found, merged)
        except BaseException:
            self.tell(version.states, "end", name)
            raise
        seconds = time.monotonic() - began
        return merged_ranking(found, merged, hits, options.k, within, version.missing, seconds)

    def explain(
        self,
        request: Request | StoredKey,
        owners: list[str],
        options: SearchOptions,
        explain: ExplainRequest,
        keys: Keys,
        choose: Callable[[Explained], _Answer | None],
    ) -> _Answer:
        """Explain a document of one of the shards for a query; UnknownKey if none has it.

        A stored document that is the query is in one of `owners`, the likeliest first.
        `choose` takes what was requested from the message of a shard, None if it has not the document.
        """

        def explained(version: Version) -> _Answer:
            name, asked = uuid4().hex, request
            if isinstance(asked, StoredKey):
                asked = self._portable(version, asked.key, owners, options)
            call = Call.of("begin", version.id, name, asked, replace(options, stop=None), explain)
            try:
                messages = self._exchanged(version, name, call, options)
            finally:
                self.tell(version.states, "end", name)
            for message in messages.values():
                found = choose(message) if isinstance(message, Explained) else None
                if found is not None:
                    return found
            raise UnknownKey(f"the collection has no document with the key {explain.key!r}")

        return self._repeated(explained, keys)

    def _found(self, version: Version, name: str, request: Request, options: SearchOptions) -> dict[str, Found]:
        """Run one search in all shards until each has found its best."""
        call = Call.of("begin", version.id, name, request, replace(options, stop=None))
        messages = self._exchanged(version, name, call, options)
        return {shard: found for shard, found in messages.items() if isinstance(found, Found)}

    def _exchanged(self, version: Version, name: str, call: Call, options: SearchOptions) -> dict[str, Message]:
        """Begin the work called `name` in all shards by `call`, and return their last messages."""
        stop = options.stop
        calls = dict.fromkeys(version.states, call)
        messages = dict[str, Message]()
        while calls:
            messages |= self.call_all(calls)
            if stop is not None and stop():
                self.call_all(dict.fromkeys(version.states, Call.of("stop", name)))
                stop = None
            replies = replies_to(messages, options.k)
            calls = {shard: Call.of("proceed", name, reply) for shard, reply in replies.items()}
        return messages

    def _hits(self, name: str, found: Mapping[str, Found], merged: Merged) -> tuple[Hit, ...]:
        calls = {shard: Call.of("hits", name, merged.positions_in(shard)) for shard in found}
        return merged.in_order(self.call_all(calls))


def fields_of(states: Mapping[str, ShardState]) -> frozenset[str]:
    """Return the names of the fields that documents of any shard have."""
    return frozenset(name for state in states.values() for name in state.fields)


def _id_of(states: Mapping[str, ShardState], keys: frozenset[TableKey]) -> str:
    """Return the same name for the same states and tables, so that several processes share a version."""
    tokens = sorted((name, state.revision, state.token) for name, state in states.items())
    settings = sorted((name, repr(sorted(state.stored.items(), key=str))) for name, state in states.items())
    return checksum(repr((tokens, settings, sorted(keys, key=repr))).encode())


def _unreachable(names: tuple[str, ...]) -> str:
    return f"the shard {', '.join(names)} cannot be reached"


def _check_words(found: Mapping[str, Found]) -> None:
    """Raise NoKnownWords if no shard knows a word of the query."""
    problems = [own.problem for own in found.values() if own.problem is not None]
    if len(problems) == len(found):
        raise NoKnownWords(problems[0])


def _check_alike(states: Mapping[str, ShardState]) -> None:
    """Raise CollectionError for shards with other settings or word vectors than the first, or without any."""
    first, *_ = states
    vectors, settings = states[first].stored.get(FINGERPRINT), states[first].settings
    for name, state in states.items():
        if FINGERPRINT not in state.stored:
            raise CollectionError(f"the shard {name} has no word vectors: shards need those of a file, --embedding")
        if state.stored[FINGERPRINT] != vectors:
            raise CollectionError(f"the shards {first} and {name} have different word vectors")
        if state.settings != settings:
            different = _differences(settings, state.settings)
            raise CollectionError(
                f"the shards {first} and {name} have different settings ({different}): if a change of settings was "
                "interrupted, run the same command again, else make them alike"
            )


def _differences(one: Settings, other: Settings) -> str:
    """Return the names of the settings that differ."""
    names = [field.name for field in fields(Settings)]
    return ", ".join(name for name in names if getattr(one, name) != getattr(other, name))
