"""The fitted encoder of a snapshot: a file of plain arrays beside the vectors that it made."""

import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import FileChecksum
from moverank.indexer.files.open_file import OpenFile
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.encoders.encoder_registry import restore
from moverank.rerank.errors import EncoderError


class FittedEncoder:
    """An encoder on disk, restored when the first candidates are asked for."""

    def __init__(self, path: Path, name: str, seal: FileChecksum | None = None) -> None:
        self._file, self._name = OpenFile(path, seal), name
        self._encoder: Encoder | None = None

    def check(self) -> None:
        """Look through the file; DamagedFile where it is not what was written."""
        if self._encoder is None:
            self._file.check()

    def restored(self) -> Encoder:
        """Return the encoder; DamagedFile where the file does not hold one."""
        if self._encoder is None:
            self.check()
            try:
                with os.fdopen(os.dup(self._file.descriptor), "rb") as file, np.load(file, allow_pickle=False) as state:
                    self._encoder = restore(self._name, dict(state))
            except (EncoderError, OSError, ValueError, KeyError, BadZipFile) as error:
                raise DamagedFile(self._file.path, f"holds no encoder: {error}") from error
            self._file.close()
        return self._encoder


def save(encoder: Encoder, path: Path) -> None:
    """Write an encoder's state, to the disk itself."""
    with path.open("wb") as file:
        np.savez(file, **encoder.state())  # type: ignore[arg-type]  # its stub takes the arrays' names for its own
        file.flush()
        os.fsync(file.fileno())
