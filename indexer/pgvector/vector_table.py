"""A table of documents' vectors in PostgreSQL (pgvector): its description, and the statements that read and write it.

Each fit has a table of its own, so that open readers keep theirs. Tables have no foreign key: dropping one would wait
for all readers of the documents.
"""

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import FieldTest
from moverank.indexer.store.engines import ConnectionRows
from moverank.indexer.store.rows import Rows

PREFIX = "stage_"
"""The names of tables, and of the folders of their encoders, begin with it."""

_NAME = re.compile(f"{PREFIX}[0-9a-f]{{8}}")
_NO_TABLE, _LOCKED = "42P01", "55P03"  # SQLSTATE: the table does not exist, the lock is not available
_PAGE = 8000  # bytes of a row that fits into a page, so that a scan reads no second table
_CONSTRUCTION = 64  # hnsw.ef_construction, at least twice the links
_LEAST_WIDTH, _MOST_WIDTH = 40, 1000  # hnsw.ef_search
_MEMORY = 1000  # times work_mem: the most that hnsw.scan_mem_multiplier takes
_HEAD = struct.Struct(">hh")  # pgvector's head of a vector: the dimension and 0; the numbers follow


class VectorRow(NamedTuple):
    """A document's tokens, as `fits.tokens_by_document` returns them, and its vector (dim,), None without a bag."""

    document_id: int
    tokens: bytes
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class DocumentVectorTable:
    """The table `name` of vectors; the methods run their statements in the transaction of `rows`."""

    name: str
    kind: Literal["vector", "halfvec"]
    """The type of the column: numbers of 32 bits, or of 16."""
    dim: int
    products: bool
    """The nearest vectors have the largest inner products, else the smallest Euclidean distances."""
    links: int | None
    """The links of each vector in an HNSW index; None: there is no index, and the order is exact."""
    extension: str
    """The schema of pgvector."""

    @property
    def _type(self) -> str:
        """Return the type of the vectors in SQL, without their dimension."""
        return f'"{self.extension}".{self.kind}'

    @property
    def _number(self) -> str:
        """Return NumPy's type of a number as it is sent."""
        return ">f4" if self.kind == "vector" else ">f2"

    def hold(self, rows: Rows) -> bool:
        """Keep the table from being dropped until the transaction ends; return whether it exists."""
        # It may have been dropped before, or while this waited for the lock.
        statement = f'SELECT 1 FROM "{self.name}" LIMIT 0'
        return isinstance(rows, ConnectionRows) and rows.attempt(statement, refused=_NO_TABLE)

    def nearest(
        self,
        rows: Rows,
        vector: NDArray[np.float32],
        depth: int,
        tests: Sequence[FieldTest] = (),
        without: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the `depth` documents nearest to `vector` (dim,) which pass the `tests`: ids (m,) and costs (m,).

        Costs are distances, or negated inner products, increasing. An index may miss some; but if it yields fewer
        than `depth`, all vectors are compared instead, so that no filter leaves too few.
        """
        query = f"[{','.join(map(str, vector.tolist()))}]"  # with the digits of the float32
        parameters: dict[str, Any] = {"query": query, "depth": depth, "without": without}
        where = ["s.vector IS NOT NULL", *(["s.document_id <> :without"] if without is not None else [])]
        for number, test in enumerate(tests):
            where.append(_passes(test, number))
            parameters |= {f"names{number}": list(test.names), f"values{number}": list(test.values or ())}
            parameters |= {f"ids{number}": list(test.ids)} if test.ids else {}
        sign = "<#>" if self.products else "<->"
        cost = f'(s.vector OPERATOR("{self.extension}".{sign}) CAST(:query AS {self._type}))'
        statement = f'SELECT s.document_id, {cost} FROM "{self.name}" s WHERE {" AND ".join(where)} ORDER BY {cost}'
        found: Sequence[tuple[Any, ...]] = ()
        if self.links is not None:
            with rows.lock:  # the width is this statement's
                _widen(rows, depth)
                found = rows.all(f"{statement} LIMIT :depth", **parameters)
        if len(found) < depth:  # PostgreSQL ignores the index: the order is by a sum.
            found = rows.all(f"{statement} + 0, s.document_id LIMIT :depth", **parameters)
        return np.array([row[0] for row in found], np.int64), np.array([row[1] for row in found], np.float64)

    def read(self, rows: Rows, document_ids: Sequence[int]) -> dict[int, VectorRow]:
        """Return the rows of documents by id; documents without a row are left out."""
        statement = (
            f'SELECT document_id, tokens, "{self.extension}".{self.kind}_send(vector) FROM "{self.name}" '
            "WHERE document_id IN :values"
        )
        found: dict[int, VectorRow] = {}
        for id_, tokens, sent in rows.within(statement, document_ids):
            vector = sent and np.frombuffer(sent, self._number, offset=_HEAD.size).astype(np.float32)
            found[id_] = VectorRow(id_, tokens, vector)
        return found

    def orphans(self, rows: Rows) -> list[int]:
        """Return the ids of rows whose document does not exist."""
        return rows.column(f'SELECT document_id FROM "{self.name}" EXCEPT SELECT document_id FROM parts ORDER BY 1')

    def has_index(self, rows: Rows) -> bool:
        """Return whether the table has its index, and the index can be used."""
        statement = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"
        return any(rows.column(statement, name=f'"{self.name}_hnsw"'))

    def create(self, rows: ConnectionRows) -> None:
        """Create the table, empty and without its index."""
        columns = f"document_id integer PRIMARY KEY, tokens bytea NOT NULL, vector {self._type}({self.dim})"
        rows.execute(f'CREATE TABLE "{self.name}" ({columns})')
        if np.dtype(self._number).itemsize * self.dim < _PAGE:
            rows.execute(f'ALTER TABLE "{self.name}" ALTER vector SET STORAGE PLAIN')

    def create_index(self, rows: ConnectionRows) -> None:
        """Create the HNSW index unless it exists."""
        operators = f'"{self.extension}".{self.kind}_{"ip" if self.products else "l2"}_ops'
        options = f"m = {self.links}, ef_construction = {max(_CONSTRUCTION, 2 * (self.links or 0))}"
        rows.execute(
            f'CREATE INDEX IF NOT EXISTS "{self.name}_hnsw" ON "{self.name}" '
            f"USING hnsw (vector {operators}) WITH ({options})"
        )

    def add(self, rows: ConnectionRows, added: Iterable[VectorRow]) -> None:
        """Insert rows."""
        head = _HEAD.pack(self.dim, 0)
        # A `bytea` is sent as it is, and received as the vector that it holds.
        sent = (
            (id_, tokens, None if vector is None else head + vector.astype(self._number).tobytes())
            for id_, tokens, vector in added
        )
        rows.insert(f'"{self.name}"', VectorRow._fields, sent, types=("int4", "bytea", "bytea"))

    def remove(self, rows: ConnectionRows, document_ids: Sequence[int]) -> Iterator[bytes]:
        """Delete the rows of documents, and yield their tokens."""
        statement = f'DELETE FROM "{self.name}" WHERE document_id IN :values RETURNING tokens'
        return (tokens for (tokens,) in rows.within(statement, document_ids))


def drop_tables(rows: ConnectionRows, but: str | None = None) -> None:
    """Drop all tables of vectors but one; a later call drops a table that a reader has open now."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, :prefix)"
    for name in rows.column(tables, prefix=PREFIX):
        lock = f'LOCK TABLE "{name}" IN ACCESS EXCLUSIVE MODE NOWAIT'
        if name != but and _NAME.fullmatch(name) and rows.attempt(lock, refused=_LOCKED):
            rows.execute(f'DROP TABLE "{name}"')


def _widen(rows: Rows, depth: int) -> None:
    """Let scans of an index continue until enough rows pass a filter."""
    width = min(max(depth, _LEAST_WIDTH), _MOST_WIDTH)
    values = ("iterative_scan", "strict_order"), ("ef_search", width), ("max_scan_tuples", 2**31 - 1)
    chosen = (*values, ("scan_mem_multiplier", _MEMORY))
    calls = ", ".join(f"set_config('hnsw.{name}', '{value}', true)" for name, value in chosen)
    rows.all(f"SELECT {calls}")


def _passes(test: FieldTest, number: int) -> str:
    """Return the SQL of a test of the rows `s`."""
    values = "" if test.values is None else f" AND f.value = ANY(CAST(:values{number} AS text[]))"
    found = (
        f"SELECT 1 FROM fields f WHERE f.document_id = s.document_id AND f.name = ANY(CAST(:names{number} AS text[]))"
    )
    own = f" OR s.document_id = ANY(CAST(:ids{number} AS integer[]))" if test.ids else ""
    return f"{'NOT ' if test.negated else ''}(EXISTS ({found}{values}){own})"
