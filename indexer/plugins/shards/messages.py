"""Messages between a shard and the process that calls all shards.

A `Call` names a method of `shard.Shard` or `ShardContents`; its result, a `Failure` or `Lost` comes back:

- `state`: a `ShardState`; `adopt` gives the shard the statistics of all shards, of which `tables` are a part;
- `begin` a search: `QueryStatistics`, or why the query has no word;
- its `phase`s: the bounds, which are numbers (m,), then an `Outcome`, then a `Ranking` of the shard's own hits; `end`;
- `begin_feed`, `feed`, `end_feed`: documents to index, and what a run has changed;
- `with_collection`: the result of a function of the shard's collection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
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


class Lost(NamedTuple):
    """The answer of a shard whose process has ended, or has not answered `since` a time of the monotonic clock."""

    since: float = inf


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
