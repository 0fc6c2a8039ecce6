"""Arrays cached in one file with its checksum: whatever is damaged or missing is computed again."""

from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksum

_HEADER = 32  # hexadecimal digits of the checksum


def read_arrays(path: Path | None) -> dict[str, NDArray[Any]] | None:
    """Read what `write_arrays` wrote, by name; None if there is no such file, or if it is damaged."""
    with suppress(OSError, ValueError, EOFError, BadZipFile):
        content = path.read_bytes() if path else b""
        if content[:_HEADER] == checksum(content[_HEADER:]).encode():
            with np.load(BytesIO(content[_HEADER:])) as stored:
                return {name: stored[name] for name in stored.files}
    return None


def write_arrays(path: Path | None, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays atomically; nothing is kept without a `path`, or if it is not writable."""
    if path is None:
        return
    buffer = BytesIO()
    np.savez(buffer, **dict[str, Any](arrays))
    content = buffer.getvalue()
    with suppress(OSError), atomic_file(path) as file:  # the directory may be read-only, or the disk full
        file.write(checksum(content).encode() + content)
