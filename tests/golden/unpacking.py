"""Unpacks archives of the tests."""

import tarfile
from pathlib import Path
from typing import Any

SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Arguments of `extractall`: a filter of members, which Python has since 3.11.4."""


def unpack(archive: Path, directory: Path) -> None:
    """Unpack a tar file of ours."""
    with tarfile.open(archive) as packed:
        packed.extractall(directory, **SAFELY)  # noqa: S202 - our own archives
