"""Arrays in `.npy` files: written piece by piece, and memory-mapped only if the header is exactly the expected one."""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.atomic_write import durable_file
from moverank.indexer.vectors.manifest import REPAIR_HINT


class ArrayWriter:
    """Appends items to an array file and hashes them; see `array_file`."""

    def __init__(self, file: BinaryIO, dtype: str) -> None:
        self.count = 0
        self._file, self._dtype = file, dtype
        self._sha256 = hashlib.sha256()

    def write(self, items: NDArray[Any]) -> None:
        """Append items (n, *shape)."""
        data = np.ascontiguousarray(items, self._dtype)
        self._sha256.update(data.data)
        self._file.write(data.data)
        self.count += len(data)

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of all items so far."""
        return self._sha256.digest()


@contextmanager
def array_file(path: Path, dtype: str, shape: tuple[int, ...] = ()) -> Iterator[ArrayWriter]:
    """Create the array file `path`, which grows along its first axis; only the piece being written is in memory.

    The header is written last: an unfinished file cannot be mistaken for a complete one. Raises OSError.

    `dtype` is that of the items, with byte order; `shape` is that of one item, `()` for scalars.
    """
    with durable_file(path, "xb") as file:
        file.write(b"\0" * len(_header(dtype, (0, *shape))))
        writer = ArrayWriter(file, dtype)
        yield writer
        file.seek(0)
        file.write(_header(dtype, (writer.count, *shape)))


def map_array(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map the array file `path` read-only; VectorsError if it differs from this `dtype` and `shape`."""
    expected = _header(dtype, shape)
    try:
        with path.open("rb") as file:
            header = file.read(len(expected))
        data_size = path.stat().st_size - len(expected)
        if header != expected or data_size != int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize:
            raise VectorsError(f"{path} is damaged: {REPAIR_HINT}")
        # A plain view: computations on an np.memmap would return np.memmap, too.
        return np.asarray(np.memmap(path, dtype, "r", len(expected), shape))
    except OSError as error:
        raise VectorsError(f"{path} cannot be read ({error.strerror}): {REPAIR_HINT}") from error


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return numpy's header; its padding makes its length independent of the size of the first axis."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()
