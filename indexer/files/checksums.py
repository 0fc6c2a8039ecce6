"""File checksums: recorded when a file is written, compared before the file is used.

XXH3-128 processes 14 GB per second, zlib's CRC-32 2.6: a snapshot of some gigabytes is checked in under a second.
Checksums detect accidental damage, not forgery: a process that can change a file can change its checksum, too.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import xxhash

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.systems import read_into

FileChecksum = Mapping[str, Any]
"""`bytes`, the size of a file, and `xxh3`, its checksum in hexadecimal digits."""

MISMATCH = "does not match its checksum"
_BLOCK = 1 << 20


def checksum(data: Any) -> str:
    """Return the checksum of any buffer: 128 bits, as hexadecimal digits."""
    return xxhash.xxh3_128_hexdigest(data)


def joined_checksum(pieces: Iterable[Any]) -> str:
    """Return the `checksum` of the concatenation of several buffers."""
    digest = xxhash.xxh3_128()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def short_checksum(data: Any) -> int:
    """Return a 64-bit checksum of any buffer, for data that is checked in many small blocks."""
    return xxhash.xxh3_64_intdigest(data)


def file_checksums(directory: Path) -> dict[str, FileChecksum]:
    """Return the checksums of all files of a directory, by name."""
    checksums: dict[str, FileChecksum] = {}
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            size, digest = _size_and_checksum(file.fileno())
        checksums[path.name] = {"bytes": size, "xxh3": digest}
    return checksums


def check_names(directory: Path, checksums: Mapping[str, FileChecksum], ignored: str) -> None:
    """Raise DamagedFile if a file of `directory` is missing, unexpected, or of the wrong size.

    `checksums` has every expected file, by name; the file `ignored`, which stores the checksums, is not checked.
    """
    sizes = {path.name: path.stat().st_size for path in directory.iterdir() if path.name != ignored}
    for name, expected in checksums.items():
        if name not in sizes:
            raise DamagedFile(directory / name, "is missing")
        if sizes[name] != expected["bytes"]:
            raise DamagedFile(directory / name, f"has {sizes[name]:,} bytes where {expected['bytes']:,} were written")
    for name in sizes.keys() - checksums.keys():
        raise DamagedFile(directory / name, "does not belong there")


def check_data(path: Path, data: Any, expected: FileChecksum) -> None:
    """Raise DamagedFile, naming `path`, if the checksum of `data`, the whole file, is not the `expected` one."""
    if checksum(data) != expected["xxh3"]:
        raise DamagedFile(path, MISMATCH)


def check_descriptor(path: Path, descriptor: int, expected: FileChecksum) -> None:
    """Raise DamagedFile, naming `path`, if the open file `descriptor` differs from the `expected` checksum.

    The file is read from its start, and its position is reset to the start.
    """
    if _size_and_checksum(descriptor) != (expected["bytes"], expected["xxh3"]):
        raise DamagedFile(path, MISMATCH)
    os.lseek(descriptor, 0, os.SEEK_SET)


def checksummed_json(content: Mapping[str, Any]) -> bytes:
    """Return a JSON object that contains its own checksum."""
    body = dict(content)
    return json.dumps(body | {"checksum": checksum(json.dumps(body).encode())}, indent=1).encode()


def read_checksummed_json(path: Path) -> dict[str, Any]:
    """Read the output of `checksummed_json`; DamagedFile if any byte differs, OSError if it cannot be read.

    Other formatting of the same object counts as damage, so that every flipped bit is detected, even in white space.
    """
    data = path.read_bytes()
    try:
        content = json.loads(data)
        if isinstance(content, dict) and content.pop("checksum", None) and checksummed_json(content) == data:
            return content
    except (ValueError, RecursionError):
        pass
    raise DamagedFile(path, MISMATCH)


def _size_and_checksum(descriptor: int) -> tuple[int, str]:
    """Return the size and the checksum of an open file."""
    digest, size, buffer = xxhash.xxh3_128(), 0, bytearray(_BLOCK)
    os.lseek(descriptor, 0, os.SEEK_SET)
    with memoryview(buffer) as view:
        while count := read_into(descriptor, view):
            digest.update(view[:count])
            size += count
    return size, digest.hexdigest()
