"""Seals: what a file was when it was written, told beside it, and looked at before the file is believed.

XXH3-128 reads 14 GB a second where CRC-32 of zlib reads 2.6: a snapshot of gigabytes is looked through in a moment.
It finds accidents, not forgeries: who can change a file can change its seal, too.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

from moverank.indexer.errors import DamagedFile

FileChecksum = Mapping[str, Any]
"""`bytes`, the size of a file, and `xxh3`, its checksum in hexadecimal digits."""

_BLOCK = 1 << 20


def checksum(data: Any) -> str:
    """Return the checksum of anything with a buffer."""
    return xxhash.xxh3_128_hexdigest(data)


def short_checksum(data: Any) -> int:
    """Return a checksum of 64 bits, for what has many."""
    return xxhash.xxh3_64_intdigest(data)


def file_checksums(directory: Path) -> dict[str, FileChecksum]:
    """Return the seals of all files of a directory by name."""
    sealed: dict[str, FileChecksum] = {}
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            size, found = _read(file.fileno())
        sealed[path.name] = {"bytes": size, "xxh3": found}
    return sealed


def check_names(directory: Path, seals: Mapping[str, FileChecksum], but: str) -> None:
    """Raise DamagedFile where a file of a directory is missing, foreign, or of another size; `but` is not looked at."""
    there = {path.name: path.stat().st_size for path in directory.iterdir() if path.name != but}
    for name, seal in seals.items():
        if name not in there:
            raise DamagedFile(directory / name, "is missing")
        if there[name] != seal["bytes"]:
            raise DamagedFile(directory / name, f"has {there[name]:,} bytes where {seal['bytes']:,} were written")
    for name in there.keys() - seals.keys():
        raise DamagedFile(directory / name, "does not belong there")


def check_data(path: Path, data: Any, seal: FileChecksum) -> None:
    """Raise DamagedFile where `data`, all of a file, is not what was sealed."""
    if checksum(data) != seal["xxh3"]:
        raise DamagedFile(path, "has another checksum than it was written with")


def check_descriptor(path: Path, descriptor: int, seal: FileChecksum) -> None:
    """Raise DamagedFile where an open file is not what was sealed; it is read from its start and left there."""
    if _read(descriptor) != (seal["bytes"], seal["xxh3"]):
        raise DamagedFile(path, "has another checksum than it was written with")
    os.lseek(descriptor, 0, os.SEEK_SET)


def checksummed_json(content: Mapping[str, Any]) -> bytes:
    """Write a JSON object with its own checksum."""
    body = dict(content)
    return json.dumps(body | {"checksum": checksum(json.dumps(body).encode())}, indent=1).encode()


def read_checksummed_json(path: Path) -> dict[str, Any]:
    """Read what `checksummed_json` wrote; DamagedFile where a single byte differs from that, OSError where it is not there.

    The same object written in another way counts as damaged: then every flipped bit is found, even in a space.
    """
    data = path.read_bytes()
    try:
        found = json.loads(data)
        if isinstance(found, dict) and found.pop("checksum", None) and checksummed_json(found) == data:
            return found
    except (ValueError, RecursionError):
        pass
    raise DamagedFile(path, "has another checksum than it was written with")


def _read(descriptor: int) -> tuple[int, str]:
    """Return the size and the checksum of an open file."""
    hashed, size, buffer = xxhash.xxh3_128(), 0, bytearray(_BLOCK)
    os.lseek(descriptor, 0, os.SEEK_SET)
    with memoryview(buffer) as view:
        while count := os.readv(descriptor, [view]):
            hashed.update(view[:count])
            size += count
    return size, hashed.hexdigest()
