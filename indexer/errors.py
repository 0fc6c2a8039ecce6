"""Errors of `indexer`.

IndexerError
├── UsageError         a call that cannot be meant: the caller has to change it
│   └── SettingsError  the collection was made with other settings
├── PruneRefused       everything else was done, but nothing was pruned: it might have been lost
├── ReadError          a source cannot be read at all
│   └── RecordError    a record of it is bad, and the run is strict
├── VectorsError       a file of word vectors is malformed or cannot be had
│   └── TooFewWords    there is not enough text to train them on
└── CollectionError    there is no usable collection in that place
    ├── LockedError    another process is writing to it
    ├── DamagedFile    a derived file is not what was written
    └── UnknownKey     it holds no document of that key
"""

from pathlib import Path

from moverank.indexer.documents import Changes


class IndexerError(Exception):
    """Whatever `indexer` refuses."""


class UsageError(IndexerError, ValueError):
    """A call that cannot be meant."""


class SettingsError(UsageError):
    """The collection was made with other settings."""


class PruneRefused(IndexerError):  # noqa: N818 - named after what happened
    """Everything else was done, and `changes` tells what; nothing was pruned, for it might have been lost."""

    def __init__(self, reason: str, changes: Changes) -> None:
        super().__init__(reason)
        self.changes = changes


class ReadError(IndexerError, OSError):
    """A source cannot be read at all."""


class RecordError(ReadError):
    """A record is bad, and the run is strict."""


class VectorsError(IndexerError, ValueError):
    """A file of word vectors is malformed or cannot be had."""


class TooFewWords(VectorsError):  # noqa: N818 - named after what happened
    """There is not enough text to train word vectors on."""


class CollectionError(IndexerError):
    """There is no usable collection in that place."""


class LockedError(CollectionError):
    """Another process is writing to the collection."""


class DamagedFile(CollectionError):  # noqa: N818 - named after what it is
    """A derived file is not what was written: whoever meets it rebuilds it from the database."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path, self.reason = path, reason


class UnknownKey(CollectionError, KeyError):  # noqa: N818 - named after what happened
    """The collection holds no document of that key."""

    def __str__(self) -> str:
        """Give the sentence itself: KeyError would put it in quotation marks."""
        return str(self.args[0])
