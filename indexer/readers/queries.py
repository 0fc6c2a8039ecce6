"""Queries from files: many, one on each line; or a single one, which is a whole file or a thread."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from moverank.indexer.documents import Document, Part, Rejection
from moverank.indexer.errors import ReadError
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.jsonl import parse_object
from moverank.indexer.readers.numbered_lines import lines_and_bad_ones
from moverank.indexer.readers.reading import read_documents, read_threads
from moverank.indexer.readers.records import (
    KEY_FIELDS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    VECTOR_FIELD,
    Fields,
    Record,
    document_of,
    field_names,
)
from moverank.indexer.readers.sources import STDIN
from moverank.indexer.readers.stored_record import is_stored_record, stored_document
from moverank.indexer.readers.threads import thread_of

_THREAD_FIELDS = ("title", "name", "body", "comments")
QUERY_FIELDS = {*KEY_FIELDS, *TITLE_FIELDS, *TEXT_FIELDS, *_THREAD_FIELDS, "parts", "title_counts", VECTOR_FIELD}
"""The fields of records that matter for a query."""

_FORM = 'needs the form {"id": "...", "title": "...", "text": "..."}, or that of a thread'


class BatchQuery(NamedTuple):
    """A query of a batch; `problem` is what is wrong with its line, whose `id` is then FILE:NUMBER."""

    id: str
    document: Document
    problem: str | None = None

    @property
    def text(self) -> str:
        """Return what is shown of the query: its title, or else its text."""
        return self.document.title or " ".join(part.text for part in self.document.parts[:1])


def read_queries(path: str) -> list[tuple[str, Document]]:
    """Return (id, query) of every query of a file: see `read_batch`. Raises ReadError for the first bad line, too."""
    batch = read_batch(path)
    for query in batch:
        if query.problem:
            raise ReadError(f"{query.id}: {query.problem}")
    return [(query.id, query.document) for query in batch]


def read_batch(path: str) -> list[BatchQuery]:
    """Return the queries of a file, gzipped or not, and its bad lines; `-` is standard input.

    A file whose first line begins with a brace is JSONL: its records are those of documents or threads, and only their
    key, title and texts matter. Otherwise every line that is not blank is a query. The id of a query without one is its
    line number. Raises ReadError, which names the file, if that cannot be read or is empty.
    """
    lines = list(lines_and_bad_ones(path))
    if not lines:
        raise ReadError(f"{path}: holds no query")
    first = next((line for _, line in lines if isinstance(line, str)), "")
    is_json = first.lstrip().startswith("{")
    return [_parsed(path, number, line, is_json=is_json) for number, line in lines]


def _parsed(path: str, number: int, line: str | BadRecord, *, is_json: bool) -> BatchQuery:
    try:
        if isinstance(line, BadRecord):
            raise line
        document = query_of(parse_object(line), str(number)) if is_json else _plain(str(number), line.strip())
        return BatchQuery(document.key, document)
    except BadRecord as bad:
        id_ = f"{path}:{number}"
        return BatchQuery(id_, _plain(id_, ""), bad.reason)


def _plain(key: str, text: str) -> Document:
    return Document(key, parts=(Part(text),))


def query_of(record: Record, default_key: str, what: str = "a query") -> Document:
    """Make a query of the record of a document, of a thread, or of an exported one; BadRecord says what is wrong.

    Only key, title and texts are taken. `what` it is, for the message.
    """
    given = {name: value for name, value in record.items() if name in QUERY_FIELDS}
    given = {name: value for name, value in given.items() if value is not None or name not in KEY_FIELDS}
    if given.keys() <= {*KEY_FIELDS, "title_counts", VECTOR_FIELD}:
        raise BadRecord(f"{what} {_FORM}: {field_names(record)}")
    if is_stored_record(given):
        return stored_document(given, default_key)
    if "comments" not in given and any(name in given for name in TEXT_FIELDS):
        return document_of(given, default_key, Fields())
    body = next((given[name] for name in ("body", *TEXT_FIELDS) if name in given), None)
    others = {name: value for name, value in given.items() if name not in TEXT_FIELDS}
    return thread_of({"comments": None, **others, "body": body}, default_key)


def single_query(file: str | None, thread: str | None) -> Document | None:
    """Return the query that is given as a file or as the file of a thread; None if it is neither."""
    if file is not None:
        return read_query_file(file)
    return read_query_thread(thread) if thread is not None else None


def read_query_file(path: str) -> Document:
    """Return a file as a query: with the title and the text that `index` stores of it; `-` is standard input.

    A file of many documents, and standard input, is a single text, whose first line is the title. Raises ReadError,
    which names the file, if it cannot be read, holds no text, or is a directory of many files.
    """
    if path != STDIN and Path(path).is_file():
        found = next(read_documents([path]), None)
        if found is not None and found.origin is not None and not found.origin.line:
            return _only(path, iter([found]), "")
    return _only(path, read_documents([path], format="text"), "name one file")


def read_query_thread(path: str) -> Document:
    """Return the only thread of a file that `threads` reads, as a query; `-` is standard input.

    Raises ReadError, which names the file, and the line if it is bad, if there is not exactly one.
    """
    return _only(path, read_threads([path]), "--queries searches for all threads of a JSONL file")


def _only(path: str, found: Iterator[Document | Rejection], remedy: str) -> Document:
    """Return the only document found in `path`; ReadError says what is wrong, with the `remedy` for more than one."""
    documents = []
    for one in islice(found, 2):
        if isinstance(one, Rejection):
            raise ReadError(str(one))
        documents.append(one)
    if len(documents) != 1:
        raise ReadError(f"{path}: holds more than one query: {remedy}" if documents else f"{path}: holds no query")
    return documents[0]
