"""Arrays on disk: files of one array, files of several by name, and checks of values that are used as indices.

A file of one array belongs to a directory whose manifest has its checksum. A file of several contains its own, and a
damaged cache is computed again. Checksums can be forged, and compiled code does not check bounds: a wrong index would
read other memory. So the indices in a file are checked once, when the file is first used.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.atomic_write import atomic_file, durable_file
from moverank.indexer.files.checksums import MISMATCH, checksum, checksummed_json, file_checksums, joined_checksum
from moverank.indexer.files.directory import CACHED

Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name."""

Kinds = Mapping[str, tuple[str, int]]
"""The dtype and the number of dimensions of arrays, by name."""

SumType = TypeVar("SumType", np.int64, np.float64)
"""The type of sums."""

MOST_FILES = 16
"""The most caches of a snapshot in a directory: enough for a few values of gamma and a few languages."""

_HEADER = 32  # hexadecimal digits of a cache's checksum
_ALIGNED = 64  # every array begins at a multiple of this, for vectorised loops


class ArrayWriter:
    """Appends items to an array file, and counts them; see `array_file`."""

    def __init__(self, file: BinaryIO, dtype: str) -> None:
        self.count = 0
        self._file, self._dtype = file, dtype

    def write(self, items: NDArray[Any]) -> memoryview:
        """Append items (n, *shape), and return their bytes."""
        data = np.ascontiguousarray(items, self._dtype)
        self._file.write(data.data)
        self.count += len(data)
        return data.data


@contextmanager
def array_file(path: Path, dtype: str) -> Iterator[ArrayWriter]:
    """Create the file `path` of one array, which grows along its first axis; only the piece being written is in memory.

    `dtype` is the type of the items, with byte order. Raises OSError.
    """
    with durable_file(path, "xb") as file:
        yield ArrayWriter(file, dtype)


def write_array(path: Path, dtype: str, array: NDArray[Any]) -> None:
    """Create the file `path` of an `array` (n, ...); see `array_file`."""
    with array_file(path, dtype) as file:
        file.write(array)


def map_array(
    path: Path, dtype: str, shape: tuple[int, ...] | None = None, *, mode: Literal["r", "c"] = "c"
) -> NDArray[Any]:
    """Map the array that `array_file` wrote; with `shape` None, in one dimension.

    Raises DamagedFile for a file of another size, and OSError. The `mode` is copy-on-write although nothing is written:
    numba would compile each kernel again for read-only arrays.
    """
    size, itemsize = path.stat().st_size, np.dtype(dtype).itemsize
    shape = (size // itemsize,) if shape is None else shape
    if size != math.prod(shape) * itemsize:
        raise DamagedFile(path, MISMATCH)
    # A plain view: computations on an np.memmap would return np.memmap, too.
    return np.asarray(np.memmap(path, dtype, mode, shape=shape)) if size else np.empty(shape, dtype)


def write_checksums(path: Path, content: Mapping[str, Any]) -> None:
    """Create the JSON file `path`: `content` and, as "files", the checksums of all other files of its directory."""
    manifest = checksummed_json({**content, "files": file_checksums(path.parent)})
    with durable_file(path, "xb") as file:
        file.write(manifest)


def read_arrays(path: Path | None, key: str = "", kinds: Kinds | None = None) -> dict[str, NDArray[Any]] | None:
    """Map the arrays that `write_arrays` wrote; None if the file is missing or damaged, or has another key.

    None, too, if the arrays are not of these `kinds`.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        arrays = mapped_arrays(map_array(path, "|u1"), key) if path else None
        if arrays is not None and kinds in (
            None,
            {name: (array.dtype.str, array.ndim) for name, array in arrays.items()},
        ):
            return arrays
    return None


def mapped_arrays(file: NDArray[np.uint8], key: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays in a mapped file of several.

    Raises KeyError for another key, and ValueError, KeyError or TypeError for a file that does not match its checksum,
    or holds impossible arrays.
    """
    content = file[_HEADER:]
    if not _is_intact(file):
        raise ValueError(MISMATCH)
    described = json.loads(bytes(content[: 1 << 16]).partition(b"\n")[0])
    if described["key"] != key:
        raise KeyError(key)
    arrays = {}
    for name, (kind, shape, place) in described["arrays"].items():
        start, count = place - _HEADER, math.prod(shape if isinstance(shape, list) else [shape])
        if start < 0 or place % _ALIGNED or count < 0:
            raise ValueError(name)
        arrays[name] = content[start : start + count * np.dtype(kind).itemsize].view(kind).reshape(shape)
    return arrays


def is_intact(path: Path) -> bool:
    """Return whether a cache matches its checksum; OSError if it cannot be read."""
    return _is_intact(map_array(path, "|u1"))


def _is_intact(file: NDArray[np.uint8]) -> bool:
    return bytes(file[:_HEADER]).decode("latin-1") == checksum(file[_HEADER:])


def write_arrays(path: Path | None, arrays: Arrays, key: str = "") -> None:
    """Save arrays; do nothing without a `path`, or if it is not writable or the disk is full.

    A directory has at most `MOST_FILES` caches of a snapshot: clients of a server may choose any gamma.
    """
    if path is None or (path.name.startswith(CACHED) and not path.exists() and _is_full(path.parent)):
        return
    with suppress(OSError):
        save_arrays(path, arrays, key)


def save_arrays(path: Path, arrays: Arrays, key: str = "") -> None:
    """Write a file of several arrays atomically; raises OSError."""
    with atomic_file(path) as file:
        file.write(joined_checksum(_pieces(key, arrays)).encode())
        for piece in _pieces(key, arrays):
            file.write(piece)


def _is_full(directory: Path) -> bool:
    return len(list(directory.glob(f"{CACHED}*"))) >= MOST_FILES


def _pieces(key: str, arrays: Arrays) -> Iterator[Any]:
    """Yield the content after the checksum: a line of JSON, then the arrays, each aligned."""
    described, line, start = dict[str, tuple[str, tuple[int, ...], int]](), b"", 0
    while True:  # the line has the arrays' offsets, which depend on its length
        first = _aligned(_HEADER + len(line))
        if first == start and line:
            break
        start = place = first
        for name, array in arrays.items():
            described[name] = (array.dtype.str, array.shape, place)
            place = _aligned(place + array.nbytes)
        line = json.dumps({"key": key, "arrays": described}).encode() + b"\n"
    yield line + bytes(start - _HEADER - len(line))
    for array in arrays.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def is_within(values: NDArray[Any], least: float, limit: float) -> bool:
    """Return whether all `values` (n,) are from `least` to below `limit`."""
    return not len(values) or bool(values.min() >= least and values.max() < limit)


def is_increasing(ids: NDArray[Any]) -> bool:
    """Return whether `ids` (n,) are 0 or more and strictly increasing."""
    return not len(ids) or bool(ids[0] >= 0 and np.all(ids[1:] > ids[:-1]))


def are_starts(starts: NDArray[Any], rows: int, entries: int, *, filled: bool = False) -> bool:
    """Return whether `starts` (rows + 1,) divide `entries` into rows, which must not be empty if `filled`."""
    if rows < 0 or len(starts) != rows + 1 or starts[0] != 0 or starts[-1] != entries:
        return False
    return bool(np.all(starts[1:] > starts[:-1] if filled else starts[1:] >= starts[:-1]))


def kept(
    path: Path, key: str, compute: Callable[[], NDArray[SumType]], size: int, kind: type[SumType]
) -> NDArray[SumType]:
    """Return the result (size,) of `compute`, kept in the file `path` for `key` unless that is not writable."""
    stored = read_arrays(path, key, {"sums": (np.dtype(kind).str, 1)})
    if stored and len(stored["sums"]) == size:
        return stored["sums"]
    result = compute()
    write_arrays(path, {"sums": result}, key)
    return result
