"""A collection's SQL database, the source of truth: documents, parts, words, settings; many readers, one writer.

The names are imported on first use (PEP 562), and SQLAlchemy with them: listing documents needs neither.
"""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names

if TYPE_CHECKING:
    from moverank.indexer.store.auditor import AuditedBlock, Auditor
    from moverank.indexer.store.bulk_rows import Row
    from moverank.indexer.store.database_errors import repeated
    from moverank.indexer.store.document_reader import CountedPart, StoredDocument, stored_document
    from moverank.indexer.store.entry_reader import Entry
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
    "exists",
    "locked_for_writing",
    "open_existing",
    "open_store",
    "repeated",
    "restore_cache",
    "sqlite_url",
    "stored_document",
]

_HOMES = {
    ".auditor": ("AuditedBlock", "Auditor"),
    ".bulk_rows": ("Row",),
    ".database_errors": ("repeated",),
    ".document_reader": ("CountedPart", "StoredDocument", "stored_document"),
    ".entry_reader": ("Entry",),
    ".place": ("exists", "locked_for_writing", "open_existing", "open_store", "restore_cache"),
    ".reader": ("DisplayFields", "Reader", "StoredSource", "StoredState", "StoredWord"),
    ".sqlite": ("sqlite_url",),
    ".stage_reader": ("CandidateWord",),
    ".stage_table": ("FieldTest", "StageRow", "StageTable"),
    ".store": ("Store",),
    ".writer": ("Writer",),
}
"""The names, by the module that defines them."""

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__, __dir__ = lazy_names(globals(), _HOMES)
