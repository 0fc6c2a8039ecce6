"""Mends what can be mended: whatever follows from the texts, and word vectors whose source is still there."""

import shutil
from pathlib import Path

from moverank.indexer.errors import CollectionError, VectorsError
from moverank.indexer.files.directory import DATABASE, VECTORS, locked
from moverank.indexer.indexing.creation import FINGERPRINT
from moverank.indexer.indexing.train_vectors import TRAINED, assign_rows, train
from moverank.indexer.indexing.word_counts import WordCounter
from moverank.indexer.maintenance.check import check
from moverank.indexer.maintenance.report import Report
from moverank.indexer.progress import Progress, silent
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot import snapshot_files
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.vectors import import_vectors, open_vectors
from moverank.rerank.words.tokenizer import Tokenizer

_TRIAL = f".{VECTORS}.repair"


def repair(place: Path, *, wait: float = 0.0, progress: Progress = silent) -> Report:
    """Mend a collection, and return what is still wrong with it.

    A document whose text was damaged is written again by the next run over its source. Raises LockedError where
    another process writes for longer than `wait` seconds, CollectionError where there is no collection.
    """
    found = check(place)
    if not found.told():
        return found
    with locked(place, wait=wait):
        found = check(place)
        try:
            store = Store(sqlite_url(place / DATABASE))
        except CollectionError:
            return found
        try:
            _mend(store, place, found, progress)
        except (CollectionError, VectorsError) as error:
            left = check(place)
            left.sentences.append(f"this was not mended: {error}")
            return left
        finally:
            store.close()
        return check(place)


def _mend(store: Store, place: Path, found: Report, progress: Progress) -> None:
    with store.reading() as reader:
        stored = reader.settings()
    settings = Settings.restored(stored)
    if found.vectors:
        _mend_vectors(store, place, settings, stored[FINGERPRINT], progress)
        found = check(place)
    if found.texts:
        _count_again(store, place, settings, found.texts)
        found = check(place)
    with store.auditing(write=True) as auditor:
        auditor.set_frequencies(found.frequencies)
        auditor.set_word_rows(found.rows)
        if found.wordless:
            auditor.set_wordless(found.wordless, auditor.next_revision())
        auditor.forget_digests(sorted(set(found.documents)))
        stored = auditor.settings()
    for path in place.glob("snapshot-*"):
        snapshot_files.remove(path)
    if FINGERPRINT in stored:
        compact_if_due(store, place, Settings.restored(stored), open_vectors(place / VECTORS), progress)


def _count_again(store: Store, place: Path, settings: Settings, texts: dict[int, str]) -> None:
    """Count the words of parts again, by the parts' ids."""
    with store.auditing(write=True) as auditor:
        embedding = open_vectors(place / VECTORS) if FINGERPRINT in auditor.settings() else None
        counter = WordCounter(Tokenizer(frozenset(settings.stop_words)), embedding)
        counted = counter.count(auditor, list(texts.values()))
        auditor.set_counts([{"id": id_, **counts._asdict()} for id_, counts in zip(texts, counted, strict=True)])


def _mend_vectors(store: Store, place: Path, settings: Settings, fingerprint: str, progress: Progress) -> None:
    """Import the vectors again, if their source still holds the same ones, or train them on the texts."""
    normalize = bool(settings.normalize)
    if settings.embedding in TRAINED:
        tokenizer = Tokenizer(frozenset(settings.stop_words))
        shutil.rmtree(place / VECTORS, ignore_errors=True)
        _, trained = train(
            store,
            place / VECTORS,
            settings.embedding,
            settings.train_options,
            tokenizer,
            normalize=normalize,
            progress=progress,
        )
        with store.writing() as writer:
            assign_rows(writer, trained)
            writer.set_settings({FINGERPRINT: trained.fingerprint})
        return
    trial = place / _TRIAL
    try:
        found = import_vectors(settings.embedding, trial, normalize=normalize, progress=progress)
        if found.fingerprint != fingerprint:
            raise VectorsError(
                f"{settings.embedding} holds other word vectors than the collection was made with: put {VECTORS}/ back "
                "from a backup, or index the texts again in a new place"
            )
        shutil.rmtree(place / VECTORS, ignore_errors=True)
        trial.rename(place / VECTORS)
    finally:
        shutil.rmtree(trial, ignore_errors=True)
