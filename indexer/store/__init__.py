"""A collection's SQL database, the source of truth: documents, parts, words, settings; many readers, one writer."""

from moverank.indexer.store.auditor import AuditedBlock, Auditor
from moverank.indexer.store.bulk_rows import Row
from moverank.indexer.store.database_errors import database_errors, repeated
from moverank.indexer.store.document_reader import CountedPart, Entry, StoredDocument, stored_document
from moverank.indexer.store.place import exists, locked_for_writing, open_existing, open_store, restore_cache
from moverank.indexer.store.reader import DisplayFields, Reader, StoredSource, StoredState, StoredWord
from moverank.indexer.store.sqlite import sqlite_url
from moverank.indexer.store.stage_reader import CandidateWord
from moverank.indexer.store.stage_table import FieldTest, StageRow, StageTable
from moverank.indexer.store.store import Store
from moverank.indexer.store.writer import Writer

__all__ = [
    "AuditedBlock",
    "Auditor",
    "CandidateWord",
    "CountedPart",
    "DisplayFields",
    "Entry",
    "FieldTest",
    "Reader",
    "Row",
    "StageRow",
    "StageTable",
    "Store",
    "StoredDocument",
    "StoredSource",
    "StoredState",
    "StoredWord",
    "Writer",
    "database_errors",
    "exists",
    "locked_for_writing",
    "open_existing",
    "open_store",
    "repeated",
    "restore_cache",
    "sqlite_url",
    "stored_document",
]
