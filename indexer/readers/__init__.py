"""Readers: documents and threads from files of many formats, one at a time."""

from moverank.indexer.readers.reading import DOCUMENT_FORMATS, THREAD_FORMATS, read_documents, read_threads
from moverank.indexer.readers.records import Fields

__all__ = ["DOCUMENT_FORMATS", "THREAD_FORMATS", "Fields", "read_documents", "read_threads"]
