"""Arrays in `.npy` files: written a piece at a time, mapped into memory without trusting what the file says."""

import hashlib
import io
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.block_checksums import MEND


class ArrayFile:
    """An array that grows along its first axis by plain writes: no more memory than the piece in hand.

    `shape` is that of one item, `()` for a vector's. The header is written last, so an unfinished file cannot be
    mistaken for a whole one. Used as a context; `digest` is the SHA-256 of the data once that is left.
    """

    def __init__(self, path: Path, dtype: str, shape: tuple[int, ...] = ()) -> None:
        self.dtype, self.shape, self.count = dtype, shape, 0
        self._sha256 = hashlib.sha256()
        self._file = path.open("xb")

    def __enter__(self) -> Self:
        self._file.write(b"\0" * len(_header(self.dtype, (0, *self.shape))))
        return self

    def write(self, items: NDArray[Any]) -> None:
        """Add items (n, *shape)."""
        data = np.ascontiguousarray(items, self.dtype)
        self._sha256.update(data.data)
        self._file.write(data.data)
        self.count += len(data)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0)
                self._file.write(_header(self.dtype, (self.count, *self.shape)))
                self._file.flush()
                os.fsync(self._file.fileno())

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of all the items."""
        return self._sha256.digest()


def map_array(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map the array of this type and shape into memory, read-only; VectorsError where the file is anything else."""
    header = _header(dtype, shape)
    try:
        with path.open("rb") as file:
            found = file.read(len(header))
        size = path.stat().st_size
        if found != header or size != len(header) + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize:
            raise VectorsError(f"{path} is damaged: {MEND}")
        # A plain view: np.memmap's own type would stick to whatever is computed from it.
        return np.asarray(np.memmap(path, dtype, "r", len(header), shape))
    except OSError as error:
        raise VectorsError(f"{path} cannot be read ({error.strerror}): {MEND}") from error


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return numpy's header; it leaves room for a longer first axis, so that its own length depends on nothing."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()
