"""Repairs data derived from the texts, and word vectors whose source still exists."""

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, ConnectionLost, VectorsError
from moverank.indexer.files.atomic_write import atomic_directory
from moverank.indexer.files.directory import remove_cached
from moverank.indexer.indexing.collection_vectors import (
    FINGERPRINT,
    current_settings,
    current_vectors,
    fetch_vectors,
    vectors_folder,
)
from moverank.indexer.indexing.creation import TRAINED, imported_vectors
from moverank.indexer.indexing.vectors_change import train_again
from moverank.indexer.indexing.word_counts import WordCounter
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.report import Report
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.snapshot.snapshot_layout import PREFIX
from moverank.indexer.snapshot.snapshot_writer import remove_snapshot
from moverank.indexer.store import Store, locked_for_writing, open_store
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.values.settings import Settings


def repair(directory: Path, *, wait: float = 0.0, progress: Progress = silent) -> Report:
    """Repair the collection in `directory`, and report the remaining faults.

    A document whose text is damaged is written again by the next run over its source. `progress` is called while files
    are rebuilt. Raises LockedError if another process writes for longer than `wait` seconds, CollectionError if there
    is no collection.
    """
    report = check_collection(directory)
    if not report.sentences():
        return report
    try:
        store = open_store(directory)
    except ConnectionLost:
        raise
    except CollectionError:
        return report
    with closing(store), locked_for_writing(store, directory, wait):
        report = check_collection(directory)
        try:
            _repair(store, directory, report, progress)
        except ConnectionLost:
            raise
        except (CollectionError, VectorsError) as error:
            left = check_collection(directory)
            left.general.append(f"not repaired: {error}")
            return left
        return check_collection(directory)


def _repair(store: Store, directory: Path, report: Report, progress: Progress) -> None:
    with store.reading() as reader:
        stored = reader.settings()
    settings = Settings.restored(stored)
    if report.vectors:
        _repair_vectors(store, directory, settings, stored, progress)
        report = check_collection(directory)
    if report.texts:
        _count_again(store, directory, settings, report.texts)
        report = check_collection(directory)
    with store.auditing(write=True) as auditor:
        auditor.set_frequencies(report.frequencies)
        auditor.set_word_rows(report.rows)
        if report.wordless:
            auditor.set_wordless(report.wordless, auditor.next_revision())
        auditor.forget_digests(sorted(set(report.documents)))
    for path in directory.glob(f"{PREFIX}*"):
        remove_snapshot(path)
    remove_cached(directory)
    settings, embedding = current_settings(store, directory)
    if embedding:
        compact_if_due(store, directory, settings, embedding, progress)


def _count_again(store: Store, directory: Path, settings: Settings, texts: dict[int, str]) -> None:
    """Count the words of parts again; `texts` are by the parts' ids."""
    with store.auditing(write=True) as auditor:
        embedding = current_vectors(auditor, directory, auditor.settings())
        counter = WordCounter(settings.tokenizer, embedding)
        counted = counter.count(auditor, list(texts.values()))
        counter.store(auditor)
        auditor.set_counts([{"id": id_, **counts._asdict()} for id_, counts in zip(texts, counted, strict=True)])


def _repair_vectors(
    store: Store, directory: Path, settings: Settings, stored: Mapping[str, Any], progress: Progress
) -> None:
    """Import the vectors again, if their source still has the same content, or train them on the texts again.

    The vectors of a shared database are fetched again.
    """
    if settings.embedding in TRAINED and not store.shared:
        train_again(store, directory, settings, progress)
        return
    folder = vectors_folder(directory, stored)
    if store.shared:
        shutil.rmtree(folder, ignore_errors=True)
        with store.reading() as reader:
            fetch_vectors(reader, folder)
        return
    with atomic_directory(folder) as new:
        _, embedding = imported_vectors(new, settings, trust_pickle=False, progress=progress)
        if embedding.fingerprint != stored[FINGERPRINT]:
            raise VectorsError(
                f"{settings.embedding} holds other word vectors than the collection was made with: put {folder.name}/ "
                "back from a backup, or index the texts again in a new place"
            )
