"""Checks the first stage in the database: the vector of each document must be the one that its bag has."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.maintenance.report import Report
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.database_stage import DatabaseStage, StageRecord, restored_stage
from moverank.indexer.snapshot.snapshot_reader import made_for
from moverank.indexer.snapshot.stage_tokens import totals_of
from moverank.indexer.store import Reader, StageRow
from moverank.rerank.words.embedding import Embedding

_CLOSE = {"vector": 1e-5, "halfvec": 2e-3}
"""Share of the largest number by which vectors of two machines may differ; those of 16 bits by their last digit."""


def check_stage(
    reader: Reader, directory: Path, settings: Settings, embedding: Embedding, report: Report
) -> Iterator[str]:
    """Yield what is wrong with the first stage in the database as a whole, and add documents to `report`.

    `directory`, `settings` and `embedding` are the collection's; `reader` sees the state to check.
    """
    record = StageRecord.of(reader.settings())
    if settings.first_stage_in != DATABASE or record is None:
        return
    if record.made_for != made_for(settings, embedding):
        yield "the first stage in the database was made for other settings or word vectors"
    elif record.revision != reader.revision():
        yield f"the first stage in the database is of revision {record.revision}: a version without it wrote later ones"
    elif not reader.hold_stage(record.table):
        yield f"the database has no table {record.table.name} of the first stage"
    else:
        try:
            stage = restored_stage(reader, directory, settings, record)
        except VectorsError as error:
            yield str(error)
            return
        if record.indexed and not reader.has_stage_index(record.table):
            yield "the first stage in the database has no valid index"
        yield from _compared(reader, stage, settings, embedding, report)


def _compared(
    reader: Reader, stage: DatabaseStage, settings: Settings, embedding: Embedding, report: Report
) -> Iterator[str]:
    """Compare the rows of the table with those that the documents have."""
    table, tokens, wrong = stage.record.table, Counter[str](), dict[int, str]()
    remaining = reader.stage_rows(table)
    stored = next(remaining, None)
    orphans: list[int] = []
    for rows in stage.rows(reader, settings, embedding):
        tokens += totals_of(row.tokens for row in rows)
        for row in rows:
            while stored is not None and stored[0] < row.document_id:
                orphans.append(stored[0])
                stored = next(remaining, None)
            if stored is None or stored[0] != row.document_id:
                wrong[row.document_id] = "has no vector in the database's first stage"
                continue
            vector = None if stored[2] is None else table.unpacked([stored[2]])[0]
            if stored[1] != row.tokens or not _same(row, vector, _CLOSE[table.kind]):
                wrong[row.document_id] = "has a wrong vector or length in the database's first stage"
            stored = next(remaining, None)
    orphans += [] if stored is None else [stored[0], *(row[0] for row in remaining)]
    for id_, key in reader.keys(sorted(wrong)).items():
        report.add(wrong[id_], key)
    for id_ in orphans:
        report.add("is the id of a vector without a document in the database's first stage", id_)
    if tokens != Counter(stage.record.tokens):
        yield "the lengths of all documents are not those that the database's first stage counted"


def _same(row: StageRow, vector: NDArray[np.float32] | None, close: float) -> bool:
    """Return whether a row has the vector, up to the rounding of another machine."""
    if row.vector is None or vector is None:
        return row.vector is None and vector is None
    largest = float(np.abs(row.vector).max(initial=1e-30))
    return bool(np.allclose(row.vector, vector, rtol=0, atol=close * largest))
