"""The state of a collection that is searched: opened when it is needed, repaired, and replaced by a later one."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from moverank.indexer.errors import CollectionError, ConnectionLost, DamagedFile, VectorsError
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.state.open_state import OpenState, Outdated
from moverank.indexer.store import Store, database_errors, repeated
from moverank.indexer.values.search_options import SearchOptions

if TYPE_CHECKING:  # imported by the first search: a collection that is only changed or listed searches nothing
    from moverank.indexer.state.snapshot_repair import SnapshotRepairer
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.embedding import Embedding

_Answer = TypeVar("_Answer")
_State = TypeVar("_State", bound=OpenState)
_USELESS = (ConnectionLost, DamagedFile, Outdated, VectorsError)  # errors after which the state must be opened again
_ATTEMPTS = 5  # unusable states in a row, after which another process must be changing the files


class Follower(Generic[_State]):
    """Runs work on one committed state of the collection in `directory`, until `refresh` or `close`.

    Many threads may use it: work ends on the state on which it began. States are of the class `kind`; `opened` is
    called with each new state before any other work. `vectors` returns word vectors that are open already, for reuse.
    """

    def __init__(
        self,
        kind: type[_State],
        store: Store,
        directory: Path,
        vectors: "Callable[[], Embedding | None]",
        opened: Callable[[_State], None],
    ) -> None:
        self._kind, self._store, self._directory = kind, store, directory
        self._vectors, self._opened = vectors, opened
        self._state: _State | None = None
        self._swap, self._opening = Lock(), Lock()

    @cached_property
    def _repairer(self) -> "SnapshotRepairer":
        from moverank.indexer.state.snapshot_repair import SnapshotRepairer

        return SnapshotRepairer(self._store, self._directory)

    @property
    def state(self) -> _State | None:
        """Return the state that is searched; None if none has been opened yet."""
        return self._state

    def close(self) -> None:
        """Close the state; the next work opens the state that is current then."""
        self._replace(None)

    def is_behind(self) -> bool:
        """Return whether there is a later committed state, or the current one has become useless.

        Raises CollectionError if the database was removed: its open file stays readable.
        """
        file = self._directory / DATABASE
        if not self._store.shared and not os.access(file, os.R_OK):
            raise CollectionError(f"{file} was removed, or may not be read")
        with self._store.reading() as reader:
            revision = reader.revision()
            return not self._shows(revision, reader.token(revision) or "", reader.settings())

    def _shows(self, revision: int, token: str, stored: Mapping[str, Any]) -> bool:
        state = self._state
        return state is not None and state.usable and not state.aged and state.shows(revision, token, stored)

    def refresh(self) -> bool:
        """Open the committed state unless it is the current one; return whether the current one was replaced.

        Before there are word vectors, nothing changes.
        """
        with self._opening, database_errors(self._store.place):
            return self.is_behind() and self._open() is not None

    def _open(self) -> _State | None:
        for _ in range(_ATTEMPTS):
            state = self._kind.open(self._store, self._directory, self._vectors(), self._repairer)
            if state is None:
                return None
            state.acquire()  # so that its transaction does not end before it is used
            try:
                self._opened(state)
                self._replace(state)
            except Outdated:
                state.replaced()
                continue
            except BaseException:
                state.replaced()
                raise
            finally:
                state.release()
            return state
        raise Outdated(self._directory)

    def _replace(self, state: _State | None) -> None:
        with self._swap:
            before, self._state = self._state, state
        if before:
            before.replaced()

    @contextmanager
    def current(self) -> Iterator[_State]:
        """Keep the current state open during the block; it is opened first unless there is one.

        Raises CollectionError before there are word vectors.
        """
        state = self._acquired()
        try:
            with database_errors(self._store.place):
                yield state
        except _USELESS:
            state.usable = False
            raise
        finally:
            state.release()

    def at(self, revision: int, token: str, stored: Mapping[str, Any]) -> _State | None:
        """Return a committed state, which the caller releases; None if another state has replaced it."""
        if not self._shows(revision, token, stored):
            self.refresh()
        with self._swap:
            if self._state is None or not self._shows(revision, token, stored):
                return None
            return self._state if self._entered(self._state) else None

    def _entered(self, state: _State) -> bool:
        """Begin work on a state; return whether that is possible: others may have changed the collection."""
        try:
            state.acquire()
        except _USELESS:
            state.usable = False
        return state.usable

    def _acquired(self) -> _State:
        while True:
            with self._swap:
                if self._state is not None and self._state.usable and self._entered(self._state):
                    return self._state
            with self._opening:
                if (self._state is None or not self._state.usable) and self._open() is None:
                    raise CollectionError(
                        f"{self._directory} has no word vectors yet: index more text, or the same again if their "
                        "training was interrupted; `refit --embedding FILE` reads them"
                    )

    def repair(self, damage: DamagedFile) -> None:
        """Rebuild a damaged file; the next work opens the state again."""
        if self._state is not None:
            self._state.usable = False
        repeated(lambda: self._repairer.repair([damage]))

    def run(self, work: Callable[[_State], _Answer]) -> _Answer:
        """Return the result of `work` on the current state, after repairs or on a new connection if necessary."""
        for _ in range(_ATTEMPTS):
            try:
                with self.current() as state:
                    answer = work(state)
            except DamagedFile as damage:
                self.repair(damage)
            except _USELESS:
                continue
            except CollectionError:
                if not self._store.reopen_if_changed(self.close):
                    raise
            else:
                if not self._store.reopen_if_changed(self.close):
                    return answer
        with self.current() as state:
            return work(state)

    def run_many(self, work: "Callable[[_State], Iterator[Ranking]]", options: SearchOptions) -> "Iterator[Ranking]":
        """Return the results of many searches; the files that searches with these options read are checked first."""
        self.run(lambda state: state.searcher.check(options))
        rankings = self._held(work)
        next(rankings)
        return rankings

    def _held(self, work: "Callable[[_State], Iterator[Ranking]]") -> "Iterator[Any]":
        """Yield None once `work` has begun, then its results, all on one state."""
        with self.current() as state:
            rankings = work(state)
            yield
            yield from rankings
