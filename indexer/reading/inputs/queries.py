"""Queries from files: one on each line, a whole file, or a thread; and vectors of queries."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError, ReadError
from moverank.indexer.reading.finding.files import STDIN
from moverank.indexer.reading.formats.json_lines import parse_object
from moverank.indexer.reading.formats.threads import is_stored_record, stored_document, thread_of
from moverank.indexer.reading.inputs.numbered_lines import lines_and_bad_ones
from moverank.indexer.reading.inputs.vectors_by_key import read_array
from moverank.indexer.reading.reading import read_documents, read_threads
from moverank.indexer.reading.records import (
    KEY_FIELDS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    VECTOR_FIELD,
    BadRecord,
    Fields,
    Record,
    document_of,
    field_names,
)
from moverank.indexer.reading.streams import CONVERT, NAME_ENCODING
from moverank.indexer.values.documents import Document, Part, Rejection

_THREAD_FIELDS = ("title", "name", "body", "comments")
QUERY_FIELDS = {*KEY_FIELDS, *TITLE_FIELDS, *TEXT_FIELDS, *_THREAD_FIELDS, "parts", "title_counts", VECTOR_FIELD}
"""The fields of records that matter for a query."""

_FORM = 'needs the form {"id": "...", "title": "...", "text": "..."}, or that of a thread'


class BatchQuery(NamedTuple):
    """A query of a batch; a bad line has a `problem`, and FILE:NUMBER as its `id`."""

    id: str
    document: Document
    problem: str | None = None

    @property
    def text(self) -> str:
        """Return the query as it is shown: its title, or else its text."""
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

    A file whose first line begins with a brace is JSONL: its records are documents or threads, of which only key, title
    and texts matter. Otherwise every line that is not blank is a query. The id of a query without one is its line
    number. Raises ReadError, which names the file, if the file cannot be read or is empty.
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
    """Make a query of the record of a document, of a thread, or of an exported document; BadRecord names the fault.

    Only key, title and texts are taken. `what` names the record in messages.
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
    """Return the query in a `file`, or in the file of a `thread`; None without both."""
    if file is not None:
        return read_query_file(file)
    return read_query_thread(thread) if thread is not None else None


def read_query_file(path: str, what: str = "query") -> Document:
    """Return a file as a query, with the title and the text that `index` would store; `-` is standard input.

    A file of many documents, and standard input, counts as a single text, whose first line is the title. `what` names
    the text in messages. Raises ReadError, which names the file, if it cannot be read, holds no text, or is a directory
    of many files.
    """
    if path != STDIN and Path(path).is_file():
        found = next(read_documents([path]), None)
        if found is not None and found.origin is not None and not found.origin.line:
            return _only(path, iter([found]), "", what)
    return _only(path, read_documents([path], format="text"), "name one file", what)


def read_query_thread(path: str) -> Document:
    """Return the only thread of a file that `threads` reads, as a query; `-` is standard input.

    Raises ReadError, which names the file, and perhaps the bad line, unless there is exactly one thread.
    """
    return _only(path, read_threads([path]), "--queries searches for all threads of a JSONL file")


def _only(path: str, found: Iterator[Document | Rejection], remedy: str, what: str = "query") -> Document:
    """Return the only document found in `path`, `what` is sought; ReadError names the fault, or the `remedy`."""
    documents = []
    for one in islice(found, 2):
        if isinstance(one, Rejection):
            raise ReadError(str(one).replace(NAME_ENCODING, CONVERT))  # no command with a query has the option
        documents.append(one)
    if len(documents) != 1:
        raise ReadError(f"{path}: holds more than one {what}: {remedy}" if documents else f"{path}: holds no {what}")
    return documents[0]


_MAGIC = b"\x93NUMPY"


def read_query_vector(given: str) -> NDArray[Any]:
    """Return the vector (d,) of a single query; QueryVectorError if `given` is no vector."""
    found = _read(given)
    vector: NDArray[Any] = found[0] if found.ndim == 2 and len(found) == 1 else found
    if vector.ndim != 1:
        raise QueryVectorError(f"the query's vector must be a list of numbers, not an array of shape {vector.shape}")
    return vector


def with_vectors(batch: Sequence[BatchQuery], given: str) -> list[BatchQuery]:
    """Return the queries of a batch, bad lines included, with the rows of a matrix as their vectors.

    Raises QueryVectorError for another number of rows.
    """
    found = _read(given)
    if found.ndim != 2 or len(found) != len(batch):
        raise QueryVectorError(f"{len(batch):,} queries need a matrix of as many rows, not one of shape {found.shape}")
    with np.errstate(over="ignore"):  # infinity is reported with the query
        rows = found.astype(np.float32).tolist()
    return [
        query._replace(document=replace(query.document, vector=row)) for query, row in zip(batch, rows, strict=True)
    ]


def _read(given: str) -> NDArray[Any]:
    if given.lstrip().startswith("["):
        return _parsed_vector(given, "--query-vector")
    if given == STDIN:
        return _parsed_vector(sys.stdin.buffer.read(), "standard input")
    try:
        with Path(given).open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return read_array(given)
            file.seek(0)
            return _parsed_vector(file.read(), given)
    except OSError as error:
        raise ReadError(f"{given}: cannot be read: {error.strerror or error}") from error


def _parsed_vector(text: str | bytes, where: str) -> NDArray[Any]:
    """Parse lists of numbers in JSON; `where` names their place in messages."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(json.loads(text), np.float32)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise QueryVectorError(f"{where}: is neither a JSON list of numbers nor a .npy file") from error
