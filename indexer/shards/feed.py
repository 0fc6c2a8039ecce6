"""Changes of one shard by documents that arrive in batches from another process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any

from moverank.indexer.collection import Collection
from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import CollectionError, PruneRefused
from moverank.indexer.shards.messages import Failure, failure_of

Batch = Sequence[Document | Rejection]

_WAITING = 4  # batches
_PATIENCE = 600.0  # seconds without a batch, after which the sender must have died


@dataclass(frozen=True, slots=True)
class FeedResult:
    """The changes of a shard, the records that it rejected, and if `listed`, each change with its key."""

    changes: Changes
    rejected: list[Rejection] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)
    refusal: str | None = None


class _Aborted(CollectionError):  # noqa: N818 - named after what happened
    """The run ended early, so the rest of the documents does not come."""


class Feed:
    """Indexes documents from `put` in the collection of `directory`, in a thread; `options` are those of `index`."""

    def __init__(self, directory: Path, options: dict[str, Any], *, listed: bool, wait: float) -> None:
        self._batches: Queue[Batch | _Aborted | None] = Queue(_WAITING)
        self._result: FeedResult | Failure | None = None
        arguments = (directory, options, listed, wait)
        self._thread = Thread(target=self._run, args=arguments, name="moverank-shard-index", daemon=True)
        self._thread.start()

    def _run(self, directory: Path, options: dict[str, Any], listed: bool, wait: float) -> None:
        rejected: list[Rejection] = []
        changed: list[tuple[str, str]] = []
        callbacks: dict[str, Any] = {"rejected": rejected.append}
        if listed:
            callbacks["changed"] = lambda kind, key: changed.append((kind, key))
        try:
            with Collection.open(directory, wait=wait) as collection:
                changes = collection.index(self._records(), **options, **callbacks)
            self._result = FeedResult(changes, rejected, changed)
        except PruneRefused as error:
            self._result = FeedResult(error.changes, rejected, changed, str(error))
        except Exception as error:  # noqa: BLE001 - the other side waits for an answer
            self._result = failure_of(error)

    def _records(self) -> Iterator[Document | Rejection]:
        while True:
            try:
                batch = self._batches.get(timeout=_PATIENCE)
            except Empty:
                raise _Aborted(f"no document came for {_PATIENCE:.0f} s: the run was ended") from None
            if isinstance(batch, _Aborted):
                raise batch
            if batch is None:
                return
            yield from batch

    def put(self, item: Batch | _Aborted | None) -> None:
        """Add documents, or the end of them; returns at once if the run has failed: its result says so."""
        while self._thread.is_alive():
            try:
                self._batches.put(item, timeout=0.2)
            except Full:
                continue
            return

    def finished(self) -> FeedResult | Failure:
        """Return the result, once all documents are stored."""
        self.put(None)
        self._thread.join()
        return self._result or Failure(CollectionError("a shard ended without a result"))

    def abort(self) -> None:
        """End the run; what it has committed is kept."""
        self.put(_Aborted("the run was ended"))
        self._thread.join()
