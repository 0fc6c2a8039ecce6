"""The best hit of each value of a field: a search that goes deeper until it has enough different values."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from moverank.indexer.errors import QueryVectorError, UnknownKey, UsageError
from moverank.indexer.metadata import values_by_field
from moverank.indexer.options import SearchOptions
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.options import did_you_mean
from moverank.rerank.ranking import Hit, Ranking

_Item = TypeVar("_Item")


def grouped(
    search: Callable[[SearchOptions], Ranking], options: SearchOptions, fields: Callable[[], Collection[str]]
) -> Ranking:
    """Return what `search` finds; with `group_by`, the best hit of each of the first k groups.

    Twice as many hits are searched until they have k groups, all documents that pass are hits, or all candidates of a
    `depth`. Each list is certified as a whole: no other document is better than its last hit, so the best of each
    group in it is that of the complete ranking. Without a certificate, the error is at most what ranks the last hit.
    Raises UsageError for a field that is not among the `fields` of documents.
    """
    if options.group_by is None:
        return search(options)
    if options.budget is not None:
        raise UsageError("--group-by goes without --budget: it searches several times")
    known = fields()
    if options.group_by not in known:
        raise UsageError(f"no document has the field {options.group_by!r}{did_you_mean(options.group_by, known)}")
    wanted, most = options.k, None if options.exact else options.depth
    plain = replace(options, group_by=None, explained=False, full=False)
    while True:
        ranking = search(_deeper(plain, wanted))
        best = _best(ranking.hits, options.group_by, options.k)
        stopped = options.stop is not None and options.stop()
        if len(best) == options.k or len(ranking.hits) < wanted or wanted == most or stopped:
            break
        wanted = 2 * wanted if most is None else min(2 * wanted, most)
    if best and (options.explained or options.full):  # read and computed only once, for no more hits than needed
        enough = max(options.k, best[-1] + 1)
        shown = search(_deeper(replace(options, group_by=None), enough)).hits
        ranking = replace(ranking, hits=shown)
        best = _best(shown, options.group_by, options.k)
    hits = tuple(ranking.hits[place] for place in best)
    error = ranking.largest_error
    if hits and not ranking.certified and hits[-1].scored is None:
        error = max(error, hits[-1].distance if hits[-1].total is None else hits[-1].total)
    return replace(ranking, hits=hits, largest_error=error)


def one_by_one(
    search: Callable[[_Item, SearchOptions], Ranking], items: Iterable[_Item], options: SearchOptions
) -> Iterator[Ranking]:
    """Yield what `search` finds for each of many queries; an invalid one has a problem."""
    for item in items:
        try:
            yield search(item, options)
        except (NoKnownWords, QueryVectorError, UnknownKey) as error:
            yield Ranking((), certified=False, scope="collection", problem=str(error))


def _deeper(options: SearchOptions, k: int) -> SearchOptions:
    """Return the options with k hits, and at least as many candidates."""
    return replace(options, k=k, depth=None if options.depth is None else max(options.depth, k))


def _best(hits: Sequence[Hit], field: str, k: int) -> list[int]:
    """Return the places of the first hits of at most k groups; a hit without the field is a group of its own."""
    seen, places = set[tuple[str, ...]](), []
    for place, hit in enumerate(hits):
        values = tuple(values_by_field({**hit.metadata, "label": hit.label}).get(field, ()))
        if not values or values not in seen:
            seen.add(values)
            places.append(place)
        if len(places) == k:
            break
    return places
