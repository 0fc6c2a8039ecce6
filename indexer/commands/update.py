"""One run of `index` or `threads`: opens or creates the collection, updates it, and returns notes for the user."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import perf_counter
from typing import Any

from moverank.indexer.collection import Collection
from moverank.indexer.commands.failures import committing
from moverank.indexer.commands.text_notes import language_notes
from moverank.indexer.commands.vector_notes import given_vectors_notes, notes_of_run
from moverank.indexer.errors import NoCollection, PruneRefused
from moverank.indexer.indexing.creation import TRAINED
from moverank.indexer.indexing.uncompared import check_dedupe
from moverank.indexer.opening import Opened, open_index
from moverank.indexer.reading.finding.origins import Origins
from moverank.indexer.reading.inputs.vectors_by_key import VectorsByKey
from moverank.indexer.reading.reading import Read
from moverank.indexer.values.documents import Changes, Document, Metadata, NamedSource, Rejection
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.values.settings import AUTO_INDEX, FLAT_INDEX, Settings


@dataclass(frozen=True, slots=True)
class Updated:
    """The changes of a run, its seconds, and notes for the user.

    `refused`: it changed nothing; `learned`: the word vectors are trained on the texts.
    """

    changes: Changes
    seconds: float
    notes: tuple[str, ...]
    refused: bool = False
    learned: bool = False

    @property
    def failed(self) -> bool:
        """Return whether the run did not do what was requested: it was refused, or most records were rejected."""
        changes = self.changes
        return self.refused or changes.kept + changes.unread > 0 or changes.rejected > changes.documents

    def sentences(self) -> Iterator[str]:
        """Yield the notes; the last one reports that most records were rejected, if so."""
        yield from self.notes
        changes = self.changes
        if changes.unread and changes.documents:
            sources = "1 file was" if changes.unread == 1 else f"{changes.unread:,} files were"
            yield f"{sources} not read to the end, so the exit code is 1: what was read is stored"
        if changes.documents and changes.rejected > changes.documents:
            yield (
                f"most records were rejected, {changes.rejected:,} of {changes.rejected + changes.documents:,}, so the "
                "exit code is 1: `moverank help formats` says what is read, --exclude leaves files out"
            )


@dataclass(frozen=True, slots=True)
class RunSources:
    """The paths that a run reads, and the treatment of their earlier documents: see `Origins`, `Collection.index`."""

    paths: Sequence[str]
    prefix: str | None = None
    replaces: str | None = None
    prune: bool = False
    confirmed: bool = False
    dry_run: bool = False
    dedupe: float | None = None
    metadata: Metadata = field(default_factory=dict)
    strict: bool = False
    vectors: VectorsByKey | None = None
    """Vectors of documents whose records have none."""

    def __post_init__(self) -> None:
        """Raise UsageError for an unusable `dedupe`, before anything is read or imported."""
        if self.dedupe is not None:
            check_dedupe(self.dedupe, dry_run=self.dry_run)

    def origins(self, known: Iterable[NamedSource]) -> Origins:
        """Return the origins of the files to read, in a collection with some `known` sources."""
        named: dict[str, Any] = {"prefix": self.prefix, "replaces": self.replaces, "metadata": self.metadata}
        return Origins(self.paths, known, whole=self.prune, **named)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run: the user's `choices`, and the `defaults` of a new collection; see `Collection.create`."""

    choices: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    trust_pickle: bool = False
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class RunCallbacks:
    """What is called during a run, see `Collection.index`."""

    rejected: Callable[[Rejection], None]
    progress: Progress = silent
    changed: Callable[[str, str], None] = lambda _, __: None


def update(path: Path, read: Read, sources: RunSources, settings: RunSettings, callbacks: RunCallbacks) -> Updated:
    """Update the collection, or its shards, at `path` with the records that `read` returns for `sources`.

    A missing file is reported before vectors are imported. A new collection that stays empty is removed again, so that
    the next run can choose other settings.
    """
    existing, vectors = _existing(path, settings.wait), sources.vectors
    with nullcontext() if existing is None else existing:
        origins = sources.origins(_known_sources(existing))
        records = read(origins=origins, progress=callbacks.progress)
        if vectors:
            records = vectors.attached(records)
        if sources.dry_run and existing is None:
            return _preview(records, callbacks)
        if existing is not None and settings.choices and not sources.dry_run:
            existing.change_settings(**settings.choices)
        created = _created(path, settings, callbacks.progress)
        called = {one.name: getattr(callbacks, one.name) for one in fields(callbacks)}
        how: dict[str, Any] = {"prune": sources.prune, "confirmed": sources.confirmed, "dry_run": sources.dry_run}
        how |= {"dedupe": sources.dedupe, "strict": sources.strict}
        with created if existing is None else nullcontext(existing) as collection:
            return _updated(collection, records, vectors, scope=origins.scope, **how, **called)


def _updated(
    collection: Opened,
    records: Iterable[Document | Rejection],
    vectors: VectorsByKey | None,
    **options: Any,
) -> Updated:
    """Update an open collection with the `options` of `Collection.index`."""
    notes_after = _notes_after(collection) if isinstance(collection, Collection) else lambda _, given: given
    began = perf_counter()
    try:
        with committing(collection):
            changes = collection.index(records, **options)
    except PruneRefused as error:
        return Updated(error.changes, perf_counter() - began, (str(error),), refused=True)
    seconds = perf_counter() - began
    notes = () if options["dry_run"] else notes_after(changes, vectors.notes() if vectors else ())
    return Updated(changes, seconds, tuple(notes), learned=collection.settings.embedding in TRAINED)


def _notes_after(collection: Collection) -> Callable[[Changes, Iterable[str]], Iterable[str]]:
    """Return a function of a run's changes that returns its notes, also notes on given vectors."""
    source, factory = collection.settings.embedding, _index_factory(collection)
    words = len(collection.embedding.words) if collection.has_vectors else 0
    revision = collection.revision
    with collection.reading() as reader:
        last = reader.last_document_id()

    def notes(changes: Changes, given: Iterable[str]) -> Iterator[str]:
        yield from language_notes(collection, revision, last)
        yield from notes_of_run(collection, source, words, changes)
        yield from given
        yield from given_vectors_notes(collection)
        yield from _index_note(collection, factory)

    return notes


def _existing(path: Path, wait: float) -> "Opened | None":
    """Open a collection; None if it does not exist."""
    try:
        return open_index(path, wait=wait)
    except NoCollection:
        return None


def _known_sources(collection: "Opened | None") -> list[NamedSource]:
    """Return the sources of a collection, none if it does not exist."""
    stored = [] if collection is None else collection.sources()
    return [one.source for one in stored if one.source is not None]


def _preview(records: Iterable[Document | Rejection], callbacks: RunCallbacks) -> Updated:
    """Return the changes of a run on a new collection, which is not created."""
    began, added, bad = perf_counter(), 0, 0
    for record in records:
        if isinstance(record, Document):
            added += 1
            callbacks.changed("added", record.key)
        else:
            bad += 1
            callbacks.rejected(record)
    return Updated(Changes(added=added, rejected=bad), perf_counter() - began, ())


@contextmanager
def _created(path: Path, settings: RunSettings, progress: Progress) -> Iterator[Collection]:
    """Create a collection, discarded if it stays empty; see `update`."""
    chosen = Settings(**{**settings.defaults, **settings.choices})
    how: dict[str, Any] = {"trust_pickle": settings.trust_pickle, "wait": settings.wait}
    with Collection.create(path, chosen, **how, progress=progress) as collection:
        try:
            yield collection
        finally:
            collection.discard()


def _index_note(collection: Collection, previous: str) -> Iterator[str]:
    """Report the index that was chosen by size, if it differs from the `previous` factory string."""
    index = collection.index_in_use()
    if index and collection.settings.faiss == AUTO_INDEX and index.factory != previous:
        yield index.sentence()


def _index_factory(collection: Collection) -> str:
    """Return the factory string of the index in use; without one, all vectors are compared, as in a flat index."""
    index = collection.index_in_use()
    return index.factory if index else FLAT_INDEX
