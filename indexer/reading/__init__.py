"""Readers: documents and threads from files of many formats, one at a time."""

from moverank.indexer.reading.converter import Conversion
from moverank.indexer.reading.finding.selection import Selection
from moverank.indexer.reading.reading import DOCUMENT_FORMATS, THREAD_FORMATS, read_documents, read_threads
from moverank.indexer.reading.records import Fields

__all__ = [
    "DOCUMENT_FORMATS",
    "THREAD_FORMATS",
    "Conversion",
    "Fields",
    "Selection",
    "read_documents",
    "read_threads",
]
