"""Calls shards, fixes the states of all shards that a search compares, and repeats searches that lost a shard."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Concatenate, ParamSpec, TypeVar

from moverank.indexer.collection import Collection
from moverank.indexer.errors import CollectionError, ConnectionLost, PartLost, UnknownKey
from moverank.indexer.files.checksums import checksum
from moverank.indexer.indexing.collection_vectors import FINGERPRINT
from moverank.indexer.plugins.shards.actors import RayShards
from moverank.indexer.plugins.shards.cluster_file import shard_of
from moverank.indexer.plugins.shards.messages import Call, Failure, Lost, ShardState
from moverank.indexer.plugins.shards.shard import StaleState
from moverank.indexer.search.shared_statistics import SharedStatistics, TableKey, TermTable
from moverank.indexer.values.arguments import text
from moverank.indexer.values.settings import Settings
from moverank.rerank.errors import OutOfTime
from moverank.rerank.runtime.deadline import PatientLock, check_time, time_is_over

_log = logging.getLogger("moverank")

_PATIENCE = 120.0  # seconds for which a search is repeated if processes end again and again
_RESTART = 20.0  # seconds to wait for a lost shard
_ROUNDS = 5
_STARTED = 120.0  # seconds after which a started process must answer
_MOST_TABLES = 16  # in the cache: a ranking needs two or three
_SLICE = 0.1  # seconds between checks of whether the work has to end

_Answer = TypeVar("_Answer")
_P = ParamSpec("_P")


class ShardLost(PartLost):
    """The process of a shard has ended: it is started again."""


@dataclass(frozen=True, slots=True)
class Version:
    """States of shards that are searched together, with common `statistics`; `tables` are the keys of these.

    `missing` are the shards that cannot be reached.
    """

    id: str
    states: Mapping[str, ShardState]
    tables: frozenset[TableKey]
    statistics: Any
    missing: tuple[str, ...]


class Coordinator:
    """Calls `shards`; may be used by several threads at a time. `reload` reads which shards there are.

    `wait`: seconds that changes of a shard wait for another writer.
    """

    def __init__(self, shards: RayShards, reload: Callable[[], None], wait: float) -> None:
        self.shards, self.wait, self._lock, self._reload = shards, wait, PatientLock(), reload
        self._version: Version | None = None
        self._checked = False  # whether the version has the current states
        self._settings: Settings | None = None  # of the current states, or of the version
        self._counted: dict[tuple[str, str], dict[TableKey, TermTable]] = {}
        self._heard = frozenset[str]()  # shards that have answered, so that their processes have started

    def call(self, shard: str, method: str, *arguments: Any, **named: Any) -> Any:
        """Return the result of one call of a shard; raises its error, and ShardLost if it cannot be reached."""
        return self.call_all({shard: Call(method, arguments, named)})[shard]

    def call_each(self, method: str, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Return the results of the same call of all shards; see `call_all`."""
        return self.call_all(dict.fromkeys(self.shards.names, Call(method, arguments, named)))

    def with_collection(
        self, shard: str, work: Callable[Concatenate[Collection, _P], _Answer], *arguments: _P.args, **named: _P.kwargs
    ) -> _Answer:
        """Return what `work` returns for the collection of a shard; see `ShardContents.with_collection`."""
        answer: _Answer = self.call(shard, "with_collection", work, self.wait, *arguments, **named)
        return answer

    def with_each(
        self, work: Callable[Concatenate[Collection, _P], _Answer], *arguments: _P.args, **named: _P.kwargs
    ) -> dict[str, _Answer]:
        """Return what `work` returns for the collection of each shard."""
        return self.call_each("with_collection", work, self.wait, *arguments, **named)

    def of_owner(self, key: str, names: Iterable[str], call: Callable[[str], _Answer]) -> _Answer:
        """Return what `call` returns for the shard, among `names`, that has a document; UnknownKey if none has it."""
        owner = shard_of(text("a key", key), self.shards.names)
        for name in sorted(names, key=lambda one: one != owner):  # while it is moved, another one has it
            with suppress(UnknownKey):
                return call(name)
        raise UnknownKey(f"the collection has no document with the key {key!r}")

    def call_all(self, calls: Mapping[str, Call]) -> dict[str, Any]:
        """Return the results of calls of several shards; raises the error of the first that fails."""
        answers, lost = divided(self.shards.ask(calls))
        check_found(lost)
        return answers

    def tell(self, names: Iterable[str], method: str, *arguments: Any) -> None:
        """Call a method of several shards, whether they can be reached or not."""
        self.shards.ask(dict.fromkeys(names, Call(method, arguments)), _RESTART)

    def settings(self) -> Settings:
        """Return the settings, which all shards have, as of the last refresh."""
        known = self._settings
        if known is None:
            self._settings = known = next(iter(self.states().values())).settings
        return known

    def is_current(self) -> bool:
        """Return whether the version that is searched has the current states."""
        version = self._version
        return version is not None and dict(version.states) == self.states()

    def refresh(self) -> None:
        """Let the next search see the current states of all shards."""
        with self._lock:
            self._checked, self._settings = False, None

    def states(self) -> dict[str, ShardState]:
        """Return the committed states of the shards that can be reached, all of one moment.

        Lost shards are waited for, and left out if they do not come back. The shards are called until nothing has
        changed between two calls, so that one of the states has a document that is being moved; at most a few times, as
        other processes may write all the time.
        """
        names, began = tuple(self.shards.names), time.monotonic()
        before, warned, rounds = None, set[str](), 0
        while True:
            patience = _RESTART if self._heard.issuperset(names) else _STARTED
            found, lost = divided(self.shards.ask(dict.fromkeys(names, Call("state")), patience))
            self._heard |= found.keys()
            for name in sorted(lost.keys() - warned):
                _log.warning("the process of the shard %s has ended, or cannot be reached: waiting for it", name)
            warned |= lost.keys()
            rounds += not lost
            waits = (
                any(time.monotonic() < min(began, since) + _RESTART for since in lost.values()) and not time_is_over()
            )
            if (found == before or rounds > _ROUNDS) and not waits:
                break
            if lost:
                time.sleep(2 * _SLICE)
            before = found
        if not found:  # waited for already: the search is not repeated
            check_time()
            raise CollectionError(_unreachable(names))
        _check_alike(found)
        return found

    def documents(self) -> int:
        """Return the number of documents of the shards that can be reached."""
        return sum(state.documents for state in self.states().values())

    def fields(self) -> frozenset[str]:
        """Return the names of the fields that documents of any shard have."""
        return _fields_of(self.states())

    def version(self, keys: set[TableKey]) -> Version:
        """Return the version that searches use, with at least the tables `keys`."""
        with self._lock:
            if self._version is None or not self._checked or not keys <= self._version.tables:
                known = self._version.tables if self._version else frozenset()
                self._version, self._checked = self._new_version(_few(known, keys)), True
            return self._version

    def _new_version(self, keys: frozenset[TableKey]) -> Version:
        """Return the version of the current states: the last version, if only processes were started again since."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            self._reload()
            states, last = self.states(), self._version
            self._settings = next(iter(states.values())).settings
            missing = tuple(name for name in self.shards.names if name not in states)
            try:
                if last and (last.states, last.missing) == (states, missing) and keys <= last.tables:
                    version = last
                else:
                    shared = self.shards.shared(self._statistics(states, keys))
                    version = Version(_id_of(states, keys), states, keys, shared, missing)
                shared = version.statistics
                self.call_all({name: Call.of("adopt", version.id, own, shared, name) for name, own in states.items()})
            except (StaleState, ShardLost):
                check_time()
                continue
            return version
        raise CollectionError("the shards are being changed all the time by other processes: try again")

    def _statistics(self, states: Mapping[str, ShardState], keys: frozenset[TableKey]) -> SharedStatistics:
        """Count the terms of all shards; counts of shards that have not changed are cached."""
        own = {name: self._counted.get((name, state.token), {}) for name, state in states.items()}
        needed = {name: keys - tables.keys() for name, tables in own.items()}
        calls = {n: Call.of("tables", states[n], missing) for n, missing in needed.items() if missing}
        for name, tables in self.call_all(calls).items():
            own[name] = own[name] | tables
        self._counted = {(n, state.token): {key: own[n][key] for key in keys} for n, state in states.items()}
        documents = sum(state.documents for state in states.values())
        tables = {key: TermTable.merged(own[name][key] for name in states) for key in keys}
        return SharedStatistics(documents, tables, _fields_of(states))

    def repeated(self, search: Callable[[Version], _Answer], keys: Callable[[], set[TableKey]]) -> _Answer:
        """Search, and search again in a new version if a shard was lost or changed, or lost its database.

        `keys` returns the tables that the search needs by the current settings, which may change meanwhile.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return search(self.version(keys()))
            except (StaleState, ShardLost, ConnectionLost) as error:
                if isinstance(error, ConnectionLost):
                    self.tell(self.shards.names, "forget")
                self.refresh()
                check_time()
                if time.monotonic() > until:
                    raise


def divided(answers: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the results, and since when other shards do not answer; raises the error of the first failed call."""
    for answer in answers.values():
        if isinstance(answer, Failure):
            raise answer.error
    lost = {name: answer.since for name, answer in answers.items() if isinstance(answer, Lost)}
    return {name: answer for name, answer in answers.items() if name not in lost}, lost


def check_found(lost: Mapping[str, float]) -> None:
    """Raise OutOfTime for shards that did not answer until the work had to end, else ShardLost for lost ones."""
    if lost and time_is_over():
        raise OutOfTime(f"the shard {', '.join(lost)} did not answer in time: its process may hang")
    if lost:
        raise ShardLost(_unreachable(lost))


def _fields_of(states: Mapping[str, ShardState]) -> frozenset[str]:
    """Return the names of the fields that documents of any shard have."""
    return frozenset(name for state in states.values() for name in state.fields)


def _few(known: frozenset[TableKey], keys: set[TableKey]) -> frozenset[TableKey]:
    """Return all keys, without the `known` ones if there are many: clients may choose any gamma."""
    every = known | keys
    return every if len(every) <= _MOST_TABLES else frozenset(keys)


def _id_of(states: Mapping[str, ShardState], keys: frozenset[TableKey]) -> str:
    """Return the same name for the same states and tables, so that several processes share a version."""
    tokens = sorted((name, state.revision, state.token) for name, state in states.items())
    settings = sorted((name, repr(sorted(state.stored.items(), key=str))) for name, state in states.items())
    return checksum(repr((tokens, settings, sorted(keys, key=repr))).encode())


def _unreachable(names: Iterable[str]) -> str:
    return f"the shard {', '.join(names)} cannot be reached"


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
            names = [field.name for field in fields(Settings)]
            different = ", ".join(each for each in names if getattr(settings, each) != getattr(state.settings, each))
            raise CollectionError(
                f"the shards {first} and {name} have different settings ({different}): if a change of settings was "
                "interrupted, run the same command again, else make them alike"
            )
