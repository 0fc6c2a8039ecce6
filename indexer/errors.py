"""Errors of `indexer`.

IndexerError
├── UsageError         invalid arguments
│   ├── SettingsError     the collection was made with other settings
│   └── QueryVectorError  a query has no vector although it needs one, or an unusable one
├── PruneRefused       nothing was changed: pruning would have removed more than half of the documents
├── ReadError          a source cannot be read at all
│   └── RecordError    a record of the source is bad, and the run is strict
├── VectorsError       a file of word vectors is malformed or unavailable
│   └── TooFewWords    there is not enough text to train vectors on
├── PlugInError        what another package provides is unusable
└── CollectionError    the collection cannot be used as requested
    ├── NoCollection   there is none at the place
    ├── LockedError    another process is writing to the collection
    ├── ConnectionLost the connection to the database was lost
    ├── PartLost       a part of the collection cannot be reached
    ├── NoPermission   the user of the database, or of the files, may not do this
    ├── DamagedFile    a file differs from what was written
    └── UnknownKey     no document has the given key, or no watch the given name
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moverank.indexer.values.documents import Changes


class IndexerError(Exception):
    """Base of all errors of `indexer`."""


class UsageError(IndexerError, ValueError):
    """Invalid arguments."""


class SettingsError(UsageError):
    """The collection was made with other settings."""


class QueryVectorError(UsageError):
    """A query has no vector although the search needs one, or an unusable one."""


class PruneRefused(IndexerError):  # noqa: N818 - named after what happened
    """Nothing was changed: pruning would have removed more than half of the documents. `changes` counts rejections."""

    def __init__(self, reason: str, changes: "Changes") -> None:
        super().__init__(reason)
        self.changes = changes

    def __reduce__(self) -> "tuple[type, tuple[str, Changes]]":
        """Return the class and its arguments, from which another process makes the error again."""
        return type(self), (str(self), self.changes)


class ReadError(IndexerError, OSError):
    """A source cannot be read at all."""


class RecordError(ReadError):
    """A record is bad, and the run is strict."""


class VectorsError(IndexerError, ValueError):
    """A file of word vectors is malformed or unavailable."""


class TooFewWords(VectorsError):  # noqa: N818 - named after what happened
    """There is not enough text to train word vectors on."""


class PlugInError(IndexerError):
    """What another package provides is unusable."""


class CollectionError(IndexerError):
    """The collection is missing, damaged or cannot be used as requested."""


class NoCollection(CollectionError):  # noqa: N818 - named after the missing thing
    """There is no collection at the place."""


class LockedError(CollectionError):
    """Another process is writing to the collection."""


class ConnectionLost(CollectionError):  # noqa: N818 - named after what happened
    """The connection to the database was lost: what was not committed was not changed."""


class PartLost(CollectionError):  # noqa: N818 - likewise
    """A part of the collection, such as a shard, cannot be reached now; the next call may find it again."""


class NoPermission(CollectionError):  # noqa: N818 - named after the missing thing
    """The user of the database, or of the files, may not do this."""


class DamagedFile(CollectionError):  # noqa: N818 - named after what it is
    """The file at `path` differs from what was written; `reason` says how."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type, tuple[Path, str]]:
        """Return the class and its arguments, from which another process makes the error again."""
        return type(self), (self.path, self.reason)


class UnknownKey(CollectionError, KeyError):  # noqa: N818 - named after what happened
    """The collection has no document with the given key, or no watch with the given name."""

    def __str__(self) -> str:
        """Return the message itself: KeyError would return its repr."""
        return str(self.args[0])
