"""The coverage of one state of a collection, cached there: counting it again reads every document."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksummed_json, read_checksummed_json
from moverank.indexer.files.directory import CACHED
from moverank.indexer.store.state_reader import StateReader

_FILE = f"{CACHED}coverage.json"


class Coverage(NamedTuple):
    """The number of running words, each counted as often as it occurs, and of those with a vector."""

    words: int
    known: int

    @property
    def share(self) -> float | None:
        """Return the share of running words with a vector; None if there are no words."""
        return self.known / self.words if self.words else None


def read_coverage(reader: StateReader, directory: Path, fingerprint: str) -> Coverage | None:
    """Return the coverage of the state of `reader` by the word vectors with a `fingerprint`.

    None if it is not cached in `directory`, the collection's, or if the file is damaged.
    """
    with suppress(OSError, DamagedFile):
        stored = read_checksummed_json(directory / _FILE)
        if stored["state"] == _state(reader, fingerprint):
            return Coverage(stored["words"], stored["known"])
    return None


def write_coverage(reader: StateReader, directory: Path, fingerprint: str, coverage: Coverage) -> None:
    """Cache the coverage of a state, unless the collection's `directory` is not writable."""
    content = checksummed_json({"state": _state(reader, fingerprint), **coverage._asdict()})
    with suppress(OSError), atomic_file(directory / _FILE) as file:  # it may be read-only, or the disk full
        file.write(content)


def _state(reader: StateReader, fingerprint: str) -> list[Any]:
    """Return what distinguishes states of a collection: each change has a random token."""
    revision = reader.revision()
    return [revision, reader.token(revision), fingerprint]
