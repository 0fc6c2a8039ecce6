"""Searches all shards together in three phases, and merges their hits into one list with one certificate."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.plugins.shards.actors import RayShards
from moverank.indexer.plugins.shards.coordinator import Coordinator, Version, check_found, divided
from moverank.indexer.plugins.shards.messages import Call
from moverank.indexer.reranking.whole_corpus import CountedCollection, pair_source
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.by_distance import Certificate, certificate
from moverank.indexer.search.deduplication import deduplicate, lengths_of
from moverank.indexer.search.explanations import check_bounded, explain_document, why_not_below
from moverank.indexer.search.grouping import check_not_by_share, check_not_grouped, grouped, ranking_or_problem
from moverank.indexer.search.near_documents import Deduplication, Pairs
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.percentiles import SampledValues, few_within, percentiles, value_below
from moverank.indexer.search.query import Outcome, QueryWords
from moverank.indexer.search.query_parser import joined_scorer
from moverank.indexer.search.searcher import Request
from moverank.indexer.search.shared_statistics import TableKey, needed_tables
from moverank.indexer.search.sum_terms import QueryStatistics, merged_statistics
from moverank.indexer.values.documents import GIVEN
from moverank.indexer.values.pair_options import DedupeOptions, PairSearch
from moverank.indexer.values.queries import QueryText, StoredKey
from moverank.indexer.values.ranking_spec import VECTOR, RankingSpec, resolve
from moverank.indexer.values.search_options import Progress, SearchOptions
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking, StageCounts
from moverank.rerank.runtime.deadline import stopping, time_is_over

_AT_A_TIME = 4  # queries of a batch: while some wait for messages, others compute

_INSTEAD = "rank by distances, cosine, word counts (bm25, tfidf, ...) or fields, or put all documents in one collection"


def kth_smallest(values: Iterable[NDArray[np.float64]], k: int) -> float:
    """Return the k-th smallest of all values, infinite if there are fewer: the limit by the shards' bounds."""
    every = np.sort(np.concatenate([np.empty(0), *values]))
    return float(every[k - 1]) if len(every) >= k else np.inf


class _Proof(NamedTuple):
    """The certificate of a list, and a lower bound of the values of documents that were not compared."""

    certificate: Certificate
    floor: float


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The best documents of all shards: their `values` (k,), the shard of each, and the documents of each shard.

    `k` hits were requested, none farther than `within`.
    """

    values: NDArray[np.float64]
    shards: tuple[str, ...]
    chosen: Mapping[str, Outcome]
    k: int
    within: float

    @classmethod
    def of(cls, found: Mapping[str, Outcome], k: int, within: float) -> "Merged":
        """Return the k best documents; ties in the order of shards."""
        names, lengths = list(found), [len(own.values) for own in found.values()]
        values = np.concatenate([own.values for own in found.values()])
        best, values = smallest_first(values, np.arange(len(values)), k)
        shards = np.repeat(np.arange(len(names)), lengths)[best]
        rows = np.concatenate([np.arange(length) for length in lengths])[best]
        chosen = {name: own.take(rows[shards == number]) for number, (name, own) in enumerate(found.items())}
        return cls(values, tuple(names[number] for number in shards.tolist()), chosen, k, within)

    def with_percentiles(
        self, sampled: Callable[[float, int], SampledValues], largest_share: float, *, placed: bool
    ) -> "Merged":
        """Return the documents with percentiles, up to the largest share; parameters as of `percentiles`."""
        found = percentiles(self.values, sampled, placed=placed)
        few = few_within(found, largest_share)
        within = value_below(self.values[few]) if few < len(self.values) else self.within
        shards, chosen = np.array(self.shards[:few]), dict[str, Outcome]()
        for name, own in self.chosen.items():
            rows = np.flatnonzero(shards == name)
            chosen[name] = replace(own.take(np.arange(len(rows))), percentiles=found[rows])
        return replace(self, values=self.values[:few], shards=self.shards[:few], chosen=chosen, within=within)

    def proof(self, missing: Sequence[str]) -> "_Proof":
        """Return the certificate.

        Nothing is known of the documents of `missing` shards, but that no distance or sum is negative.
        """
        outcomes = self.chosen.values()
        unknown = -np.inf if any(each.scores is not None for each in outcomes) else 0.0
        floor = min([*(each.floor for each in outcomes), *([unknown] if missing else [])])
        unsolved_bounds = np.concatenate([each.unsolved_bounds for each in outcomes])
        return _Proof(certificate(self.values, unsolved_bounds, floor, self.k, self.within), floor)

    def ranking(self, own: Mapping[str, Ranking], missing: Sequence[str], seconds: float) -> Ranking:
        """Return the ranking of all shards, with its certificate.

        `own` are the rankings of the chosen documents of each shard; `missing` shards did not answer.
        """
        outcomes, hits = self.chosen.values(), {name: iter(each.hits) for name, each in own.items()}
        (proven, error), floor = self.proof(missing)
        scope: Literal["collection", "candidates", "shards"] = "collection"
        if missing:
            scope = "shards"
        elif not proven and floor < np.inf:
            scope = "candidates"
        return replace(
            own[self.shards[0] if self.shards else next(iter(own))],  # without documents, some scales are not known
            hits=tuple(next(hits[name]) for name in self.shards),
            certified=proven and not missing,
            scope=scope,
            counts=reduce(add, (each.counts for each in outcomes), StageCounts()),
            largest_error=error,
            seconds=seconds,
            ignored_words=_ignored([each.ignored_words for each in own.values()]),
            missing_shards=tuple(missing),
            why_empty=common_reason([each.why_empty for each in own.values()]),
        )


def _ignored(words: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the words of a query that every shard ignores; None for a stored document."""
    first, *others = words
    return first and tuple(word for word in first if all(word in (own or ()) for own in others))


def common_reason(reasons: Sequence[str | None]) -> str | None:
    """Return why no document of any shard passes the filter; shards may have different reasons."""
    if any(reason is None for reason in reasons):
        return None
    return reasons[0] if len(set(reasons)) == 1 else "no document passes the filter: in each shard for another reason"


class _Running:
    """A search in the shards `names` of a version; `statistics` cover all of them.

    Shards that know no word of the query have no part in it; `problem` is their message. `late` are the shards that did
    not answer when the work had to end, with the start of their silence: the search goes on without them, and the other
    shards stop with the hits found so far.
    """

    def __init__(self, shards: RayShards, names: Iterable[str]) -> None:
        self.name, self.names, self._shards = uuid4().hex, list(names), shards
        self._every = self.names
        self.late: dict[str, float] = {}
        self.problem = ""
        self.statistics: QueryStatistics = ()

    def begin(self, version: str, request: Request, options: SearchOptions) -> None:
        """Begin the search in all shards, and merge their statistics; NoKnownWords if no shard knows a word."""
        found = self.each("begin", version, request, options)
        problems = {name: problem for name, problem in found.items() if isinstance(problem, str)}
        self.problem = next(iter(problems.values()), "")
        if len(problems) == len(found):
            raise NoKnownWords(self.problem)
        self.names = [name for name in self.names if name not in problems]
        self.statistics = merged_statistics(own for own in found.values() if not isinstance(own, str))

    def phase(self, method: str, *arguments: Any) -> dict[str, Any]:
        """Return the results of a phase in all shards that answer; see `ShardSearch`."""
        return self.each("phase", method, *arguments)

    def sampled(self, limit: float, size: int) -> SampledValues:
        """Return the values up to a limit of a sample of all documents, also of shards without a word of the query."""
        self.names = self._every
        return SampledValues.merged(self.phase("sampled", limit, size).values(), size)

    def each(self, method: str, *arguments: Any) -> dict[str, Any]:
        """Return the results of a method in all shards that answer; raises the error of the first that fails."""
        names = [name for name in self.names if name not in self.late]
        stop = dict.fromkeys(names, Call.of("phase", self.name, "stop"))
        calls = dict.fromkeys(names, Call.of(method, self.name, *arguments))
        answers, lost = divided(self._shards.ask(calls, hurry=lambda: self._shards.send(stop)))
        self.late |= lost
        if not time_is_over() or not answers:
            check_found(self.late)
        return answers


class ClusterSearcher:
    """Searches the shards of a `coordinator` as one collection with all their `documents`; see `Searchable`."""

    def __init__(self, coordinator: Coordinator, documents: CountedCollection) -> None:
        self._coordinator, self._documents = coordinator, documents

    def prepare(self, options: SearchOptions, progress: Progress) -> None:
        """Start the shards, and compute the statistics of all shards that searches with these options need."""
        shards = len(self._coordinator.shards.names)
        progress("Opening", 0, shards, "shards")
        self._coordinator.version(self._tables(options))
        progress("Opening", shards, shards, "shards")

    def _ranking_of(self, options: SearchOptions) -> RankingSpec:
        """Return the ranking of a search; UsageError for one that depends on all documents by more than word counts.

        Encoders are fitted to the documents of one collection, mutual proximity compares with a sample of them, and
        some scorers compare the words of all.
        """
        settings = self._coordinator.settings()
        ranking = resolve(options.ranking, options.gamma, settings.ranking)
        for term in ranking.terms:
            if term.is_fitted or (term.name == VECTOR and settings.encoder != GIVEN):
                raise UsageError(f"shards cannot rank by {term}: {_INSTEAD}")
        return ranking

    def _tables(self, options: SearchOptions) -> set[TableKey]:
        """Return the statistics that a search needs of all shards."""
        ranking = self._ranking_of(options)
        return needed_tables(ranking, joined_scorer(options, ranking, self._coordinator.settings()))

    def answer(self, request: QueryText | StoredKey, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text, a record, or a stored document, which is excluded. Raises UnknownKey.

        `Ranking.missing_shards` names the shards that did not answer; the ranking is then not certified.
        """
        return grouped(partial(self._answer, request), options, self._coordinator.fields)

    def answer_many(self, requests: Iterable[QueryText | StoredKey], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many queries, in order."""
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            yield from pool.map(lambda request: ranking_or_problem(self.answer, request, options), requests)

    def explain(self, request: QueryText | StoredKey, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from the document `key`, and its flows."""
        found: Explanation = self._explained(request, key, options, explain_document)
        return AnswerSize(options.most_characters).cut(found)

    def why_not(self, request: QueryText | StoredKey, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search for a query excludes the document `key`."""
        check_not_grouped(options)
        check_not_by_share(options)
        check_bounded(self._ranking_of(options))
        ranking = self._answer(request, options)
        last = ranking.hits[-1] if len(ranking.hits) == options.k else None
        kth = np.inf if last is None else last.distance if last.total is None else last.total
        why_not = partial(why_not_below, kth=kth, hit=key in [hit.key for hit in ranking.hits])
        found: WhyNot = self._explained(request, key, options, why_not)
        return found

    def rerank(
        self, _text: QueryText, _keys: Sequence[str], _k: int | None, _scores: Any, _options: SearchOptions
    ) -> Ranking:
        """Raise UsageError: candidates are ranked by one collection."""
        raise UsageError("a collection in shards cannot rank stored candidates: search it")

    def pairs(self, search: PairSearch, options: SearchOptions) -> Pairs:
        """Find the nearest pairs of documents; the bags of all shards are compared in this process.

        Raises UsageError in a server, whose memory they would fill.
        """
        if options.where:
            raise UsageError("pairs of shards are those of all documents: leave --where out")
        if options.stop is not None:
            raise UsageError("a server does not compare the documents of shards in pairs: run `pairs` where they are")
        return pair_source(self._documents, self._ranking_of(options), far=search.far).pairs(search)

    def dedupe(self, search: PairSearch, options: SearchOptions, keep: DedupeOptions) -> Deduplication:
        """Choose the documents to keep; the bags of all shards are compared in this process, as by `pairs`."""
        if options.where or keep.keep_where is not None or keep.by_field or keep.explained:
            raise UsageError(
                "documents of shards are deduplicated as a whole, and the first or the longest ones are kept: leave "
                "filters, fields and flows out"
            )
        source = pair_source(self._documents, self._ranking_of(options), far=search.far)

        def order_of(ids: NDArray[np.int64]) -> NDArray[np.intp]:
            sizes = -lengths_of(source.view.scores, ids) if keep.by == "longest" else ids
            return np.argsort(sizes, kind="stable")

        return deduplicate(source, search, keep, order_of)

    def _answer(self, request: QueryText | StoredKey, options: SearchOptions) -> Ranking:
        def answer(version: Version) -> Ranking:
            return self._search(version, self._portable(version, request, options), options)

        return self._coordinator.repeated(answer, partial(self._tables, options))

    def _portable(self, version: Version, request: QueryText | StoredKey, options: SearchOptions) -> Request:
        """Return the request for all shards; a stored document's words come from the shard that has it."""
        if not isinstance(request, StoredKey):
            return request
        plain, call = replace(options, stop=None), self._coordinator.call
        found: QueryWords = self._coordinator.of_owner(
            request.key, version.states, lambda owner: call(owner, "portable", version.id, request.key, plain)
        )
        return found

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
        with stopping(_stop_of(options, began)), self._begun(version, request, options) as running:
            upper = running.phase("bounds", running.statistics)
            merged = Merged.of(running.phase("answer", kth_smallest(upper.values(), k)), k, options.within)
            if options.has_percentiles:
                missing = (*version.missing, *running.late)
                placed = not options.where and not missing and merged.proof(()).certificate.proven
                merged = merged.with_percentiles(running.sampled, options.largest_share, placed=placed)
            calls = {name: Call.of("phase", running.name, "ranking", own) for name, own in merged.chosen.items()}
            rankings: dict[str, Ranking] = self._coordinator.call_all(calls)
        missing = tuple(sorted({*version.missing, *running.late}))
        return merged.ranking(rankings, missing, time.monotonic() - began)

    def _explained(
        self, request: QueryText | StoredKey, key: str, options: SearchOptions, explain: Callable[..., Any]
    ) -> Any:
        """Return how `explain` explains a document of one of the shards for a query; UnknownKey if none has it."""

        def explained(version: Version) -> Any:
            asked = self._portable(version, request, options)
            stop = _stop_of(options, time.monotonic())
            with stopping(stop), self._begun(version, asked, options) as running:
                check_found(running.late)
                for found in running.phase("explain", key, explain, running.statistics).values():
                    if found is not None:
                        return found
                if running.problem:
                    raise NoKnownWords(running.problem)
            raise UnknownKey(f"the collection has no document with the key {key!r}")

        return self._coordinator.repeated(explained, partial(self._tables, options))

    @contextmanager
    def _begun(self, version: Version, request: Request, options: SearchOptions) -> Iterator[_Running]:
        """Begin a search in all shards of a version; it is ended in all of them after the block."""
        running = _Running(self._coordinator.shards, tuple(version.states))
        try:
            running.begin(version.id, request, replace(options, stop=None))
            yield running
        except BaseException:
            self._coordinator.tell(version.states, "end", running.name)
            raise
        self._coordinator.shards.send(dict.fromkeys(version.states, Call.of("end", running.name)))


def _stop_of(options: SearchOptions, began: float) -> Callable[[], bool]:
    """Return a function: whether a search that `began` then has to end, by its budget or its caller's `stop`."""
    until = began + (options.budget or np.inf)
    return lambda: time.monotonic() > until or (options.stop is not None and options.stop())
