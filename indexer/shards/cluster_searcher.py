"""Searches all shards together in three phases, and merges their hits into one list with one certificate."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.arguments import items
from moverank.indexer.arguments import text as checked_text
from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.options import Progress, SearchOptions
from moverank.indexer.ranked_texts import QueryText, StoredKey
from moverank.indexer.ranking_spec import resolve
from moverank.indexer.reranking.text_pairs import pairs_of_texts
from moverank.indexer.search.by_distance import certificate
from moverank.indexer.search.grouping import check_not_grouped, grouped, ranking_or_problem
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.pairs import Pairs
from moverank.indexer.search.query import PortableQuery
from moverank.indexer.search.query_parser import joined_scorer
from moverank.indexer.search.searcher import Request
from moverank.indexer.search.shared_statistics import TableKey, needed_tables
from moverank.indexer.search.sum_terms import QueryStatistics, merged_statistics
from moverank.indexer.shards.actors import RayShards
from moverank.indexer.shards.cluster_file import shard_of
from moverank.indexer.shards.coordinator import Coordinator, Version, check_found, divided, fields_of
from moverank.indexer.shards.messages import Call, ExplainRequest, Found
from moverank.indexer.shards.shard import checked_ranking
from moverank.indexer.shards.whole_corpus import WholeCorpus, joined, joined_words
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit, Ranking, StageCounts
from moverank.rerank.runtime.deadline import stopping, time_is_over

_AT_A_TIME = 4  # queries of a batch: while some wait for messages, others compute


def kth_smallest(values: Iterable[NDArray[np.float64]], k: int) -> float:
    """Return the k-th smallest of all values, infinite if there are fewer: the limit by the shards' bounds."""
    every = np.sort(np.concatenate([np.empty(0), *values]))
    return float(every[k - 1]) if len(every) >= k else np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The best documents of all shards: the shard of each, its position there, and its value (k,)."""

    shards: tuple[str, ...]
    positions: tuple[int, ...]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, found: Mapping[str, Found], k: int) -> "Merged":
        """Return the k best documents; ties in the order of shards."""
        owners = [(name, position) for name, own in found.items() for position in range(len(own.values))]
        values = np.concatenate([np.empty(0), *(own.values for own in found.values())])
        best, values = smallest_first(values, np.arange(len(values)), k)
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


class _Running:
    """A search in the `shards` of a version; `statistics` cover all shards.

    `late` are the shards that did not answer when the work had to end, with the start of their silence: the search goes
    on without them, and the other shards stop with the hits found so far.
    """

    def __init__(self, shards: RayShards, names: tuple[str, ...]) -> None:
        self.name, self._shards, self._names = uuid4().hex, shards, names
        self.late: dict[str, float] = {}
        self.statistics: QueryStatistics = ()

    def each(self, method: str, *arguments: Any, named: bool = True) -> dict[str, Any]:
        """Return the results of a phase in all shards that answer; raises the error of the first that fails."""
        own = (self.name,) if named else ()
        names = [name for name in self._names if name not in self.late]
        stop = dict.fromkeys(names, Call.of("stop", self.name))
        calls = dict.fromkeys(names, Call.of(method, *own, *arguments))
        answers, lost = divided(self._shards.ask(calls, hurry=lambda: self._shards.send(stop)))
        self.late |= lost
        if not time_is_over() or len(self.late) == len(self._names):
            check_found(self.late)
        return answers


class ClusterSearcher:
    """Searches the shards of a `coordinator` as one collection with all their documents.

    `directory` has the files that belong to all shards. See `Searchable`.
    """

    def __init__(self, coordinator: Coordinator, directory: Path) -> None:
        self._coordinator, self._directory = coordinator, directory

    def prepare(self, options: SearchOptions, progress: Progress) -> None:
        """Start the shards, and count what searches with these options need of all of them."""
        shards = len(self._coordinator.shards.names)
        progress("Opening", 0, shards, "shards")
        self._coordinator.version(self._tables(options))
        progress("Opening", shards, shards, "shards")

    def _tables(self, options: SearchOptions) -> set[TableKey]:
        """Return the statistics that a search needs of all shards; UsageError for a ranking that shards cannot do."""
        settings = self._coordinator.settings()
        ranking = checked_ranking(resolve(options.ranking, options.gamma, settings.ranking), settings)
        return needed_tables(ranking, joined_scorer(options, ranking, settings))

    def owners(self, key: str) -> list[str]:
        """Return the shards that may have a document, first the shard that it belongs to."""
        owner = shard_of(checked_text("a key", key), self._coordinator.shards.names)
        return [owner, *(name for name in self._coordinator.shards.names if name != owner)]

    def _fields(self) -> frozenset[str]:
        return fields_of(self._coordinator.states())

    def search(self, text: QueryText, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text or a record.

        `Ranking.missing_shards` names the shards that did not answer; the ranking is then not certified.
        """
        return grouped(partial(self._answer, text), options, self._fields)

    def similar(self, key: str, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a stored one, which is excluded. Raises UnknownKey."""
        return grouped(partial(self._answer, StoredKey(key)), options, self._fields)

    def search_many(self, texts: Iterable[QueryText], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many texts or records, in order."""
        return self._many(self.search, items("queries", texts), options)

    def similar_many(self, keys: Iterable[str], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones, in order."""
        return self._many(self.similar, items("keys", keys), options)

    def _many(
        self, search: Callable[[Any, SearchOptions], Ranking], queries: Iterable[Any], options: SearchOptions
    ) -> Iterator[Ranking]:
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            yield from pool.map(lambda query: ranking_or_problem(search, query, options), queries)

    def explain(self, request: QueryText | StoredKey, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from the document `key`, and its flows."""
        found: Explanation = self._explained(request, options, ExplainRequest(key))
        return found

    def why_not(self, request: QueryText | StoredKey, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search for a query excludes the document `key`."""
        check_not_grouped(options)
        ranking = self._answer(request, options)
        last = ranking.hits[-1] if len(ranking.hits) == options.k else None
        kth = float("inf") if last is None else last.distance if last.total is None else last.total
        asked = ExplainRequest(key, kth, key in [hit.key for hit in ranking.hits])
        found: WhyNot = self._explained(request, options, asked)
        return found

    def rerank(
        self, _text: QueryText, _keys: Sequence[str], _k: int | None, _scores: Any, _options: SearchOptions
    ) -> Ranking:
        """Raise UsageError: candidates are ranked by one collection."""
        raise UsageError("a collection in shards cannot rank stored candidates: search it")

    def pairs(
        self,
        within: float,
        k: int | None,
        options: SearchOptions,
        progress: Progress,
        *,
        far: bool = False,
        resumed: bool = True,
    ) -> Pairs:
        """Find the nearest pairs of documents; the bags of all shards are compared in this process.

        `resumed`: an interrupted run leaves a file to continue.
        """
        if options.where:
            raise UsageError("pairs of shards are those of all documents: leave --where out")
        settings = self._coordinator.settings()
        ranking = checked_ranking(resolve(options.rank, options.gamma, settings.ranking), settings)
        whole = self.documents_of_shards()
        directory = self._directory if resumed else None
        return pairs_of_texts(whole.texts, whole.titles, ranking, within, k, directory, progress, far=far)

    def documents_of_shards(self, words: Iterable[str] = (), fields: Sequence[str] = ()) -> WholeCorpus:
        """Read all documents that have a word, counted over one vocabulary, which also has `words`.

        The numbers in `fields` are read, too; UsageError if no document has a number in one of them.
        """
        parts = [self._coordinator.call(name, "corpus", list(fields)) for name in self._coordinator.shards.names]
        for field in fields:
            if not any(field in part.priors for part in parts):
                raise UsageError(f"no document has a number in the field {field!r}")
        every = joined_words(parts, words)
        vectors = self._coordinator.call(self._coordinator.shards.names[0], "vectors_of", every)
        return joined(parts, every, vectors, self._coordinator.settings().title_weight)

    def _answer(self, request: QueryText | StoredKey, options: SearchOptions) -> Ranking:
        def answer(version: Version) -> Ranking:
            return self._search(version, self._portable(version, request, options), options)

        return self._coordinator.repeated(answer, partial(self._tables, options))

    def _portable(self, version: Version, request: QueryText | StoredKey, options: SearchOptions) -> Request:
        """Return the request for all shards; a stored document's words come from the shard that has it."""
        if not isinstance(request, StoredKey):
            return request
        plain = replace(options, stop=None)
        for owner in self.owners(request.key):
            if owner in version.states:
                with suppress(UnknownKey):
                    found: PortableQuery = self._coordinator.call(owner, "portable", version.id, request.key, plain)
                    return found
        raise UnknownKey(f"the collection has no document with the key {request.key!r}")

    def _search(self, version: Version, request: Request, options: SearchOptions) -> Ranking:
        """Search one version; search again for more hits if documents were found twice, as while they are moved."""
        wanted = options.k
        while True:
            depth = None if options.depth is None else max(options.depth, wanted)
            ranking = self._once(version, request, replace(options, k=wanted, depth=depth))
            first = {hit.key: hit for hit in reversed(ranking.hits)}
            if len(first) >= options.k or len(ranking.hits) < wanted:
                hits = tuple(hit for hit in ranking.hits if first[hit.key] is hit)
                return replace(ranking, hits=hits[: options.k])
            wanted += options.k - len(first)

    def _once(self, version: Version, request: Request, options: SearchOptions) -> Ranking:
        began, k = time.monotonic(), options.k
        within = np.inf if options.max_distance is None else options.max_distance
        with stopping(_stop_of(options, began)), self._begun(version, request, options) as running:
            upper = running.each("bounds", running.statistics)
            found: dict[str, Found] = running.each("answer", kth_smallest(upper.values(), k))
            _check_words(found)
            merged = Merged.of(found, k)
            calls = {shard: Call.of("hits", running.name, merged.positions_in(shard)) for shard in found}
            hits = merged.in_order(self._coordinator.call_all(calls))
        seconds, missing = time.monotonic() - began, tuple(sorted({*version.missing, *running.late}))
        return merged_ranking(found, merged, hits, k, within, missing, seconds)

    def _explained(self, request: QueryText | StoredKey, options: SearchOptions, explain: ExplainRequest) -> Any:
        """Explain a document of one of the shards for a query; UnknownKey if none has it."""

        def explained(version: Version) -> Any:
            asked = self._portable(version, request, options)
            stop = _stop_of(options, time.monotonic())
            with stopping(stop), self._begun(version, asked, options) as running:
                check_found(running.late)
                for found in running.each("explain", running.statistics, explain).values():
                    if found is not None:
                        return found
            raise UnknownKey(f"the collection has no document with the key {explain.key!r}")

        return self._coordinator.repeated(explained, partial(self._tables, options))

    @contextmanager
    def _begun(self, version: Version, request: Request, options: SearchOptions) -> Iterator[_Running]:
        """Begin a search in all shards of a version; it is ended in all of them after the block."""
        running = _Running(self._coordinator.shards, tuple(version.states))
        try:
            own = running.each("begin", version.id, running.name, request, replace(options, stop=None), named=False)
            running.statistics = merged_statistics(found for found in own.values() if found is not None)
            yield running
        except BaseException:
            self._coordinator.tell(version.states, "end", running.name)
            raise
        self._coordinator.shards.send(dict.fromkeys(version.states, Call.of("end", running.name)))


def _stop_of(options: SearchOptions, began: float) -> Callable[[], bool]:
    """Return a function: whether a search that `began` then has to end, by its budget or its caller's `stop`."""
    until = began + (options.budget or np.inf)
    return lambda: time.monotonic() > until or (options.stop is not None and options.stop())


def _check_words(found: Mapping[str, Found]) -> None:
    """Raise NoKnownWords if no shard knows a word of the query."""
    problems = [own.problem for own in found.values() if own.problem is not None]
    if len(problems) == len(found):
        raise NoKnownWords(problems[0])
