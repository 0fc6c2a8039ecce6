"""A table of the first stage's vectors in PostgreSQL: its description, and its rows as COPY takes them."""

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

PREFIX = "stage_"
NAME = re.compile(f"{PREFIX}[0-9a-f]{{8}}")
"""Names of such tables: each fit has a table of its own, so that open readers keep theirs."""

Kind = Literal["vector", "halfvec"]

_NULL = struct.pack(">i", -1)
_HEADER, _TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), struct.pack(">h", -1)


class StageRow(NamedTuple):
    """A document's tokens, as `packed_tokens` returns them, and its vector (dim,), None without a bag."""

    document_id: int
    tokens: bytes
    vector: NDArray[np.float32] | None


class FieldTest(NamedTuple):
    """A condition that a document has one of the fields `names` with one of the `values` (None: any), or not.

    Or it is one of the documents `ids`, which have such a key or source.
    """

    names: tuple[str, ...]
    values: tuple[str, ...] | None = None
    negated: bool = False
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StageTable:
    """The table `name` of vectors with `dim` numbers of 32 bits, or in a `halfvec` column of 16.

    `products`: the nearest have the largest inner products, else the smallest Euclidean distances. `links` of each
    vector are in an HNSW index; None: there is no index, and the order is exact. `extension` is the schema of pgvector.
    """

    name: str
    kind: Kind
    dim: int
    products: bool
    links: int | None
    extension: str

    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self:
        """Return the table that `stored` described."""
        return cls(**values)

    def stored(self) -> dict[str, Any]:
        """Return the description as JSON values."""
        return asdict(self)

    @property
    def quoted(self) -> str:
        """Return the name in SQL."""
        return f'"{self.name}"'

    @property
    def index(self) -> str:
        """Return the name of the index in SQL."""
        return f'"{self.name}_hnsw"'

    @property
    def type(self) -> str:
        """Return the type of the vectors in SQL, without their dimension."""
        return f'"{self.extension}".{self.kind}'

    @property
    def cost(self) -> str:
        """Return what orders the rows `s` by nearness to the parameter `query` in SQL."""
        sign = "<#>" if self.products else "<->"
        return f'(s.vector OPERATOR("{self.extension}".{sign}) CAST(:query AS {self.type}))'

    @property
    def operators(self) -> str:
        """Return the operator class of an index in SQL."""
        return f'"{self.extension}".{self.kind}_{"ip" if self.products else "l2"}_ops'

    def packed(self, rows: Iterable[StageRow]) -> bytes:
        """Return rows in the binary format of COPY."""
        number, head = (">f4" if self.kind == "vector" else ">f2"), struct.pack(">hh", self.dim, 0)
        size = struct.pack(">i", 4 + self.dim * np.dtype(number).itemsize)
        found = [_HEADER]
        for id_, tokens, vector in rows:
            found += [struct.pack(">hiii", 3, 4, id_, len(tokens)), tokens]
            found += [_NULL] if vector is None else [size, head, vector.astype(number).tobytes()]
        return b"".join([*found, _TRAILER])

    def unpacked(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        """Return vectors (n, dim) from the binary format in which the database sends them."""
        number = ">f4" if self.kind == "vector" else ">f2"
        joined = b"".join(vector[4:] for vector in vectors)
        return np.frombuffer(joined, number).reshape(-1, self.dim).astype(np.float32)

    def rounded(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors (n, dim) as the column holds them."""
        return vectors if self.kind == "vector" else vectors.astype(np.float16).astype(np.float32)
