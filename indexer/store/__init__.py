"""A collection's SQL database, the source of truth: documents, parts, words, settings; many readers, one writer.

The names are imported on first use (PEP 562): listing documents needs no SQLAlchemy.
"""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names

if TYPE_CHECKING:
    from moverank.indexer.store.auditor import AuditedBlock as AuditedBlock
    from moverank.indexer.store.auditor import Auditor as Auditor
    from moverank.indexer.store.engines import database_errors as database_errors
    from moverank.indexer.store.engines import repeated as repeated
    from moverank.indexer.store.engines import sqlite_url as sqlite_url
    from moverank.indexer.store.place import direct_reader as direct_reader
    from moverank.indexer.store.place import exists as exists
    from moverank.indexer.store.place import locked_directory as locked_directory
    from moverank.indexer.store.place import locked_for_writing as locked_for_writing
    from moverank.indexer.store.place import open_existing as open_existing
    from moverank.indexer.store.place import open_store as open_store
    from moverank.indexer.store.reader import CountedPart as CountedPart
    from moverank.indexer.store.reader import DisplayFields as DisplayFields
    from moverank.indexer.store.reader import Entry as Entry
    from moverank.indexer.store.reader import FieldTest as FieldTest
    from moverank.indexer.store.reader import PartRow as PartRow
    from moverank.indexer.store.reader import Reader as Reader
    from moverank.indexer.store.reader import StoredDocument as StoredDocument
    from moverank.indexer.store.reader import StoredSource as StoredSource
    from moverank.indexer.store.reader import StoredState as StoredState
    from moverank.indexer.store.reader import StoredWord as StoredWord
    from moverank.indexer.store.store import Store as Store
    from moverank.indexer.store.writer import Row as Row
    from moverank.indexer.store.writer import Writer as Writer

if not TYPE_CHECKING:  # type checkers would accept any name
    __all__, __getattr__, __dir__ = lazy_names(globals())
