"""The view that a collection searches: opened on first use, reopened after damage or an external change."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moverank.indexer.errors import CollectionError, ConnectionLost, DamagedFile, VectorsError
from moverank.indexer.options import SearchOptions
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader, Store, repeated
from moverank.indexer.store.database_errors import database_errors

if TYPE_CHECKING:  # imported by the first search: a collection that is only changed or listed has no view
    from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer
    from moverank.indexer.search.database_searcher import DatabaseSearcher
    from moverank.indexer.search.searcher import Searcher
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.embedding import Embedding

_Answer = TypeVar("_Answer")
_ATTEMPTS = 5  # after this many damaged states in a row, another process must be changing the files


class CurrentView:
    """Runs searches on one consistent state of a collection; repairs a damaged snapshot, and repeats the search.

    `store` and `directory` are the collection's; `state` returns its settings and word vectors in the state of a
    reader. A search whose candidates the database chooses needs no snapshot.
    """

    def __init__(self, store: Store, directory: Path, state: "Callable[[Reader], tuple[Settings, Embedding]]") -> None:
        self._store, self._directory, self._state = store, directory, state
        self._read: tuple[Reader, Settings, Embedding] | None = None
        self._searcher: Searcher | None = None
        self._in_database: DatabaseSearcher | None = None
        self._reading = ExitStack()

    @cached_property
    def _repairer(self) -> "SnapshotRepairer":
        from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer

        return SnapshotRepairer(self._store, self._directory)

    def close(self) -> None:
        """Close the view; the next search opens the state current at that time."""
        self._read = self._searcher = self._in_database = None
        self._reading.close()

    def run(self, search: "Callable[[Searcher], _Answer]") -> _Answer:
        """Return the result of a search, after repairs if necessary."""
        return self._repeated(lambda: search(self._opened()))

    def run_search(self, search: "Callable[[Searcher | DatabaseSearcher], _Answer]", options: SearchOptions) -> _Answer:
        """Return the result of a search with these options, for which the database may choose the candidates."""
        return self._repeated(lambda: search(self._suitable(options)))

    def run_many(
        self, search: "Callable[[Searcher], Iterator[Ranking]]", options: SearchOptions
    ) -> "Iterator[Ranking]":
        """Return the results of many searches; the files that searches with these options read are checked first."""
        self.run(lambda searcher: searcher.check(options))
        return self._with_database_errors(search(self._opened()))

    def run_searches(
        self, search: "Callable[[Searcher | DatabaseSearcher], Iterator[Ranking]]", options: SearchOptions
    ) -> "Iterator[Ranking]":
        """Return the results of many searches, as `run_many`, for which the database may choose the candidates."""
        self.run_search(lambda searcher: searcher.check(options), options)
        return self._with_database_errors(search(self._suitable(options)))

    def _with_database_errors(self, rankings: "Iterator[Ranking]") -> "Iterator[Ranking]":
        with database_errors(self._store.place):
            yield from rankings

    def _repeated(self, search: Callable[[], _Answer]) -> _Answer:
        for attempt in range(_ATTEMPTS):
            try:
                with database_errors(self._store.place):
                    answer = search()
            except DamagedFile as damage:
                self.close()
                repeated(lambda damage=damage: self._repairer.repair([damage]))  # type: ignore[misc]  # mypy infers no type
                continue
            except ConnectionLost:
                if attempt == _ATTEMPTS - 1:
                    raise
            except CollectionError:
                if not self._store.reopen_if_changed():
                    raise
            else:
                if not self._store.reopen_if_changed():
                    return answer
            self.close()
        return search()

    def _suitable(self, options: SearchOptions) -> "Searcher | DatabaseSearcher":
        """Return the searcher for these options: without files if the database chooses the candidates."""
        found = self._opened_in_database() if self._store.shared and options.depth is not None else None
        return found if found and found.suits(options) else self._opened()

    def _opened_in_database(self) -> "DatabaseSearcher | None":
        """Return the searcher of candidates that the database chooses; None if its first stage is in files."""
        from moverank.indexer.search.database_searcher import DatabaseSearcher
        from moverank.indexer.snapshot.database_stage import open_stage

        if self._in_database is None:
            for attempt in range(_ATTEMPTS):
                reader, settings, embedding = self._current_state()
                try:
                    stage = open_stage(reader, self._directory, settings, embedding)
                except VectorsError:
                    self.close()
                    if attempt == _ATTEMPTS - 1:  # else another process may have just replaced them
                        raise
                    continue
                if stage is None:
                    break
                self._in_database = DatabaseSearcher(reader, stage, settings, embedding)
                self._hold_threads()
                break
        return self._in_database

    def _opened(self) -> "Searcher":
        """Return the searcher of the current view, which is opened if necessary."""
        from moverank.indexer.search.searcher import Searcher

        for _ in range(_ATTEMPTS):
            if self._searcher is None:
                reader, settings, embedding = self._current_state()
                view = self._repairer.open(reader, settings, embedding)
                if view is None:
                    self.close()
                    continue
                self._searcher = Searcher(reader, view, settings, embedding)
                self._hold_threads()
            return self._searcher
        raise CollectionError(f"{self._directory} is being changed all the time by other processes: try again")

    def _current_state(self) -> "tuple[Reader, Settings, Embedding]":
        """Return a reader of one state with its settings and word vectors, the same until the view is closed."""
        for attempt in range(_ATTEMPTS):
            if self._read is not None:
                break
            reader = self._reading.enter_context(self._store.reading())
            try:
                self._read = (reader, *self._state(reader))
            except VectorsError:
                self.close()
                if attempt == _ATTEMPTS - 1:  # else another process may have just replaced them
                    raise
        if self._read is None:
            raise CollectionError(f"{self._directory} is being changed all the time by other processes: try again")
        return self._read

    def _hold_threads(self) -> None:
        """Keep BLAS to one thread until the view is closed: restored threads would busy-wait on cores."""
        from moverank.rerank.runtime.threads import single_threaded_blas

        self._reading.enter_context(single_threaded_blas())
