"""Messages between a shard and the process that calls all shards.

A `Call` goes to a shard; what its method returns, or a `Failure`, comes back: `ShardState`; of a search the bounds,
which are numbers (m,), then an `Outcome`, then a `Ranking` of the shard's own hits; see `shard`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from moverank.indexer.values.settings import Settings


class Call(NamedTuple):
    """A call of a method of a shard."""

    method: str
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = {}

    @classmethod
    def of(cls, method: str, *arguments: Any, **named: Any) -> "Call":
        """Return the call of a method with these arguments."""
        return cls(method, arguments, named)


@dataclass(frozen=True, slots=True)
class Failure:
    """A call failed with an `error` of this package, or of the system."""

    error: Exception


@dataclass(frozen=True, slots=True)
class ShardState:
    """The committed state of a shard: `revision` and its `token`, `documents`, and the `stored` settings.

    `fields` are the names of its documents' fields.
    """

    revision: int
    token: str
    documents: int
    stored: Mapping[str, Any]
    fields: tuple[str, ...]

    @property
    def settings(self) -> Settings:
        """Return the settings."""
        return Settings.restored(dict(self.stored))
