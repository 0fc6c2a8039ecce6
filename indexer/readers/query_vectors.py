"""Vectors of queries: a JSON list on the command line, on standard input or in a file, or a .npy file."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError, ReadError
from moverank.indexer.readers.npy_file import read_array
from moverank.indexer.readers.queries import BatchQuery
from moverank.indexer.readers.sources import STDIN

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
        return _parsed(given, "--query-vector")
    if given == STDIN:
        return _parsed(sys.stdin.buffer.read(), "standard input")
    try:
        with Path(given).open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return read_array(given)
            file.seek(0)
            return _parsed(file.read(), given)
    except OSError as error:
        raise ReadError(f"{given}: cannot be read: {error.strerror or error}") from error


def _parsed(text: str | bytes, where: str) -> NDArray[Any]:
    """Parse lists of numbers in JSON; `where` they are written."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(json.loads(text), np.float32)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise QueryVectorError(f"{where}: is neither a JSON list of numbers nor a .npy file") from error
