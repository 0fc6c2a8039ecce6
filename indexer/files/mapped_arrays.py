"""Arrays in one file that is mapped into memory, with its checksum: whatever is damaged or stale is computed again."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksum, joined_checksum

_HEADER = 32  # hexadecimal digits of the checksum of everything behind them
_ALIGNED = 64  # every array begins at a multiple of this, for vectorised loops

Arrays = Mapping[str, NDArray[Any]]
"""Arrays of one dimension by name."""


def read_mapped(path: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """Map what `write_mapped` wrote for `key`; None if there is no such file, if it has another key, or is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = _mapped(path)
        if content is None:
            return None
        line = bytes(content[_HEADER : _HEADER + bytes(content[_HEADER : _HEADER + (1 << 16)]).index(b"\n")])
        described = json.loads(line)
        if described["key"] == key:
            return {
                name: content[start : start + size * np.dtype(kind).itemsize].view(kind)
                for name, (kind, size, start) in described["arrays"].items()
            }
    return None


def is_intact(path: Path) -> bool:
    """Return whether the file matches its checksum; OSError if it cannot be read."""
    try:
        return _mapped(path) is not None
    except ValueError:  # an empty file cannot be mapped
        return False


def _mapped(path: Path) -> NDArray[np.uint8] | None:
    """Map a whole file; None if it does not match its checksum."""
    # Copy-on-write, although nothing is written: numba would compile each kernel again for read-only arrays.
    content = np.asarray(np.memmap(path, np.uint8, "c"))
    matches = bytes(content[:_HEADER]).decode("latin-1") == checksum(content[_HEADER:])
    return content if matches else None


def write_mapped(path: Path, key: str, arrays: Arrays) -> None:
    """Write arrays atomically for `read_mapped`; nothing is kept where `path` is not writable, or the disk full."""
    with suppress(OSError), atomic_file(path) as file:
        file.write(joined_checksum(_pieces(key, arrays)).encode())
        for piece in _pieces(key, arrays):
            file.write(piece)


def _pieces(key: str, arrays: Arrays) -> Iterator[Any]:
    """Yield what is behind the checksum: a line of JSON, then the arrays, each aligned."""
    described, line, start = dict[str, tuple[str, int, int]](), b"", 0
    while True:  # the line has the places of the arrays, which depend on its length
        first = _aligned(_HEADER + len(line))
        if first == start and line:
            break
        start = place = first
        for name, array in arrays.items():
            described[name] = (array.dtype.str, len(array), place)
            place = _aligned(place + array.nbytes)
        line = json.dumps({"key": key, "arrays": described}).encode() + b"\n"
    yield line + bytes(start - _HEADER - len(line))
    for array in arrays.values():
        yield np.ascontiguousarray(array).data.cast("B") if len(array) else b""
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
