"""The coverage of one state of a collection, cached in its directory: counting it again reads every document.

The module `coverage`, which counts it, imports numpy; `info` reads the cache without numpy.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksummed_json, read_checksummed_json
from moverank.indexer.files.directory import CACHED
from moverank.indexer.store import Reader

_FILE = f"{CACHED}coverage.json"


class Coverage(NamedTuple):
    """The number of running words, every occurrence counted, and of running words with a vector."""

    words: int
    known: int
    steps: dict[str, int]
    """The running words by the step of the look-up that found their vectors."""

    def added(self, other: "Coverage") -> "Coverage":
        """Return the coverage of the words of both."""
        steps = {step: count + other.steps[step] for step, count in self.steps.items()}
        return Coverage(self.words + other.words, self.known + other.known, steps)

    @property
    def shares(self) -> dict[str, float]:
        """Return the share of running words by step, without steps that found none."""
        return {step: count / self.words for step, count in self.steps.items() if count}

    @property
    def share(self) -> float | None:
        """Return the share of running words with a vector; None if there are no words."""
        return self.known / self.words if self.words else None


def read_coverage(reader: Reader, directory: Path, fingerprint: str) -> Coverage | None:
    """Return the coverage of the state of `reader` by the word vectors with a `fingerprint`.

    None if it is not cached in `directory`, the collection's, or if the file is damaged.
    """
    with suppress(OSError, DamagedFile, KeyError):
        stored = read_checksummed_json(directory / _FILE)
        if stored["state"] == _state(reader, fingerprint):
            return Coverage(stored["words"], stored["known"], stored["steps"])
    return None


def write_coverage(reader: Reader, directory: Path, fingerprint: str, coverage: Coverage) -> None:
    """Cache the coverage of a state, unless the collection's `directory` is not writable."""
    content = checksummed_json({"state": _state(reader, fingerprint), **coverage._asdict()})
    with suppress(OSError), atomic_file(directory / _FILE) as file:  # it may be read-only, or the disk full
        file.write(content)


def _state(reader: Reader, fingerprint: str) -> list[Any]:
    """Return the values that distinguish states of a collection: each change has a random token."""
    revision = reader.revision()
    return [revision, reader.token(revision), fingerprint]
