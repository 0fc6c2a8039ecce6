"""A directory that comes to be whole or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.errors import IndexerError, VectorsError


@contextlib.contextmanager
def building(directory: Path) -> Iterator[Path]:
    """Give a fresh folder that becomes `directory` when the block is left, or vanishes where that fails.

    What was there before is replaced only then. Only a killed process leaves the folder, under a name with a dot.
    """
    directory = directory.absolute()
    folder = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
    try:
        folder.mkdir(parents=True)
        yield folder
        _sync(folder)
        _replace(directory, folder)
        _sync(directory.parent)
    except OSError as error:
        if isinstance(error, IndexerError):  # a reader's, out of whoever feeds the training
            raise
        raise VectorsError(f"{directory} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace(directory: Path, folder: Path) -> None:
    """Put `folder` in the place of `directory`, whether or not there is one."""
    if not directory.exists():
        folder.rename(directory)
        return
    aside = folder.with_name(f"{folder.name}.old")
    directory.rename(aside)
    try:
        folder.rename(directory)
    except BaseException:
        aside.rename(directory)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync(directory: Path) -> None:
    """Make the names in `directory` durable, not only the contents of its files."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
