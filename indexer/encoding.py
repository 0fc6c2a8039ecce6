"""The fitted encoder of a snapshot: a file of plain arrays beside the vectors that it made."""

import os
from pathlib import Path
from weakref import finalize
from zipfile import BadZipFile

import numpy as np

from indexer.errors import CollectionError
from rerank.encoders.encoder import Encoder
from rerank.encoders.registry import restore
from rerank.errors import EncoderError


class FittedEncoder:
    """An encoder on disk, restored when the first candidates are asked for.

    The file is held open until then: a writer may have put another in its place.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._file = os.open(path, os.O_RDONLY)
        self._close = finalize(self, os.close, self._file)
        self._encoder: Encoder | None = None

    def restored(self) -> Encoder:
        """Return the encoder; CollectionError where the file does not hold one."""
        if self._encoder is None:
            try:
                with os.fdopen(os.dup(self._file), "rb") as file, np.load(file, allow_pickle=False) as state:
                    self._encoder = restore(self._name, dict(state))
            except (EncoderError, OSError, ValueError, KeyError, BadZipFile) as error:
                raise CollectionError(
                    f"{self._path} is damaged: {error}; remove its directory and index again"
                ) from error
            self._close()
        return self._encoder


def save(encoder: Encoder, path: Path) -> None:
    """Write an encoder's state, to the disk itself."""
    with path.open("wb") as file:
        np.savez(file, **encoder.state())  # type: ignore[arg-type]  # its stub takes the arrays' names for its own
        file.flush()
        os.fsync(file.fileno())
