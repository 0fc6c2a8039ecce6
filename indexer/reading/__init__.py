"""Readers: documents and threads from files of many formats, one at a time. The names are imported on first use."""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.indexer.reading.converter import Conversion as Conversion
    from moverank.indexer.reading.finding.selection import Selection as Selection
    from moverank.indexer.reading.inputs.candidate_lists import read_candidate_lists as read_candidate_lists
    from moverank.indexer.reading.inputs.queries import QUERY_FIELDS as QUERY_FIELDS
    from moverank.indexer.reading.inputs.queries import query_of as query_of
    from moverank.indexer.reading.inputs.queries import read_batch as read_batch
    from moverank.indexer.reading.inputs.queries import read_query_file as read_query_file
    from moverank.indexer.reading.inputs.queries import read_query_vector as read_query_vector
    from moverank.indexer.reading.inputs.queries import single_query as single_query
    from moverank.indexer.reading.inputs.queries import with_vectors as with_vectors
    from moverank.indexer.reading.inputs.vectors_by_key import VectorsByKey as VectorsByKey
    from moverank.indexer.reading.inputs.word_list import read_words as read_words
    from moverank.indexer.reading.reading import DOCUMENT_FORMATS as DOCUMENT_FORMATS
    from moverank.indexer.reading.reading import THREAD_FORMATS as THREAD_FORMATS
    from moverank.indexer.reading.reading import read_documents as read_documents
    from moverank.indexer.reading.reading import read_threads as read_threads
    from moverank.indexer.reading.records import LABEL_FIELDS as LABEL_FIELDS
    from moverank.indexer.reading.records import BadRecord as BadRecord
    from moverank.indexer.reading.records import Fields as Fields
    from moverank.indexer.reading.records import choose_field as choose_field
    from moverank.indexer.reading.records import label_of as label_of

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
