"""Rankings of another engine's candidates, which contain all of them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from moverank.indexer.errors import UnknownKey
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.engine_scores import engine_scores
from moverank.indexer.search.phases import Search, answer_many
from moverank.indexer.search.query import Outcome, Prior, Query
from moverank.indexer.store import Reader
from moverank.indexer.values.arguments import texts as checked_texts
from moverank.indexer.values.arguments import whole_number
from moverank.indexer.values.documents import whole_text
from moverank.indexer.values.queries import QueryText, Scores
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.falling_scores import falling_scores
from moverank.rerank.ranking import Hit, Ranking

RerankTask = tuple[QueryText, Sequence[str], Scores | None]
"""A text or a record, the keys of its candidates, and the engine's scores of these."""


def rerank_many(
    reader: Reader,
    tasks: Iterable[RerankTask],
    prepared: "Callable[[QueryText, StoredCandidates], Search]",
    ranked: "Callable[[StoredCandidates, Search, Outcome], Ranking]",
    size: AnswerSize | None,
) -> Iterator[Ranking]:
    """Rank the candidates of each task, in the order of the tasks.

    `prepared` returns the search among candidates, and `ranked` their ranking. `size` counts whole texts, None: they
    are not read. An unanswerable query leaves its candidates in the order given.
    """
    waiting = deque[Sequence[str] | StoredCandidates]()

    def searches() -> Iterator[Search | str]:
        for text, keys, scores in tasks:
            waiting.append(keys)
            try:
                waiting[-1] = candidates = StoredCandidates.of(reader, keys, scores, size)
                yield prepared(text, candidates)
            except (NoKnownWords, UnknownKey) as error:
                yield str(error)

    for search, outcome in answer_many(searches()):
        candidates = waiting.popleft()
        if isinstance(candidates, StoredCandidates) and outcome is not None and not isinstance(search, str):
            yield ranked(candidates, search, outcome)
        elif isinstance(candidates, StoredCandidates):
            yield ranking_in_given_order(candidates.all, str(search))
        else:
            yield ranking_in_given_order([Candidate(index, key) for index, key in enumerate(candidates)], str(search))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate as it is shown: its `index` among all, key, title, label, metadata, and text if requested."""

    index: int
    key: str
    title: str = ""
    label: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None

    def hit(self, distance: float, score: float, **others: Any) -> Hit:
        """Return a hit with a distance, a score, and other fields by name."""
        about = self.key, distance, self.title, self.label
        return Hit(*about, scored=score, metadata=self.metadata, candidate=self.index, text=self.text, **others)


class _Place(NamedTuple):
    """A candidate, its position in the outcome, where hits come first, and the value that ranks it."""

    candidate: Candidate
    position: int
    value: float


def ranking_of_candidates(
    outcome: Outcome, query: Query, ranked: Mapping[int, Sequence[Candidate]], missing: Sequence[Candidate] = ()
) -> Ranking:
    """Return the ranking of all candidates of `query`: `ranked` by document id, and `missing` in the collection.

    Scores of a sum of distances ignore their unit, which depends on the query.
    """
    others = outcome.others
    values = np.concatenate([outcome.values, others.bounds]).tolist()
    ids = np.concatenate([outcome.ids, others.ids]).tolist()
    places = [
        _Place(candidate, position, value)
        for position, (id_, value) in enumerate(zip(ids, values, strict=True))
        for candidate in ranked[id_]
    ]
    wordless = [one for id_ in ranked.keys() - set(ids) for one in ranked[id_]] + list(missing)
    units = {term.unit for term in outcome.terms} - {None} if query.ranking.scores_compare else set()
    unit = units.pop() if len(units) == 1 else 1.0
    scores = falling_scores(unit * np.array([place.value for place in places]), len(wordless)).tolist()
    hits = [_hit(outcome, place, score) for place, score in zip(places, scores, strict=False)]
    proof = (outcome.certified, outcome.counts, outcome.largest_error)
    return replace(_with_wordless(hits, wordless, scores[len(hits) :], *proof), terms=outcome.terms)


def ranking_in_given_order(candidates: Sequence[Candidate], problem: str) -> Ranking:
    """Return the candidates in the order given, as wordless; `problem` says why they cannot be ranked."""
    scores = falling_scores(np.empty(0), len(candidates)).tolist()
    return replace(_with_wordless([], candidates, scores, False), problem=problem)


def _with_wordless(
    hits: Sequence[Hit], wordless: Sequence[Candidate], scores: Sequence[float], certified: bool, *proof: Any
) -> Ranking:
    last = [
        one.hit(np.nan, score, exact=False, wordless=True)
        for one, score in zip(sorted(wordless, key=lambda one: one.index), scores, strict=True)
    ]
    return Ranking((*hits, *last), certified, "candidates", *proof)


def _hit(outcome: Outcome, place: _Place, score: float) -> Hit:
    candidate, position, value = place
    later = position - len(outcome.ids)
    if later >= 0:
        exact = bool(outcome.others.exact[later])
        if outcome.totals is None:
            return candidate.hit(value, score, exact=exact)
        return candidate.hit(np.nan, score, total=value, exact=exact)
    parts, costs = outcome.terms_of(position)
    total = None if outcome.totals is None else value
    return candidate.hit(float(outcome.distances[position]), score, parts=parts, total=total, costs=costs)


@dataclass(frozen=True, slots=True, eq=False)
class StoredCandidates:
    """Candidates `ranked` by document id, candidates `missing` in the collection, and the engine's `scores`."""

    ranked: dict[int, list[Candidate]]
    missing: list[Candidate]
    scores: Prior | None

    @classmethod
    def of(
        cls,
        reader: Reader,
        keys: Sequence[str],
        scores: Scores | None,
        size: AnswerSize | None,
    ) -> "StoredCandidates":
        """Find documents by key, and read their texts if `size`, which counts these, is given.

        Raises UnknownKey if no key is known, UsageError if `keys` is a string or for bad scores, and TooLarge.
        """
        keys = checked_texts("keys", keys)
        known = reader.known(list(dict.fromkeys(keys)))
        if keys and not known:
            raise UnknownKey(f"the collection has none of the candidates: no document has the key {keys[0]!r}")
        ids = [known[key].id if key in known else 0 for key in keys]
        stored = sorted({*ids} - {0})
        if size:
            size.add_texts(reader, stored)
        shown, metadata, texts = reader.shown(stored), reader.metadata(stored), reader.texts(stored) if size else {}
        ranked: dict[int, list[Candidate]] = {}
        missing = []
        for index, (key, id_) in enumerate(zip(keys, ids, strict=True)):
            if id_:
                text = whole_text(texts.get(id_, [])) if size else None
                found = Candidate(index, key, shown[id_].title, shown[id_].label, metadata[id_], text)
                ranked.setdefault(id_, []).append(found)
            else:
                missing.append(Candidate(index, key))
        return cls(ranked, missing, engine_scores(scores, keys, np.array(ids, np.int64)))

    @property
    def all(self) -> list[Candidate]:
        """Return all candidates in the order given."""
        found = [one for candidates in self.ranked.values() for one in candidates] + self.missing
        return sorted(found, key=lambda one: one.index)

    def restrict(self, query: Query, k: int | None) -> Query:
        """Return `query` for these documents only, the first `k` (None: all) exactly; UsageError for k below 1."""
        k = None if k is None else whole_number("k", k)
        allowed = np.array(sorted(self.ranked), np.int64)
        k = max(1, min(k or len(allowed), len(allowed)))
        # Candidates of another engine share words with the query as it is typed.
        whole = replace(query, depth=None, whole=True, spelling=False)
        return replace(whole, allowed=allowed, k=k, engine_scores=self.scores)

    def first(self, ranking: Ranking, k: int | None) -> tuple[list[Hit], list[int]]:
        """Return the first `k` hits of a ranking (None: all), without wordless ones, and the ids of their documents."""
        ids = {one.index: id_ for id_, candidates in self.ranked.items() for one in candidates}
        hits = [hit for hit in ranking.hits[:k] if not hit.wordless]
        return hits, [ids[hit.candidate] for hit in hits if hit.candidate is not None]

    def ranking(self, outcome: Outcome, query: Query) -> Ranking:
        """Return the ranking of all candidates for the `outcome` of `query`."""
        found = ranking_of_candidates(outcome, query, self.ranked, self.missing)
        words = query.words
        about = replace(found, ranked_by=str(query.ranking), seconds=outcome.seconds)
        return replace(about, unknown_words=words.unknown, ignored_words=words.ignored)
