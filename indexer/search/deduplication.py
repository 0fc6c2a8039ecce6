"""Chooses documents to keep, no two of which are near each other, and the kept document that each other one copies.

The kept documents are a maximal independent set of the graph of all pairs within a distance. Documents are visited in
an order; each is kept unless it is within the distance of an earlier kept one.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.filters import matching_ids, sizes_of
from moverank.indexer.search.differences import Facts
from moverank.indexer.search.near_documents import Deduplication
from moverank.indexer.search.ordering import rounded
from moverank.indexer.search.pair_search import FoundPairs
from moverank.indexer.search.pairs import PairSource
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.store import Reader
from moverank.indexer.values.pair_options import DedupeOptions, PairSearch
from moverank.rerank.bags.bag import lookup
from moverank.rerank.ranking import Flow


def deduplicate(
    source: PairSource,
    search: PairSearch,
    keep: DedupeOptions,
    order_of: Callable[[NDArray[np.int64]], NDArray[np.intp]],
    flows_of: Callable[[int, int], tuple[Flow, ...]] | None = None,
) -> Deduplication:
    """Choose the documents of `source` to keep; `order_of` returns the positions of their ids in the order of visits.

    `flows_of` returns the flows from one document to another, by their ids, if they are requested.
    """
    found = source.find(search)
    facts = source.facts(found.documents)
    removals, kept, differing = separated(found, order_of(found.ids), facts, differing=keep.differing)
    pairs, others = (source.shown(each, facts) for each in (removals, differing))
    keys = source.keys(kept.tolist())
    result = Deduplication.of(pairs, [keys[id_] for id_ in kept.tolist()], search.within, others)
    if flows_of is None:
        return result
    flows = map(flows_of, removals.first.tolist(), removals.second.tolist())
    return replace(
        result, removed=tuple(replace(one, flows=own) for one, own in zip(result.removed, flows, strict=True))
    )


def separated(
    found: FoundPairs, order: NDArray[np.intp], facts: Mapping[int, Facts], *, differing: bool = False
) -> tuple[FoundPairs, NDArray[np.int64], FoundPairs]:
    """Return what `deduplicated` returns for documents that state the same, and pairs of kept ones that do not.

    These pairs are of each kept document with the nearest one before it in the order. `differing`: ignore what
    documents state.
    """
    apart = np.zeros(len(found.first), bool) if differing else found.differing(facts)
    removals, kept = deduplicated(found.take(~apart), order)
    near = found.take(apart & np.isin(found.first, kept) & np.isin(found.second, kept))
    place = _places(found, order)
    swapped = place(near.first) < place(near.second)
    later, earlier = np.where(swapped, near.second, near.first), np.where(swapped, near.first, near.second)
    nearest = np.sort(np.unique(later, return_index=True)[1])  # pairs are ordered by distance
    return removals, kept, replace(near, first=later, second=earlier).take(nearest)


def deduplicated(found: FoundPairs, order: NDArray[np.intp]) -> tuple[FoundPairs, NDArray[np.int64]]:
    """Return pairs of each removed document, `first`, with its nearest kept one, `second`, and the ids kept (m,).

    `order` (n,) are positions in the ids of `found`, whose pairs are all within the distance. Of equally near kept
    documents, a removed one gets the earliest in the order; pairs are ordered by distance.
    """
    one, other = map(_places(found, order), (found.first, found.second))
    kept = _independent_set(np.minimum(one, other), np.maximum(one, other), len(order))
    removed, of = np.concatenate([one, other]), np.concatenate([other, one])
    edges = np.flatnonzero(~kept[removed] & kept[of])
    distances = np.concatenate([found.distances, found.distances])
    edges = edges[np.lexsort((of[edges], rounded(distances[edges]), removed[edges]))]
    _, nearest = np.unique(removed[edges], return_index=True)
    edges = edges[nearest]
    edges = edges[np.lexsort((removed[edges], rounded(distances[edges])))]
    visited = found.ids[order]
    removals = replace(found, first=visited[removed[edges]], second=visited[of[edges]], distances=distances[edges])
    return removals, visited[kept]


def _places(found: FoundPairs, order: NDArray[np.intp]) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return a function that returns the places in an order, positions in the ids of `found`, of some ids."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return lambda ids: place[np.searchsorted(found.ids, ids)]


def _independent_set(earlier: NDArray[np.int64], later: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Return which of `n` places are kept, if none may have a kept neighbour before it; edges lead to `later` ones."""
    by_place = np.argsort(earlier, kind="stable")
    later = later[by_place]
    starts = np.searchsorted(earlier[by_place], np.arange(n + 1))
    kept = np.ones(n, bool)
    for place in np.unique(earlier).tolist():
        if kept[place]:
            kept[later[starts[place] : starts[place + 1]]] = False
    return kept


def visiting_order(
    keep: DedupeOptions, reader: Reader, scores: TermScores, elsewhere: Collection[str], ids: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the positions (n,) in `ids` (n,), increasing, of documents in the order of `keep`; equal ones by id.

    `scores` counts words. `elsewhere`: fields of documents in other shards. Raises UsageError if no document has a date
    or a number in the field.
    """
    sizes = np.zeros(len(ids))
    if keep.by == "longest":
        sizes = -lengths_of(scores, ids)
    elif keep.by_field:
        sizes = _places_by_field(keep, ids, reader)
    preferred = np.isin(ids, matching_ids(reader, keep.keep_where, elsewhere))  # all without a filter
    return np.lexsort((ids, sizes, ~preferred))


def lengths_of(scores: TermScores, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers of words (n,) of the documents `ids` (n,), 0 for one without words."""
    order, lengths = np.argsort(scores.ids), np.zeros(len(ids))
    places, found = lookup(ids, scores.ids[order])
    lengths[found] = scores.lengths()[order[places[found]]]
    return lengths


def _places_by_field(keep: DedupeOptions, ids: NDArray[np.int64], reader: Reader) -> NDArray[np.float64]:
    """Return the places (n,) of documents in the order of the values of a field; those without one come last.

    Of several values, the first in this order counts.
    """
    values = reader.values(keep.field)
    sizes = zip((id_ for id_, _ in values), sizes_of(value for _, value in values), strict=True)
    known = [(id_, size) for id_, size in sizes if size is not None]
    if not known:
        names = reader.field_names()
        fields = f"the fields are {', '.join(names)}" if names else "no document has any field"
        raise UsageError(f"no document has a date or a number in the field {keep.field!r}: {fields}")
    ordered = sorted({size for _, size in known}, reverse=keep.by == "newest")
    place_of, places = {size: place for place, size in enumerate(ordered)}, dict[int, int]()
    for id_, size in known:
        places[id_] = min(place_of[size], places.get(id_, len(ordered)))
    return np.array([places.get(id_, len(ordered)) for id_ in ids.tolist()], np.float64)
