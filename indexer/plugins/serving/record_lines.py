"""JSON records of any kind, one a line: documents, threads, and exported documents."""

from collections.abc import Iterator

from moverank.indexer.reading.formats.json_lines import parse_object
from moverank.indexer.reading.formats.threads import is_stored_record, stored_document, thread_of
from moverank.indexer.reading.inputs.numbered_lines import lines_and_bad_ones
from moverank.indexer.reading.records import BadRecord, Fields, Record, document_of
from moverank.indexer.values.documents import Document, Rejection


def document_of_record(record: Record, default_key: str) -> Document:
    """Make a document of an exported record, of a thread, which has `comments`, or of any other record; BadRecord.

    `default_key` is the key of a record without one; an empty one is refused.
    """
    if is_stored_record(record):
        document = stored_document(record, default_key)
    elif "comments" in record:
        document = thread_of(record, default_key)
    else:
        document = document_of(record, default_key, Fields())
    if not document.key:
        raise BadRecord('a record needs a key: {"id": "...", "text": "..."}')
    return document


def read_records(path: str, name: str) -> Iterator[Document | Rejection]:
    """Yield the documents of a JSONL file; a bad line is a Rejection, whose source is called `name`."""
    for number, line in lines_and_bad_ones(path):
        try:
            if isinstance(line, BadRecord):
                raise line
            yield document_of_record(parse_object(line), "")
        except BadRecord as bad:
            yield Rejection(name, number, bad.reason, bad.key)
