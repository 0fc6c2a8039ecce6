"""The best hit of each value of a field: searches for documents of other groups until there are enough."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from operator import add
from typing import TypeVar

from moverank.indexer.errors import QueryVectorError, UnknownKey, UsageError
from moverank.indexer.values.documents import filter_value, values_by_field
from moverank.indexer.values.search_options import DEFAULT_DEPTH, OtherGroups, SearchOptions, TheseKeys
from moverank.rerank.errors import NoKnownWords, OutOfTime
from moverank.rerank.options import did_you_mean
from moverank.rerank.ranking import Hit, Percentile, Ranking
from moverank.rerank.runtime.deadline import time_is_over

_Item = TypeVar("_Item")
_Search = Callable[[SearchOptions], Ranking]

_REQUESTED = ("snippet", "flows", "text", "highlights", "snippet_highlights", "highlighted", "part_starts", "passage")
"""The fields of a hit that depend on `explained`, `full`, `highlight` and `passage`."""


def grouped(search: _Search, options: SearchOptions, fields: Callable[[], Collection[str]]) -> Ranking:
    """Return the ranking by `search`; with `group_by`, the best hit of each of the first k groups.

    Only these hits have the texts, flows and places that the options request. Raises UsageError for a field that is not
    among the `fields` of documents.
    """
    field = options.group_by
    if field is None:
        return search(options)
    if options.budget is not None:
        raise UsageError("--group-by goes without --budget: it searches several times")
    known = fields()
    if field not in known:
        raise UsageError(f"no document has the field {field!r}{did_you_mean(field, known)}")
    plain = replace(options, group_by=None, explained=False, full=False, highlight=False, passage=None)
    first = search(plain)
    among = first.scope == "candidates" or (options.depth is not None and not options.exact)
    found = (_among_candidates if among else _among_all)(search, plain, field, first)
    return replace(_completed(search, options, found), group_by=field)


def _among_all(search: _Search, options: SearchOptions, field: str, ranking: Ranking) -> Ranking:
    """Return the best hit of each group among all documents; `ranking` has their first hits.

    Each further search is for documents of other groups only. None of its hits is better than an earlier hit, so the
    best hits of all lists are in order, and certified if all lists are: a distant group costs one search.
    """
    rankings, best, wanted = [ranking], _best(ranking.hits, field, options.k), options.k
    while (more := len(best) < options.k and len(rankings[-1].hits) == wanted) and not _is_over(options):
        wanted = options.k - len(best)
        try:
            rankings.append(search(replace(options, k=wanted, where=_others(best, field, options))))
        except OutOfTime:
            break
        best += _best(rankings[-1].hits, field, wanted)
    return replace(
        ranking,
        hits=_in_order(best),
        certified=not more and all(each.certified for each in rankings),
        scope=rankings[-1].scope,
        counts=reduce(add, (each.counts for each in rankings)),
        largest_error=max(each.largest_error for each in rankings),
        seconds=sum(each.seconds for each in rankings),
    )


def _among_candidates(search: _Search, options: SearchOptions, field: str, ranking: Ranking) -> Ranking:
    """Return the best hit of each group among the first stage's candidates; `ranking` has their first hits.

    A filter would change the candidates, so the number of hits doubles until they have k groups, or are all candidates.
    Without a certificate, the error is at most the value of the last hit.
    """
    wanted, most = options.k, options.depth or DEFAULT_DEPTH
    while len(_best(ranking.hits, field, options.k)) < options.k and len(ranking.hits) == wanted < most:
        if _is_over(options):
            break
        wanted = min(2 * wanted, most)
        ranking = search(replace(options, k=wanted))
    best = _best(ranking.hits, field, options.k)
    if len(best) < options.k and len(ranking.hits) == wanted:  # other documents may be of further groups
        ranking = replace(ranking, certified=False, scope="candidates")
    error = ranking.largest_error
    if best and not ranking.certified and best[-1].scored is None:
        error = max(error, best[-1].distance if best[-1].total is None else best[-1].total)
    return replace(ranking, hits=tuple(best), largest_error=error)


def _completed(search: _Search, options: SearchOptions, ranking: Ranking) -> Ranking:
    """Return the ranking with the details of hits that `options` request, by one search for these documents alone.

    When the time is over, the hits are returned as they are.
    """
    if not (ranking.hits and (options.explained or options.full or options.is_located)):
        return ranking
    these = TheseKeys(frozenset(hit.key for hit in ranking.hits))
    alone = replace(options, k=len(ranking.hits), where=these, group_by=None, max_distance=None, percentile=False)
    try:
        found = search(alone)
    except OutOfTime:
        return ranking
    completed = {hit.key: {name: getattr(hit, name) for name in _REQUESTED} for hit in found.hits}
    hits = tuple(replace(hit, **completed.get(hit.key, {})) for hit in ranking.hits)
    return replace(ranking, hits=hits, seconds=ranking.seconds + found.seconds)


def ranking_or_problem(
    search: Callable[[_Item, SearchOptions], Ranking], item: _Item, options: SearchOptions
) -> Ranking:
    """Return the ranking by `search` for one of many queries; an invalid query has a problem."""
    try:
        return search(item, options)
    except (NoKnownWords, QueryVectorError, UnknownKey) as error:
        return Ranking((), certified=False, scope="collection", problem=str(error))


def check_not_grouped(options: SearchOptions) -> None:
    """Raise UsageError for options of a grouped search: only a search without groups can be explained."""
    if options.group_by is not None:
        raise UsageError("group_by goes with search and similar: why_not explains a search without")


def check_not_by_share(options: SearchOptions) -> None:
    """Raise UsageError for a limit in percent, which excludes no document by its bounds."""
    if options.largest_share < inf:
        raise UsageError("a limit in percent goes with search and similar: why_not takes a distance")


def _is_over(options: SearchOptions) -> bool:
    return time_is_over() or (options.stop is not None and options.stop())


def _best(hits: Sequence[Hit], field: str, k: int) -> list[Hit]:
    """Return the first hit of each of at most k groups; a hit without the field is a group of its own."""
    seen, best = set[tuple[str, ...]](), list[Hit]()
    for hit in hits:
        values = _values(hit, field)
        if not values or values not in seen:
            seen.add(values)
            best.append(hit)
    return best[:k]


def _in_order(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits of several searches with increasing percentiles: each is at least that of the hit above."""
    ordered, last = list[Hit](), Percentile(0.0, 0.0, 0.0)
    for hit in hits:
        if (own := hit.percentile) is not None:
            last = Percentile(max(own.share, last.share), max(own.low, last.low), max(own.high, last.high))
            hit = replace(hit, percentile=last)
        ordered.append(hit)
    return tuple(ordered)


def _values(hit: Hit, field: str) -> tuple[str, ...]:
    """Return the values of a hit's field, sorted, in the form that filters compare."""
    values = {filter_value(value) for value in values_by_field(hit.metadata).get(field, ())}
    if field == "label" and hit.label is not None:
        values.add(filter_value(hit.label))
    return tuple(sorted(values))


def _others(best: Sequence[Hit], field: str, options: SearchOptions) -> OtherGroups:
    """Return a filter for documents that are in no group of the hits."""
    values = {hit.key: _values(hit, field) for hit in best}
    seen = frozenset(own for own in values.values() if own)
    return OtherGroups(options.where, field, seen, frozenset(key for key, own in values.items() if not own))
