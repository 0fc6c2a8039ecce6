"""Vectors of documents in a file beside the records, by key; and arrays of numbers as `numpy.save` writes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.reading.inputs.numbered_lines import numbered_lines
from moverank.indexer.values.documents import Document, Rejection
from moverank.indexer.values.given_vectors import as_vector


def read_array(path: str) -> NDArray[Any]:
    """Map the array of numbers in a .npy file into memory; pickled objects are never loaded.

    Raises ReadError, which names the file, if it cannot be read or holds anything else.
    """
    try:
        found: Any = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:  # pickles, texts and files that are cut short
        raise ReadError(f"{path}: is no .npy file of numbers, as numpy.save writes them") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise ReadError(f"{path}: must hold one array of numbers: write a float32 matrix with numpy.save")
    return found


KeyedVectors = Mapping[str, Any] | tuple[Sequence[str], Any]
"""Vectors by key, or a list of keys (n,) and a matrix (n, d), whose row i belongs to key i."""

_SHOWN = 3  # keys named in a note


class VectorsByKey:
    """Vectors (d,) by the keys of records, without the prefix of their source."""

    def __init__(self, vectors: Mapping[str, Any]) -> None:
        self._vectors = vectors
        self._used: set[str] = set()

    @classmethod
    def of(cls, vectors: "KeyedVectors | VectorsByKey") -> "VectorsByKey":
        """Return the `vectors` of a program; UsageError if keys repeat, or the numbers of keys and rows differ."""
        if isinstance(vectors, cls):
            return vectors
        if isinstance(vectors, Mapping):
            return cls(vectors)
        try:
            keys, matrix = vectors  # type: ignore[misc]  # no other class has them
            keys = list(keys)
        except (TypeError, ValueError) as error:
            raise UsageError(f"vectors are a mapping of keys to vectors, or (keys, matrix): {error}") from error
        rows = np.asarray(matrix)
        if rows.ndim != 2 or len(rows) != len(keys):
            raise UsageError(f"{len(keys):,} keys need a matrix of as many rows, not an array of shape {rows.shape}")
        if len(set(keys)) < len(keys):
            raise UsageError(f"the key {_repeated(keys)!r} is given two vectors: keys must be unique")
        return cls(_Rows(keys, rows))

    @classmethod
    def read(cls, vectors: str, keys: str) -> "VectorsByKey":
        """Return the rows of the .npy file `vectors`, whose keys are the lines of the file `keys`.

        Raises ReadError, which names the file, if one of them cannot be read or they do not match.
        """
        matrix = read_array(vectors)
        if matrix.ndim != 2:
            raise ReadError(f"{vectors}: must hold a matrix, a row for each key, not an array of shape {matrix.shape}")
        names: dict[str, int] = {}
        for number, line in numbered_lines(keys):
            if number != len(names) + 1:
                raise ReadError(f"{keys}:{len(names) + 1}: is blank: the file needs one key on each line")
            if names.setdefault(line, number) != number:
                raise ReadError(f"{keys}:{number}: the key {line!r} is on line {names[line]}, too: keys must be unique")
        if len(names) != len(matrix):
            raise ReadError(
                f"{keys}: has {len(names):,} keys, but {vectors} {len(matrix):,} rows: row i belongs to line i"
            )
        return cls(_Rows(list(names), matrix))

    def attached(self, records: Iterable[Document | Rejection]) -> Iterator[Document | Rejection]:
        """Yield the records, each document with its vector; a document without one here keeps its own."""
        for record in records:
            key = _own_key(record) if isinstance(record, Document) else None
            if isinstance(record, Document) and key is not None and key in self._vectors:
                self._used.add(key)
                yield replace(record, vector=as_vector(self._vectors[key], f"the vector of document {key!r}").tolist())
            else:
                yield record

    def notes(self) -> Iterator[str]:
        """Report the keys that no document had."""
        count = len(self._vectors) - len(self._used)
        if not count:
            return
        names = ", ".join(map(repr, islice((key for key in self._vectors if key not in self._used), _SHOWN)))
        more = ", ..." if count > _SHOWN else ""
        yield f"{count:,} of {len(self._vectors):,} vectors have the key of no document of this run: {names}{more}"


class _Rows(Mapping[str, Any]):
    """The rows of a matrix by key; each is read when it is used."""

    def __init__(self, keys: Sequence[str], matrix: NDArray[Any]) -> None:
        self._rows, self._matrix = {key: row for row, key in enumerate(keys)}, matrix

    def __getitem__(self, key: str) -> NDArray[Any]:
        row: NDArray[Any] = self._matrix[self._rows[key]]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _own_key(document: Document) -> str:
    """Return the key of a document without the prefix of its source."""
    return document.key.removeprefix(document.origin.source.prefixed("")) if document.origin else document.key


def _repeated(keys: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
