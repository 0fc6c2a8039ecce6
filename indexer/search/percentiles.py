"""The share of the documents that rank above a hit: known from its place, or estimated from a sample of documents.

The population is all documents that have a word, without the query itself if it is stored: a filter does not change it,
so that shares of different queries and filters compare.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import short_checksum
from moverank.indexer.search.by_distance import certificate
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.view import View

SAMPLED = 5000
"""The most documents of the sample: where none of them is above a hit, at most .09 % of all documents are."""
FEW = 1000
"""The documents of a first sample, which suffice unless few of them are above the last hit."""

_FEW_ABOVE = 20  # for few hits above, the large sample costs little: most of its documents are pruned by bounds
_ERROR = 0.025  # of the interval by each of both samples: half of it on each side
_ROUNDING = 1e-9  # values that differ by less are equal

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The number of `documents` that a hit is compared with, and a sample of them: all, if there are few."""

    documents: int
    ids: NDArray[np.int64]  # (s,), increasing
    order: NDArray[np.uint64]  # (s,) pseudo-random numbers of the ids; the sample has the smallest ones

    @classmethod
    def of(cls, view: View, without: int | None, size: int) -> "Population":
        """Return the population of a view without the document `without`, with a sample of at most a `size`."""
        every = view.computed.get("population", lambda: cls.drawn(view.scores.ids, view.shard))
        if without is not None and np.isin(without, view.scores.ids):
            kept = every.ids != without
            every = cls(every.documents - 1, every.ids[kept], every.order[kept])
        chosen = np.sort(np.argsort(every.order)[:size])
        return cls(every.documents, every.ids[chosen], every.order[chosen])

    @classmethod
    def drawn(cls, ids: NDArray[np.int64], shard: str = "") -> "Population":
        """Draw the sample from the documents `ids` (n,) of a `shard`; a document that is added replaces at most one."""
        order = _mixed(ids, short_checksum(shard.encode()) if shard else 0)
        chosen = np.argpartition(order, SAMPLED - 1)[:SAMPLED] if len(ids) > SAMPLED else np.arange(len(ids))
        chosen = chosen[np.argsort(ids[chosen])]
        return cls(len(ids), ids[chosen], order[chosen])


def _mixed(ids: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return a number (n,) of 64 bits for each id: distinct for distinct ids, and pseudo-random (SplitMix64).

    Shards have the same ids and need different `seed`s: else all of them would sample the same ids.
    """
    numbers = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


@dataclass(frozen=True, slots=True, eq=False)
class SampledValues:
    """The values that rank the sample of a population of so many `documents`."""

    documents: int
    order: NDArray[np.uint64]  # (s,), see `Population`
    values: _Floats  # (s,), infinite for a document that is no hit, or beyond the limit of the search

    @classmethod
    def unranked(cls, population: Population) -> Self:
        """Return the sample of a population, none of which is a hit."""
        return cls(population.documents, population.order, np.full(len(population.ids), np.inf))

    @classmethod
    def merged(cls, shards: Iterable[Self], size: int) -> "SampledValues":
        """Return the values of the sample of all shards' documents; each shard has one of at most the same `size`."""
        own = list(shards)
        order, values = (np.concatenate([getattr(one, name) for one in own]) for name in ("order", "values"))
        chosen = np.argsort(order, kind="stable")[:size]
        return cls(sum(one.documents for one in own), order[chosen], values[chosen])


def percentiles(values: _Floats, sampled: Callable[[float, int], SampledValues], *, placed: bool) -> _Floats:
    """Return the percentiles (k, 3) of hits with increasing `values` (k,): share, and the interval that contains it.

    `placed`: no document that is missing among the hits is above the last one, so that their places are the shares.
    `sampled` returns the values up to a limit of a sample of at most a size. The percentiles increase with the values.
    """
    placed = placed or not len(values)
    sample = sampled(-np.inf if placed else float(values[-1]), FEW)
    hits = _above(values, values)
    if placed:
        return np.repeat(hits[:, None] / max(1, sample.documents), 3, axis=1)
    above = _above(sample.values, values)
    if len(sample.values) < sample.documents and above[-1] <= _FEW_ABOVE:
        sample = sampled(float(values[-1]), SAMPLED)
        above = _above(sample.values, values)
    documents, size = max(1, sample.documents), len(sample.values)
    low, high = interval(above, size)
    low = np.maximum(low, np.maximum(hits, above) / documents)
    high = np.maximum(low, np.minimum(high, (documents - size + above) / documents))
    return np.column_stack([np.clip(above / max(1, size), low, high), low, high])


def _above(values: _Floats, hits: _Floats) -> NDArray[np.int64]:
    """Return how many of `values` (n,) are smaller than each value of the `hits` (k,)."""
    limits = hits - _ROUNDING * np.maximum(np.abs(hits), 1.0)
    return np.searchsorted(np.sort(values), limits)


def interval(above: NDArray[np.int64], size: int) -> tuple[_Floats, _Floats]:
    """Return bounds (k,), lower and upper, of a population's shares, by counts `above` (k,) in a sample of a `size`.

    Source: Clopper & Pearson 1934. They hold for a sample with replacement, and all the more for one without; each end
    is wrong in at most 1.25 % of cases, so that either of two samples contains the share in 95 %.
    """
    from scipy.special import betaincinv

    low = np.where(above > 0, betaincinv(np.maximum(above, 1), size - above + 1, _ERROR / 2), 0.0)
    high = np.where(above < size, betaincinv(above + 1, np.maximum(size - above, 1), 1 - _ERROR / 2), 1.0)
    return low, high


def few_within(percentiles_of_hits: _Floats, share: float) -> int:
    """Return how many hits, from the first on, have at most the `share` of the documents above them."""
    return int(np.searchsorted(percentiles_of_hits[:, 0], share * (1 + _ROUNDING), side="right"))


def value_below(value: float) -> float:
    """Return the limit of a list that ends before a hit with a `value`."""
    return float(np.nextafter(value, -np.inf))


def with_percentiles(outcome: Outcome, query: Query, found: _Floats) -> Outcome:
    """Return the outcome of a query with the percentiles (k, 3) that were `found`, up to the share of the query."""
    outcome, few = replace(outcome, percentiles=found), few_within(found, query.largest_share)
    if few == len(found):
        return outcome
    proof = certificate(
        outcome.values[:few], outcome.unsolved_bounds, outcome.floor, query.k, value_below(outcome.values[few])
    )
    scope = "collection" if proof.proven else outcome.scope
    return replace(outcome.take(np.arange(few)), certified=proof.proven, scope=scope, largest_error=proof.largest_error)
