"""A collection as the endpoints see it, whether it is in one place or in shards."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from math import inf
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from moverank.indexer.errors import IndexerError
from moverank.indexer.operations.operation import Found, OperatedState, Operation
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.writer_process import Change
from moverank.indexer.store import repeated
from moverank.indexer.values.documents import Changes
from moverank.indexer.values.settings import Settings
from moverank.rerank.errors import RerankError

if TYPE_CHECKING:
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.rerank.distance.ground_cost import NearWord


class Facts(Protocol):
    """What is known of a state of a collection without its database."""

    @property
    def settings(self) -> Settings:
        """Return the settings of the collection."""
        ...

    @property
    def revision(self) -> int:
        """Return the number of the last change."""
        ...

    @property
    def documents(self) -> int:
        """Return the number of documents."""
        ...


class State(Facts, OperatedState, Protocol):
    """One state of a collection that is served."""

    def reranker(self, rank: str | None, gamma: float | None, /) -> "Reranker":
        """Return a reranker of texts with the weights of this state, by a ranking; HttpProblem where there is none."""
        ...

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> "dict[str, NearWord]":
        """Return, for each of the `targets` with a vector, the nearest of the `sources`."""
        ...


WorkResult = TypeVar("WorkResult")


_HANGS = 10.0  # seconds of a check for changes, which usually takes milliseconds

_log = logging.getLogger("moverank")


class Served(ABC):
    """A served collection, called `name` by clients; it follows changes by this and other processes.

    A state replaces the one before as a whole; searches that began before end on theirs.
    """

    _poll = 0.5
    """Seconds between checks for changes by other processes."""
    _share = 10
    """Opening new states takes at most about 1 / `_share` of the time."""
    _failures: tuple[type[Exception], ...] = (IndexerError, RerankError, OSError)
    """Errors after which the last state is still served."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name, self._limits = name, limits
        self.waiting_writes = 0
        """The number of changes that run or wait."""
        self._lock, self._changed, self._closed = Lock(), Event(), Event()
        self._check_began, self._problem = inf, ""
        self._refresher = Thread(target=self._follow, name=f"moverank-refresh-{name}", daemon=True)

    @property
    def problem(self) -> str:
        """Return why the database cannot be read now, or an empty string; the last state is still searched."""
        hangs = monotonic() - self._check_began > _HANGS
        return "the database does not answer" if hangs else self._problem

    @property
    @abstractmethod
    def _state(self) -> Facts | None:
        """Return the state that is searched; None before there is any."""

    @property
    def revision(self) -> int:
        """Return the revision that is searched, 0 before there is any."""
        return self._state.revision if self._state else 0

    @property
    def facts(self) -> Facts:
        """Return the facts of the current state, even if its database hangs; HttpProblem 503 if there is no state."""
        if (state := self._state) is None:
            raise HttpProblem(503, f"the collection {self.name!r} has no word vectors yet: add more text")
        return state

    @abstractmethod
    def answer(self, work: Callable[[State], WorkResult]) -> WorkResult:
        """Return the result of `work` on the current state; HttpProblem 503 while there is none."""

    @abstractmethod
    def read(self, operation: Operation[Found]) -> Found:
        """Return the answer to an operation on the last commit, which may not be searched yet; see `OF_STATE`."""

    @abstractmethod
    def _is_changed(self) -> bool:
        """Return whether there is a later state than the one that is searched."""

    def is_behind(self) -> bool:
        """Return whether there is a later state; `problem` says so if the check takes long."""
        self._check_began = monotonic()
        try:
            return self._is_changed()
        finally:
            self._check_began = inf

    @abstractmethod
    def refresh(self) -> None:
        """Open the committed state unless it is the current one, and let it replace that. Raises CollectionError."""

    def _follow(self) -> None:
        """Refresh after changes, but so rarely that most of the time is left for searches."""
        said, opens = "", 0.0  # the time from which a new state may be opened
        while True:
            self._changed.wait(self._poll)
            self._changed.clear()
            if self._closed.is_set():
                return
            began = monotonic()
            if began < opens:
                with suppress(*self._failures):  # the next refresh reports it
                    self.is_behind()
                continue
            try:
                repeated(self.refresh)
                self._problem = said = ""
            except self._failures as error:
                self._problem = str(error)
                if str(error) != said:  # not after every further attempt
                    said = str(error)
                    _log.warning(
                        "%s: the last state is still served, as the new one cannot be opened: %s", self.name, error
                    )
            taken = monotonic() - began
            opens = began + (1 + self._share) * taken if taken * self._share > self._poll else 0.0

    @abstractmethod
    def _submit(self, change: Change) -> "Future[Changes]":
        """Run `change` after the waiting changes."""

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after the waiting changes; HttpProblem 503 if too many wait."""
        with self._lock:
            if self.waiting_writes >= self._limits.writes:
                raise HttpProblem(503, "too many changes wait: try again later", {"Retry-After": "2"})
            self.waiting_writes += 1
        try:
            running = self._submit(change)
        except BaseException:
            self._end_write()
            raise
        running.add_done_callback(self._end_write)
        running.add_done_callback(self._written)
        return running

    def _end_write(self, _: "Future[Changes] | None" = None) -> None:
        with self._lock:
            self.waiting_writes -= 1

    def _written(self, _: "Future[Changes]") -> None:
        self._changed.set()

    @abstractmethod
    def stop(self, *, running: bool) -> None:
        """Refuse waiting and later changes; `running`: also end the running one."""

    def close(self) -> None:
        """End the change that runs, then close the collection."""
        self._closed.set()
        self._changed.set()
        self._refresher.join()
