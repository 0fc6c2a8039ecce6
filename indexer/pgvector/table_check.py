"""Checks the first stage in the database: the row of each document must equal the row computed again."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from moverank.indexer.errors import VectorsError
from moverank.indexer.pgvector.fits import Fit, FitRecord, restored_fit, totals_of
from moverank.indexer.pgvector.vector_table import VectorRow
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.snapshot_files import made_for
from moverank.indexer.store import Reader
from moverank.rerank.words.embedding import Embedding

_CLOSE = {"vector": 1e-5, "halfvec": 2e-3}
"""Share of the largest number by which vectors of two machines may differ; 16-bit vectors, by their last digit."""

Add = Callable[[str, object], None]
"""Adds an example of a kind of fault; see `Report.add`."""


def check_table(reader: Reader, directory: Path, settings: Settings, embedding: Embedding, add: Add) -> Iterator[str]:
    """Yield the faults of the first stage in the database as a whole, and `add` the faults of documents.

    `directory`, `settings` and `embedding` are the collection's; `reader` sees the state to check.
    """
    record = FitRecord.of(reader.settings())
    if settings.first_stage_in != DATABASE or record is None:
        return
    if record.made_for != made_for(settings, embedding):
        yield "the first stage in the database was made for other settings or word vectors"
    elif record.revision != reader.revision():
        yield f"the first stage in the database is of revision {record.revision}: a version without it wrote later ones"
    elif not record.table.hold(reader.rows):
        yield f"the database has no table {record.table.name} of the first stage"
    else:
        try:
            fit = restored_fit(reader, directory, settings, record)
        except VectorsError as error:
            yield str(error)
            return
        if record.indexed and not record.table.has_index(reader.rows):
            yield "the first stage in the database has no valid index"
        if _compared(reader, fit, settings, embedding, add) != Counter(record.tokens):
            yield "the lengths of all documents are not those that the database's first stage counted"


def _compared(reader: Reader, fit: Fit, settings: Settings, embedding: Embedding, add: Add) -> Counter[str]:
    """Compare the rows of the table with rows computed from the documents; return the tokens of all documents."""
    table, tokens, wrong = fit.record.table, Counter[str](), dict[int, str]()
    for rows in fit.rows(reader, settings, embedding):
        tokens += totals_of(row.tokens for row in rows)
        stored = table.read(reader.rows, [row.document_id for row in rows])
        for row in rows:
            if row.document_id not in stored:
                wrong[row.document_id] = "has no vector in the database's first stage"
            elif not _same(row, stored[row.document_id], _CLOSE[table.kind]):
                wrong[row.document_id] = "has a wrong vector or length in the database's first stage"
    for id_, key in reader.keys(sorted(wrong)).items():
        add(wrong[id_], key)
    for id_ in table.orphans(reader.rows):
        add("is the id of a vector without a document in the database's first stage", id_)
    return tokens


def _same(row: VectorRow, stored: VectorRow, close: float) -> bool:
    """Return whether a stored row equals the `row` of a document, up to the rounding of another machine."""
    if row.vector is None or stored.vector is None:
        return row.tokens == stored.tokens and row.vector is stored.vector
    largest = float(np.abs(row.vector).max(initial=1e-30))
    same = row.tokens == stored.tokens and row.vector.shape == stored.vector.shape
    return bool(same and np.allclose(row.vector, stored.vector, rtol=0, atol=close * largest))
