"""The documents of one shard, which other processes read, add and remove."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any

from moverank.indexer.collection import Collection
from moverank.indexer.errors import CollectionError, PruneRefused, UsageError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.indexing.creation import create_like
from moverank.indexer.indexing.removal import ids_of
from moverank.indexer.indexing.stored_form import restored_document
from moverank.indexer.plugins.shards.cluster_file import shard_of
from moverank.indexer.state.contents import Contents, Description
from moverank.indexer.store import Entry, exists
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.indexer.values.search_options import Where
from moverank.indexer.values.settings import Settings

_WAITING = 4  # batches
_PATIENCE = 600.0  # seconds without a batch, after which the sender must have died


def no_common_words(reason: str = "", choice: str = "") -> UsageError:
    """Return the error of shards that would learn different vocabularies from their texts."""
    return UsageError(
        f"shards need the words by which texts without spaces are split{reason}: install ICU (python -m pip install "
        f"'moverank[languages]'), or give --setting{choice} segmentation=characters"
    )


class ShardContents:
    """The documents of the collection in `directory`, which need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._feeds: dict[str, Feed] = {}

    def exists(self) -> bool:
        """Return whether there is a collection."""
        return exists(self.directory)

    def create(self, settings: Settings, like: str | None, *, trust_pickle: bool) -> None:
        """Create the collection like the one at `like` if that is on this machine, else by `settings`.

        Raises UsageError if it lacks a vocabulary: shards would learn different ones from their texts.
        """
        if like is not None and exists(collection_directory(like)):
            create_like(collection_directory(like), self.directory)
            return
        made = Collection.create(self.directory, settings, trust_pickle=trust_pickle)
        if not made.settings.lacks_vocabulary:
            made.close()
            return
        made.discard()
        raise no_common_words(f", and {settings.embedding} has too few", " vocabulary=FILE, or")

    def with_collection(self, work: Callable[..., Any], wait: float, *arguments: Any, **named: Any) -> Any:
        """Return what `work`, a method of `Collection` or a function below, returns for the collection.

        `wait`: seconds that changes wait for another writer.
        """
        with Collection.open(self.directory, wait=wait) as collection:
            return work(collection, *arguments, **named)

    def begin_feed(self, name: str, options: dict[str, Any], *, listed: bool, wait: float) -> None:
        """Begin to index documents; see `Feed`."""
        self._feeds[name] = Feed(self.directory, options, listed=listed, wait=wait)

    def feed(self, name: str, batch: Sequence[Document | Rejection]) -> None:
        """Index some documents."""
        self._feed(name).put(batch)

    def end_feed(self, name: str) -> "FeedResult":
        """Wait until all documents are stored, and return the result."""
        feed = self._feed(name)
        del self._feeds[name]
        return feed.finished()

    def abort_feed(self, name: str) -> None:
        """End a run early; nothing happens if it has ended."""
        feed = self._feeds.pop(name, None)
        if feed:
            feed.abort()

    def _feed(self, name: str) -> "Feed":
        feed = self._feeds.get(name)
        if feed is None:
            raise CollectionError(
                f"the process of {self.directory.name} was started again meanwhile: run the same command again"
            )
        return feed


def known(collection: Collection, keys: Sequence[str]) -> list[str]:
    """Return the `keys` that documents have."""
    with collection.reading() as reader:
        return list(reader.known(list(keys)))


def described(collection: Collection, key: str) -> Description:
    """Return a document with the facts that are stored about it; UnknownKey if there is none."""
    with collection.contents() as contents:
        return contents.describe(key)


def listed(
    collection: Collection, where: Where | None, limit: int | None, first: int, fields: Iterable[str]
) -> tuple[list[Entry], int]:
    """Return `limit` documents that pass a filter, after the `first` ones, and how many pass.

    `fields` are the names of fields in all shards.
    """
    with collection.reading() as reader:
        contents = Contents(reader, where, fields)
        return list(contents.entries(limit, first)), len(contents)


def why_empty(collection: Collection, where: Where, fields: Iterable[str]) -> str | None:
    """Return why no document passes a filter, None if any does; `fields` as for `listed`."""
    with collection.reading() as reader:
        return Contents(reader, where, fields).why_empty()


def selected(
    collection: Collection, where: Where | None, source: str | None, fields: Iterable[str]
) -> list[str] | None:
    """Return the keys of the documents that match a filter, a source or both; None if the source has no document.

    `fields` as for `listed`.
    """
    with collection.reading() as reader:
        ids = ids_of(reader, where, source, fields)
        return None if ids is None else list(reader.keys(ids).values())


def strangers(collection: Collection, own: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the keys of the documents that belong to other shards than this one, `own`, by shard."""
    keys: dict[str, list[str]] = {}
    for key in collection.keys():  # noqa: SIM118 - a collection iterates over documents
        if (owner := shard_of(key, names)) != own:
            keys.setdefault(owner, []).append(key)
    return keys


def documents_of(collection: Collection, keys: Sequence[str]) -> list[Document]:
    """Return the documents with some keys, with their origins."""
    with collection.reading() as reader:
        ids = [found.id for found in reader.known(list(keys)).values()]
        origins = reader.origins(ids)
        return [replace(restored_document(one), origin=origins.get(one.id)) for one in reader.documents(ids)]


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
    """Indexes documents that arrive in batches from another process, in a thread.

    They are indexed in the collection of `directory`, with the `options` of `Collection.index`.
    """

    def __init__(self, directory: Path, options: dict[str, Any], *, listed: bool, wait: float) -> None:
        self._batches: Queue[Sequence[Document | Rejection] | _Aborted | None] = Queue(_WAITING)
        self._result: Future[FeedResult] = Future()

        def run() -> None:
            try:
                self._result.set_result(self._indexed(directory, options, listed=listed, wait=wait))
            except Exception as error:  # noqa: BLE001 - the sender waits for an answer
                self._result.set_exception(error)

        Thread(target=run, name="moverank-shard-index", daemon=True).start()

    def _indexed(self, directory: Path, options: dict[str, Any], *, listed: bool, wait: float) -> FeedResult:
        rejected: list[Rejection] = []
        changed: list[tuple[str, str]] = []
        callbacks: dict[str, Any] = {"rejected": rejected.append}
        if listed:
            callbacks["changed"] = lambda kind, key: changed.append((kind, key))
        try:
            with Collection.open(directory, wait=wait) as collection:
                return FeedResult(collection.index(self._records(), **options, **callbacks), rejected, changed)
        except PruneRefused as error:
            return FeedResult(error.changes, rejected, changed, str(error))

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

    def put(self, item: Sequence[Document | Rejection] | _Aborted | None) -> None:
        """Add documents, or the end of them; returns at once if the run has ended: its result says how."""
        while not self._result.done():
            try:
                self._batches.put(item, timeout=0.2)
            except Full:
                continue
            return

    def finished(self) -> FeedResult:
        """Return the result, once all documents are stored; raises the error of a run that failed."""
        self.put(None)
        return self._result.result()

    def abort(self) -> None:
        """End the run; what it has committed is kept."""
        self.put(_Aborted("the run was ended"))
        self._result.exception()
