"""The fitted encoder of a snapshot, stored as a file of plain arrays."""

import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.atomic_write import durable_file
from moverank.indexer.files.checksums import FileChecksum
from moverank.indexer.files.open_file import OpenFile
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.encoders.encoder_registry import named
from moverank.rerank.errors import EncoderError


class FittedEncoder:
    """The encoder `name` in the file `path`, compared with its `checksum` and restored on first use."""

    def __init__(self, path: Path, name: str, checksum: FileChecksum | None = None) -> None:
        self._file, self._name = OpenFile(path, checksum), name
        self._encoder: Encoder | None = None

    def check(self) -> None:
        """Compare the file with its checksum; DamagedFile if they differ."""
        if self._encoder is None:
            self._file.check()

    def restored(self) -> Encoder:
        """Return the encoder; DamagedFile if the file does not hold one, EncoderError if its package is missing."""
        if self._encoder is None:
            self.check()
            encoder = named(self._name)  # outside of the block: a missing package is no damage
            try:
                with os.fdopen(os.dup(self._file.descriptor), "rb") as file, np.load(file, allow_pickle=False) as state:
                    self._encoder = encoder.restore(dict(state))
            except (EncoderError, OSError, ValueError, KeyError, BadZipFile) as error:
                raise DamagedFile(self._file.path, f"holds no encoder: {error}") from error
            self._file.close()
        return self._encoder


def save_encoder(encoder: Encoder, path: Path) -> None:
    """Write an encoder's state durably."""
    with durable_file(path) as file:
        np.savez(file, **encoder.state())  # type: ignore[arg-type]  # the stub confuses array names with parameters
