"""Merges what the shards found: the best of all, and what is proven about the list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.cluster.messages import Bounding, Found, Gathering, Message, Reply
from moverank.indexer.search.certificate import certificate
from moverank.indexer.search.ordering import best_first
from moverank.rerank.ranking import Hit, Ranking, StageCounts


def replies_to(messages: Mapping[str, Message], k: int) -> dict[str, Reply]:
    """Return the reply to each search that waits for one; those that have ended count with what they found."""
    gathered = [message.values for message in messages.values() if isinstance(message, Gathering)]
    joined = np.concatenate([np.empty(0), *gathered])
    bounds = [message for message in messages.values() if isinstance(message, Bounding)]
    ended = [message.values for message in messages.values() if isinstance(message, Found)]
    upper = _kth_smallest([*(bound.upper for bound in bounds), *ended], k)
    lower = _kth_smallest([*(bound.lower for bound in bounds), *ended], k)
    return {
        name: joined if isinstance(message, Gathering) else (upper, lower)
        for name, message in messages.items()
        if isinstance(message, Gathering | Bounding)
    }


def _kth_smallest(values: Sequence[NDArray[np.float64]], k: int) -> float:
    every = np.sort(np.concatenate([np.empty(0), *values]))
    return float(every[k - 1]) if len(every) >= k else np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The best documents of all shards: the shard of each, its position there, and what ranks it (k,)."""

    shards: tuple[str, ...]
    positions: tuple[int, ...]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, found: Mapping[str, Found], k: int) -> "Merged":
        """Return the k best; equal ones in the order of shards."""
        owners = [(name, position) for name, own in found.items() for position in range(len(own.values))]
        values = np.concatenate([np.empty(0), *(own.values for own in found.values())])
        best, values = best_first(values, np.arange(len(values)), k)
        chosen = [owners[row] for row in best.tolist()]
        return cls(tuple(name for name, _ in chosen), tuple(position for _, position in chosen), values)

    def positions_in(self, shard: str) -> list[int]:
        """Return the positions of the best documents that are in a shard."""
        return [position for name, position in zip(self.shards, self.positions, strict=True) if name == shard]

    def in_order(self, hits: Mapping[str, Sequence[Hit]]) -> tuple[Hit, ...]:
        """Return the hits of all shards, best first; those of a shard are in the order of `positions_in`."""
        of_shard = {name: iter(own) for name, own in hits.items()}
        return tuple(next(of_shard[name]) for name in self.shards)


def merged_ranking(
    found: Mapping[str, Found],
    merged: Merged,
    hits: tuple[Hit, ...],
    k: int,
    within: float,
    missing: Sequence[str],
    seconds: float,
) -> Ranking:
    """Return the ranking of all shards, for k hits not farther than `within`, with its certificate.

    Nothing is known of the documents of `missing` shards.
    """
    some = next(own for own in found.values() if own.problem is None)
    # Nothing is known of missing documents but that no distance or sum is negative.
    unknown = -np.inf if some.scored else 0.0
    floor = min([*(own.floor for own in found.values()), *([unknown] if missing else [])])
    unsolved_bounds = np.concatenate([own.unsolved_bounds for own in found.values()])
    proven, error = certificate(merged.values, unsolved_bounds, floor, k, within)
    certified = proven and not missing
    scope: Literal["collection", "candidates", "shards"] = "collection"
    if missing:
        scope = "shards"
    elif not certified and floor < np.inf:
        scope = "candidates"
    ignored = [set(own.ignored_words or ()) for own in found.values() if own.problem is None]
    return Ranking(
        hits,
        certified,
        scope,
        reduce(add, (own.counts for own in found.values()), StageCounts()),
        error,
        seconds,
        ranked_by=some.ranked_by,
        unknown_words=some.unknown_words,
        ignored_words=None
        if some.ignored_words is None
        else tuple(word for word in some.ignored_words if all(word in own for own in ignored)),
        missing_shards=tuple(missing),
        # A shard without documents does not know the score of unrelated ones.
        terms=found[merged.shards[0]].terms if merged.shards else some.terms,
        why_empty=_why_empty([own.why_empty for own in found.values() if own.problem is None]),
    )


def _why_empty(reasons: Sequence[str | None]) -> str | None:
    """Return why no document of any shard passes the filter; shards may have different reasons."""
    if any(reason is None for reason in reasons):
        return None
    return reasons[0] if len(set(reasons)) == 1 else "no document passes the filter: in each shard for another reason"
