"""A collection that is served: all requests share one state, which follows its revisions; changes wait in a queue.

Each state has a reranker of texts, with its weights. The number of running and waiting changes is limited.
"""

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import cached_property
from itertools import islice
from math import inf
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

from moverank.indexer.documents import Changes
from moverank.indexer.errors import CollectionError, IndexerError
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.operations.read_state import ReadState
from moverank.indexer.options import SearchOptions
from moverank.indexer.ranking_spec import RankingSpec, resolve
from moverank.indexer.reranking.reranker import Reranker, stored_options
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.served import Facts
from moverank.indexer.server.writer_process import Change, WriterProcess, keep_up, return_freed_memory
from moverank.indexer.state.follower import Follower
from moverank.indexer.store import Reader, repeated
from moverank.rerank.distance.ground_cost import NearWord, nearest_words
from moverank.rerank.errors import NoKnownWords, RerankError


class WaitingWrites:
    """Counts the changes that run or wait, at most `limit`; `count` is their number."""

    def __init__(self, limit: int) -> None:
        self.count, self._limit, self._lock = 0, limit, Lock()

    def add(self, submit: "Callable[[], Future[Changes]]") -> "Future[Changes]":
        """Return the change that `submit` puts in the queue, counted until its end; HttpProblem 503 if many wait."""
        with self._lock:
            if self.count >= self._limit:
                raise HttpProblem(503, "too many changes wait: try again later", {"Retry-After": "2"})
            self.count += 1
        try:
            change = submit()
        except BaseException:
            self._remove()
            raise
        change.add_done_callback(self._remove)
        return change

    def _remove(self, _: "Future[Changes] | None" = None) -> None:
        with self._lock:
            self.count -= 1


class DatabaseCheck:
    """The check of a database for changes, one at a time: it runs while a block of `with` is entered."""

    def __init__(self) -> None:
        self._began = inf

    def __enter__(self) -> None:
        self._began = monotonic()

    def __exit__(self, *_: object) -> None:
        self._began = inf

    @property
    def problem(self) -> str:
        """Return a sentence if the check takes so long that the database seems not to answer, else an empty string."""
        return "the database does not answer" if monotonic() - self._began > _HANGS else ""


_HANGS = 10.0  # seconds of a check, which usually takes milliseconds
_SOME = 100  # characters of a text, enough for a query


class ServedState(ReadState):
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


_POLL = 0.5  # seconds between checks for changes by other processes
_SHARE = 10  # opening new states takes at most about 1 / `_SHARE` of the time
_FAILURES = (IndexerError, RerankError, OSError)
_UPKEEP = 256  # changed documents after which training and compaction may be necessary

_Answer = TypeVar("_Answer")

_log = logging.getLogger("moverank")


class ServedCollection:
    """The collection in `directory`, called `name` by clients.

    A state that was committed, here or by another process, replaces the one before as a whole; searches that began
    before end on theirs. Raises CollectionError if there is no usable collection.
    """

    def __init__(self, name: str, directory: Path, limits: Limits) -> None:
        self.name, self.directory = name, directory
        self._store, _, self._embedding = open_collection(directory)
        self._rankings = limits.rankings
        self._states = Follower(ServedState, self._store, directory, lambda: self._embedding, self._opened)
        self._states.refresh()
        self._changed, self._closed = Event(), Event()
        self._writer = WriterProcess(directory, limits.work_seconds, limits.cells)
        self._writes, self._write_lock = WaitingWrites(limits.writes), Lock()
        self._changes = 0  # documents since the last upkeep
        self._check, self._problem = DatabaseCheck(), ""
        self._refresher = Thread(target=self._follow, name=f"moverank-refresh-{name}", daemon=True)
        self._refresher.start()

    def _opened(self, state: ServedState) -> None:
        """Prepare a state for requests."""
        state.allow(self._rankings)
        state.warm()
        state.documents  # noqa: B018 - counted now: the connection may be lost later
        self._embedding = state.embedding

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        return self._writes.count

    @property
    def problem(self) -> str:
        """Return why the database cannot be read now, or an empty string; the last state is still searched."""
        return self._check.problem or self._problem

    @property
    def revision(self) -> int:
        """Return the revision that is searched, 0 before there is any."""
        state = self._states.state
        return state.revision if state else 0

    def answer(self, work: Callable[[ServedState], _Answer]) -> _Answer:
        """Return the result of `work` on the current state; `work` runs again after a repair, or on a new connection.

        Raises HttpProblem 503 while there are no word vectors yet, and ConnectionLost if there is no connection.
        """
        _ = self.facts
        return self._states.run(work)

    @property
    def facts(self) -> Facts:
        """Return what is known of the current state; HttpProblem 503 while there are no word vectors yet."""
        if (state := self._states.state) is None:
            raise HttpProblem(503, f"the collection {self.name!r} has no word vectors yet: add more text")
        return state

    def read(self, work: Callable[[Reader], _Answer]) -> _Answer:
        """Return the result of `work` on the last commit, which may not be searched yet."""
        with self._store.reading() as reader:
            return work(reader)

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after the waiting changes; HttpProblem 503 if too many wait."""
        running = self._writes.add(lambda: self._writer.submit(change))
        running.add_done_callback(self._written)
        return running

    def _written(self, change: "Future[Changes]") -> None:
        """Follow a change; training and compaction come after many, or if nothing can be searched yet."""
        with self._write_lock:
            if not change.exception():
                done = change.result()
                self._changes += done.added + done.updated + done.removed
            due = self._changes >= _UPKEEP or (self._changes and self._states.state is None)
            if due:
                self._changes = 0
        self._changed.set()
        if due:
            self._keep_up()

    def _keep_up(self) -> None:
        self._writer.submit(keep_up, limited=False).add_done_callback(self._kept_up)

    def _kept_up(self, upkeep: "Future[Changes]") -> None:
        if error := upkeep.exception():
            _log.warning("%s: its upkeep failed, and is tried again later: %s", self.name, error)
        self._changed.set()

    def refresh(self) -> None:
        """Open the committed state unless it is the current one, and let it replace that. Raises CollectionError."""
        if self._is_behind() and self._states.refresh():
            return_freed_memory()

    def _is_behind(self) -> bool:
        """Return whether there is a later state than the current one."""
        file = self.directory / DATABASE
        if not self._store.shared and not os.access(file, os.R_OK):  # an open file stays readable after its removal
            raise CollectionError(f"{file} was removed, or may not be read")
        with self._check:
            return self._states.is_behind()

    def _follow(self) -> None:
        """Refresh after changes, but so rarely that most of the time is left for searches."""
        said, opens = "", 0.0  # the time from which a new state may be opened
        while not self._closed.is_set():
            self._changed.wait(_POLL)
            self._changed.clear()
            began = monotonic()
            if began < opens:
                with suppress(*_FAILURES):  # the next refresh reports it
                    self._is_behind()
                continue
            try:
                repeated(self.refresh)
                self._problem = ""
                said = ""
            except _FAILURES as error:
                self._problem = str(error)
                if str(error) != said:  # not after every further attempt
                    said = str(error)
                    _log.warning(
                        "%s: the last state is still served, as the new one cannot be opened: %s", self.name, error
                    )
            taken = monotonic() - began
            opens = began + (1 + _SHARE) * taken if taken > _POLL / _SHARE else 0.0

    def stop(self, *, running: bool) -> None:
        """Refuse the changes that wait, and all later ones; `running`: end the one that runs, too."""
        self._writer.stop(running=running)

    def close(self) -> None:
        """End the change that runs, then close the collection."""
        self._writer.close()
        self._closed.set()
        self._changed.set()
        self._refresher.join()
        with closing(self._store):
            self._states.close()
