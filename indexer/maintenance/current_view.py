"""The view that a collection searches: opened on first use, reopened after damage or an external change."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moverank.indexer.errors import CollectionError, ConnectionLost, DamagedFile, VectorsError
from moverank.indexer.options import SearchOptions
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader, Store, database_errors, repeated

if TYPE_CHECKING:  # imported by the first search: a collection that is only changed or listed has no view
    from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer
    from moverank.indexer.search.searcher import Searcher
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.embedding import Embedding

_Answer = TypeVar("_Answer")
_ATTEMPTS = 5  # after this many damaged states in a row, another process must be changing the files


class CurrentView:
    """Runs searches on one consistent state of a collection; repairs a damaged snapshot, and repeats the search.

    `store` and `directory` are the collection's; `state` returns its settings and word vectors in the state of a
    reader.
    """

    def __init__(self, store: Store, directory: Path, state: "Callable[[Reader], tuple[Settings, Embedding]]") -> None:
        self._store, self._directory, self._state = store, directory, state
        self._searcher: Searcher | None = None
        self._reading = ExitStack()

    @cached_property
    def _repairer(self) -> "SnapshotRepairer":
        from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer

        return SnapshotRepairer(self._store, self._directory)

    def close(self) -> None:
        """Close the view; the next search opens the state current at that time."""
        self._searcher = None
        self._reading.close()

    def run(self, search: "Callable[[Searcher], _Answer]") -> _Answer:
        """Return the result of a search, after repairs if necessary."""
        for attempt in range(_ATTEMPTS):
            try:
                with database_errors():
                    answer = search(self._opened())
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
        return search(self._opened())

    def run_many(
        self, search: "Callable[[Searcher], Iterator[Ranking]]", options: SearchOptions
    ) -> "Iterator[Ranking]":
        """Return the results of many searches; the files that searches with these options read are checked first."""
        self.run(lambda searcher: searcher.check(options))
        return _with_database_errors(search(self._opened()))

    def _opened(self) -> "Searcher":
        """Return the searcher of the current view, which is opened if necessary."""
        from moverank.indexer.search.searcher import Searcher
        from moverank.rerank.runtime.threads import single_threaded_blas

        for attempt in range(_ATTEMPTS):
            if self._searcher is None:
                reader = self._reading.enter_context(self._store.reading())
                try:
                    settings, embedding = self._state(reader)
                except VectorsError:
                    self.close()
                    if attempt == _ATTEMPTS - 1:  # else another process may have just replaced them
                        raise
                    continue
                view = self._repairer.open(reader, settings, embedding)
                if view is None:
                    self.close()
                    continue
                self._searcher = Searcher(reader, view, settings, embedding)
                # Until the view is closed: restored BLAS threads would busy-wait on cores that the next search needs.
                self._reading.enter_context(single_threaded_blas())
            return self._searcher
        raise CollectionError(f"{self._directory} is being changed all the time by other processes: try again")


def _with_database_errors(rankings: "Iterator[Ranking]") -> "Iterator[Ranking]":
    with database_errors():
        yield from rankings
