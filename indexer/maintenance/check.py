"""Looks through all of a collection, whatever state it is in."""

from pathlib import Path

from moverank.indexer.errors import CollectionError, VectorsError
from moverank.indexer.files.directory import DATABASE, VECTORS, exists
from moverank.indexer.indexing.creation import FINGERPRINT
from moverank.indexer.maintenance.check_database import check_truth
from moverank.indexer.maintenance.check_snapshot import check_snapshot
from moverank.indexer.maintenance.report import Report
from moverank.indexer.settings import Settings
from moverank.indexer.store import Auditor, Store, sqlite_url
from moverank.indexer.vectors import check_vectors, open_vectors
from moverank.rerank.words.embedding import Embedding


def check(place: Path) -> Report:
    """Return what is wrong with the collection of a directory; nothing where it is whole.

    Reads everything, changes nothing. Raises CollectionError where there is no collection at all.
    """
    findings = Report()
    if not exists(place):
        raise CollectionError(f"there is no collection in {place}")
    try:
        store = Store(sqlite_url(place / DATABASE))
    except CollectionError as error:
        findings.sentences.append(str(error))
        return findings
    try:
        with store.auditing() as auditor:
            faults = auditor.faults()
            findings.sentences += [f"the database is damaged: {fault}" for fault in faults]
            if not faults:
                _check(auditor, place, findings)
    except CollectionError as error:
        findings.sentences.append(str(error))
    finally:
        store.close()
    return findings


def _check(auditor: Auditor, place: Path, findings: Report) -> None:
    stored = auditor.settings()
    settings, fingerprint = Settings.restored(stored), stored.get(FINGERPRINT)
    embedding = _vectors(place, fingerprint, findings) if fingerprint else None
    check_truth(auditor, settings.tokens_digest(), embedding, findings)
    if embedding:
        findings.sentences += check_snapshot(auditor, place, settings, embedding)


def _vectors(place: Path, fingerprint: str, findings: Report) -> Embedding | None:
    try:
        check_vectors(place / VECTORS)
        embedding = open_vectors(place / VECTORS)
    except VectorsError as error:
        findings.vectors = True
        findings.sentences.append(str(error))
        return None
    if embedding.fingerprint != fingerprint:
        findings.vectors = True
        findings.sentences.append(f"{place / VECTORS} holds other word vectors than the collection was made with")
        return None
    return embedding
