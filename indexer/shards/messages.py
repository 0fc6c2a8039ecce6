"""Messages between a shard and the process which calls all shards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, IndexerError
from moverank.indexer.settings import Settings
from moverank.rerank.errors import RerankError
from moverank.rerank.ranking import StageCounts, TermScale

_Floats = NDArray[np.float64]


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


def failure_of(error: Exception) -> Failure:
    """Return the answer of a call that raised `error`: an error of this package, or of the system."""
    if isinstance(error, IndexerError | RerankError | OSError):
        return Failure(error)
    return Failure(CollectionError(f"a shard failed: {type(error).__name__}: {error}"))


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


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best documents of one shard, best first, and bounds of the others."""

    values: _Floats  # (m,)
    counts: StageCounts = field(default_factory=StageCounts)
    unsolved_bounds: _Floats = field(default_factory=lambda: np.empty(0))  # (u,), see `Outcome`
    floor: float = np.inf  # see `Outcome`
    scored: bool = False  # the values are negated scores
    ranked_by: str = ""
    unknown_words: tuple[str, ...] | None = None
    ignored_words: tuple[str, ...] | None = None
    problem: str | None = None  # the query has no word that this shard knows
    terms: tuple[TermScale, ...] = ()
    why_empty: str | None = None  # see `Ranking`


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """Explain the document `key` of one of the shards, or why it is not better than the k-th hit, at `kth`."""

    key: str
    kth: float | None = None
    hit: bool = False
