"""Read queries to a table of the first stage's vectors: candidates, and what ranking them needs, by few statements."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from moverank.indexer.store.document_reader import CountedPart
from moverank.indexer.store.queries import Queries
from moverank.indexer.store.stage_table import FieldTest, StageTable

_NO_TABLE = "42P01"  # SQLSTATE
_LEAST_WIDTH, _MOST_WIDTH = 40, 1000  # hnsw.ef_search
_MEMORY = 1000  # times work_mem: the most that hnsw.scan_mem_multiplier takes


class Extension(NamedTuple):
    """The schema that pgvector is in, and its version."""

    schema: str
    version: tuple[int, ...]


class CandidateWord(NamedTuple):
    """A word, its id, its number of documents, and the row of its vector."""

    id: int
    word: str
    frequency: int
    row: int


class StageReader(Queries):
    """Reads tables of vectors in PostgreSQL."""

    def extension(self) -> Extension | None:
        """Return the extension pgvector of the database; None if it is not installed there."""
        found = self._connection.execute(
            text(
                "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
                "WHERE e.extname = 'vector'"
            )
        ).first()
        if found is None:
            return None
        return Extension(found[0], tuple(int(number) for number in found[1].split(".") if number.isdecimal()))

    def hold_stage(self, table: StageTable) -> bool:
        """Keep a table from being dropped until the transaction ends; return whether it exists."""
        try:
            with self._connection.begin_nested():
                self._connection.execute(text(f"SELECT 1 FROM {table.quoted} LIMIT 0"))  # noqa: S608 - ours
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _NO_TABLE:  # dropped before, or while this waited for the lock
                raise
            return False
        return True

    def nearest(
        self,
        table: StageTable,
        vector: NDArray[np.float32],
        depth: int,
        tests: Sequence[FieldTest] = (),
        without: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the `depth` documents nearest to `vector` (dim,) which pass the `tests`: ids (m,) and costs (m,).

        Costs are distances, or negated inner products, increasing. An index may miss some; but if it yields fewer
        than `depth`, all vectors are compared instead, so that no filter leaves too few.
        """
        parameters: dict[str, Any] = {"query": _literal(vector), "depth": depth, "without": without}
        where = ["s.vector IS NOT NULL", *(["s.document_id <> :without"] if without is not None else [])]
        for number, test in enumerate(tests):
            where.append(_passes(test, number))
            parameters |= {f"names{number}": list(test.names), f"values{number}": list(test.values or ())}
            parameters |= {f"ids{number}": list(test.ids)} if test.ids else {}
        chosen = f"FROM {table.quoted} s WHERE {' AND '.join(where)}"
        statement = f"SELECT s.document_id, {table.cost} {chosen} ORDER BY {table.cost}"
        if table.links is not None:
            self._widen(depth)
            found = self._connection.execute(text(f"{statement} LIMIT :depth"), parameters).all()
            if len(found) == depth:
                return _columns(found)
        # The index is not in the order of a sum, and is left out.
        exact = f"{statement} + 0, s.document_id LIMIT :depth"
        return _columns(self._connection.execute(text(exact), parameters).all())

    def _widen(self, depth: int) -> None:
        """Let scans of an index go on until enough rows pass a filter."""
        width = min(max(depth, _LEAST_WIDTH), _MOST_WIDTH)
        values = ("iterative_scan", "strict_order"), ("ef_search", width), ("max_scan_tuples", 2**31 - 1)
        chosen = (*values, ("scan_mem_multiplier", _MEMORY))
        calls = ", ".join(f"set_config('hnsw.{name}', '{value}', true)" for name, value in chosen)
        self._connection.execute(text(f"SELECT {calls}"))

    def candidate_parts(self, ids: Sequence[int]) -> list[CountedPart]:
        """Return the counts of all titles and parts of documents, by document id."""
        statement = text(
            "SELECT document_id, rank, words, counts FROM parts WHERE document_id = ANY(CAST(:ids AS integer[])) "
            "ORDER BY document_id, position"
        )
        return [CountedPart(*row) for row in self._connection.execute(statement, {"ids": list(ids)})]

    def candidate_words(self, ids: Sequence[int]) -> list[CandidateWord]:
        """Return words by their ids, in the order of ids."""
        statement = text(
            "SELECT id, word, frequency, row FROM words WHERE id = ANY(CAST(:ids AS integer[])) ORDER BY id"
        )
        return [CandidateWord(*row) for row in self._connection.execute(statement, {"ids": list(ids)})]

    def stage_rows(self, table: StageTable) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Iterate over (document id, tokens, vector as it is sent) of a table, by document id."""
        sent = f'"{table.extension}".{table.kind}_send(vector)'
        rows = f"SELECT document_id, tokens, {sent} FROM {table.quoted} ORDER BY document_id"  # noqa: S608 - as above
        return ((id_, tokens, vector) for id_, tokens, vector in self._stream(text(rows)))

    def has_stage_index(self, table: StageTable) -> bool:
        """Return whether a table has its index, and the index can be used."""
        statement = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
        return bool(self._connection.scalar(statement, {"name": table.index}))


def _passes(test: FieldTest, number: int) -> str:
    """Return a test of the rows `s` in SQL."""
    values = "" if test.values is None else f" AND f.value = ANY(CAST(:values{number} AS text[]))"
    found = (
        f"SELECT 1 FROM fields f WHERE f.document_id = s.document_id AND f.name = ANY(CAST(:names{number} AS text[]))"  # noqa: S608
    )
    own = f" OR s.document_id = ANY(CAST(:ids{number} AS integer[]))" if test.ids else ""
    return f"{'NOT ' if test.negated else ''}(EXISTS ({found}{values}){own})"


def _literal(vector: NDArray[np.float32]) -> str:
    """Return a vector as pgvector reads it; the digits are those of the float32."""
    return f"[{','.join(map(str, vector.tolist()))}]"


def _columns(rows: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    ids, costs = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)
    return ids, costs
