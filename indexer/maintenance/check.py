"""Checks a collection in any state: the database, the word vectors, the snapshot."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, ConnectionLost, NoCollection, VectorsError
from moverank.indexer.files.location import display_name
from moverank.indexer.indexing.collection_vectors import FINGERPRINT, current_vectors, vectors_folder
from moverank.indexer.maintenance.check_database import check_database
from moverank.indexer.maintenance.check_snapshot import check_snapshot
from moverank.indexer.maintenance.report import Report
from moverank.indexer.store import Auditor, Reader, open_existing, repeated
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.open_vectors import verify_vectors
from moverank.rerank.words.embedding import Embedding


def check_collection(directory: Path) -> Report:
    """Read everything in a collection's directory, and report the faults.

    Nothing is changed. Raises NoCollection and ConnectionLost.
    """
    return repeated(lambda: _checked(directory))


def _checked(directory: Path) -> Report:
    report = Report()
    try:
        store = open_existing(directory)
    except ConnectionLost:
        raise
    except CollectionError as error:
        report.general.append(str(error))
        return report
    if store is None:
        raise NoCollection(f"there is no collection in {display_name(directory)}")
    with closing(store):
        try:
            with store.auditing() as auditor:
                faults = auditor.faults()
                report.general += [f"the database is damaged: {fault}" for fault in faults]
                if not faults:
                    _check(auditor, directory, report)
        except ConnectionLost:
            raise
        except CollectionError as error:
            report.general.append(str(error))
    return report


def _check(auditor: Auditor, directory: Path, report: Report) -> None:
    stored = auditor.settings()
    settings = Settings.restored(stored)
    embedding = _vectors(auditor, directory, stored, report) if FINGERPRINT in stored else None
    check_database(auditor, settings.tokens_digest(), embedding, report)
    if embedding:
        report.general += check_snapshot(auditor, directory, settings, embedding)


def _vectors(reader: Reader, directory: Path, stored: Mapping[str, Any], report: Report) -> Embedding | None:
    """Check the word vectors, and open them; None if they are damaged or not the collection's."""
    try:
        embedding = current_vectors(reader, directory, stored)
        verify_vectors(vectors_folder(directory, stored))
    except (VectorsError, CollectionError) as error:
        report.vectors = True
        report.general.append(str(error))
        return None
    return embedding
