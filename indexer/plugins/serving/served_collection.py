"""A collection in one place that is served: all requests share one state, with a reranker of texts by its weights."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.operations.operation import Found, Operation
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.served import Served, WorkResult
from moverank.indexer.plugins.serving.writer_process import Change, WriterProcess, keep_up, return_freed_memory
from moverank.indexer.reranking.reranker import Reranker, stored_options
from moverank.indexer.state.follower import Follower
from moverank.indexer.state.open_state import OpenState
from moverank.indexer.values.documents import Changes
from moverank.indexer.values.ranking_spec import RankingSpec, resolve
from moverank.indexer.values.search_options import SearchOptions
from moverank.rerank.distance.ground_cost import NearWord, nearest_words
from moverank.rerank.errors import NoKnownWords

_SOME = 100  # characters of a text, enough for a query


class ServedState(OpenState):
    """One state of a collection that is served."""

    _check_ranking: Callable[[RankingSpec], None]

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, NearWord]:
        """Return, for each of the `targets` with a vector, the nearest of the `sources`."""
        return nearest_words(self.embedding, sources, targets)

    def warm(self) -> None:
        """Load the data of searches by the collection's ranking."""
        for text in self._some_text():
            try:
                self.searcher.answer(text, SearchOptions(k=1))
            except NoKnownWords:
                continue
            return

    def _some_text(self) -> list[str]:
        some = self.reader.texts(list(islice(self.reader.ids(), 3)))
        return [text[:_SOME] for texts in some.values() for text in texts]

    def allow(self, rankings: Sequence[str]) -> None:
        """Refuse rankings that must be fitted to all documents first, except `rankings` and the collection's own."""
        own = self.settings.ranking
        allowed = own.fits.union(*(resolve(ranking, None, own).fits for ranking in rankings))

        def check(ranking: RankingSpec) -> None:
            if not ranking.fits <= allowed:
                gamma = f" with gamma {ranking.gamma:g}" if ranking.gamma != own.gamma else ""
                raise HttpProblem(
                    422,
                    f"the ranking {str(ranking)!r}{gamma} would have to be fitted to all documents first: it must be "
                    "allowed by --allow-rank where `moverank serve` is started; choose the collection's own ranking, "
                    "or distances, cosine and counts of words",
                )

        self._check_ranking = check
        self.searcher.allow(check)

    def reranker(self, rank: str | None, gamma: float | None) -> Reranker:
        """Return a reranker of texts with the weights of this state; HttpProblem 422 for a forbidden ranking."""
        self._check_ranking(resolve(rank, gamma, self.settings.ranking))
        return self._reranker

    @cached_property
    def _reranker(self) -> Reranker:
        frequencies = self.searcher.document_frequencies(self.settings.ranking.rules)
        return Reranker(self.embedding, **stored_options(self.settings), frequencies=frequencies)


_UPKEEP = 256  # changed documents after which training and compaction may be necessary

_log = logging.getLogger("moverank")


class ServedCollection(Served):
    """The collection in `directory`. Raises CollectionError if there is no usable one."""

    def __init__(self, name: str, directory: Path, limits: Limits) -> None:
        super().__init__(name, limits)
        self.directory = directory
        self._store, _, self._embedding = open_collection(directory)
        self._states = Follower(ServedState, self._store, directory, lambda: self._embedding, self._opened)
        self._states.refresh()
        self._writer = WriterProcess(directory, limits.work_seconds, limits.cells)
        self._changes = 0  # documents since the last upkeep
        self._refresher.start()

    def _opened(self, state: ServedState) -> None:
        """Prepare a state for requests."""
        state.allow(self._limits.rankings)
        state.warm()
        state.documents  # noqa: B018 - counted now: the connection may be lost later
        self._embedding = state.embedding

    @property
    def _state(self) -> ServedState | None:
        return self._states.state

    def answer(self, work: Callable[[ServedState], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state; `work` runs again after a repair, or on a new connection.

        Raises HttpProblem 503 while there are no word vectors yet, and ConnectionLost if there is no connection.
        """
        _ = self.facts
        return self._states.run(work)

    def read(self, operation: Operation[Found]) -> Found:
        """Return the answer to an operation on the last commit, which may not be searched yet."""
        database: Any = self._store
        return operation.run(database)

    def _submit(self, change: Change) -> "Future[Changes]":
        return self._writer.submit(change)

    def _written(self, change: "Future[Changes]") -> None:
        """Follow a change; training and compaction come after many, or if nothing can be searched yet."""
        with self._lock:
            if not change.exception():
                done = change.result()
                self._changes += done.added + done.updated + done.removed
            due = self._changes >= _UPKEEP or (self._changes and self._state is None)
            if due:
                self._changes = 0
        self._changed.set()
        if due:
            self._writer.submit(keep_up, limited=False).add_done_callback(self._kept_up)

    def _kept_up(self, upkeep: "Future[Changes]") -> None:
        if error := upkeep.exception():
            _log.warning("%s: its upkeep failed, and is tried again later: %s", self.name, error)
        self._changed.set()

    def refresh(self) -> None:
        """Open the committed state unless it is the current one, and let it replace that. Raises CollectionError."""
        if self.is_behind() and self._states.refresh():
            return_freed_memory()

    def _is_changed(self) -> bool:
        return self._states.is_behind()

    def stop(self, *, running: bool) -> None:
        """Refuse waiting and later changes; `running`: also end the running one."""
        self._writer.stop(running=running)

    def close(self) -> None:
        """End the change that runs, then close the collection."""
        self._writer.close()
        super().close()
        with closing(self._store):
            self._states.close()
