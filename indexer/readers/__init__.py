"""Readers: documents and threads from files of many formats, one at a time."""

from moverank.indexer.readers.converter import Conversion
from moverank.indexer.readers.reading import DOCUMENT_FORMATS, THREAD_FORMATS, read_documents, read_threads
from moverank.indexer.readers.records import Fields
from moverank.indexer.readers.selection import Selection

__all__ = [
    "DOCUMENT_FORMATS",
    "THREAD_FORMATS",
    "Conversion",
    "Fields",
    "Selection",
    "read_documents",
    "read_threads",
]
