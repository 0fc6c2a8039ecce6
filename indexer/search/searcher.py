"""Answers questions from one opened view of a collection."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import ScorerChoice, blend_named, resolve
from moverank.indexer.search.batch import Question, answer, search_many
from moverank.indexer.search.by_distance import search
from moverank.indexer.search.candidates import is_candidate
from moverank.indexer.search.neighbours import Neighbours
from moverank.indexer.search.query import DEFAULT_DEPTH, EXACT_UP_TO, Outcome, Request, Words
from moverank.indexer.search.query_parser import QueryParser, row_words
from moverank.indexer.search.snippet import snippet
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.explain import Explanation, explain
from moverank.rerank.distance.why_not import WhyNot, bounds_of
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Flow, Hit, Ranking
from moverank.rerank.words.embedding import Embedding


@dataclass(frozen=True, slots=True)
class Asked:
    """How to search: see `Collection.search`."""

    k: int = 10
    depth: int | None = None
    exact: bool = False
    distance: str | None = None
    gamma: float | None = None
    where: Mapping[str, Sequence[str]] | None = None
    explained: bool = False
    budget: float | None = None
    blend: str | None = None


class Searcher:
    """Searches one view; the reader, of the same state, is asked for words and for what people are shown."""

    def __init__(self, reader: Reader, view: View, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._view, self._settings = reader, view, settings
        self._lookup = QueryParser(reader, view, settings, embedding)

    def check(self, asked: Asked) -> None:
        """Look through the files that searches like this one read; DamagedFile names one that was changed."""
        request = self._request(asked)
        stage = request.depth is not None
        self._view.check(stage=stage, terms=bool(request.scorer or request.blend or (stage and request.joined)))

    def search(self, query: str, asked: Asked) -> Ranking:
        """Find the documents nearest to a text."""
        return self._answer(*self._searched(query, self._request(asked)), asked)

    def similar(self, key: str, asked: Asked) -> Ranking:
        """Find the documents nearest to a stored one, itself left out."""
        return self._answer(*self._resembled(key, self._request(asked)), asked)

    def search_many(self, queries: Iterable[str], asked: Asked) -> Iterator[Ranking]:
        """Answer many texts."""
        return self._answer_many(queries, self._searched, asked)

    def similar_many(self, keys: Iterable[str], asked: Asked) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones."""
        return self._answer_many(keys, self._resembled, asked)

    def neighbours(self, k: int, gamma: float | None, progress: Progress) -> Neighbours:
        """Find the nearest of every document."""
        request = self._request(Asked(k=k, exact=True, gamma=gamma))
        documents = [
            (part, row, id_)
            for part in self._view.segments
            for row, id_ in zip(np.flatnonzero(part.live).tolist(), part.segment.ids[part.live].tolist(), strict=True)
        ]
        questions = (
            (row_words(part, row, request.gamma), replace(request, without=id_)) for part, row, id_ in documents
        )
        ids = np.array([id_ for _, _, id_ in documents], np.int64)
        order = np.argsort(ids)
        increasing = ids[order]
        places, distances = np.full((len(ids), k), -1), np.full((len(ids), k), np.inf)
        for place, (_, outcome) in enumerate(search_many(self._view, questions, self._settings.gamma)):
            if outcome is not None:
                found = len(outcome.ids)
                places[place, :found] = order[np.searchsorted(increasing, outcome.ids)]
                distances[place, :found] = outcome.distances
            progress("Finding neighbours", place + 1, len(ids), "documents")
        shown = self._reader.shown(ids.tolist())
        return Neighbours(tuple(shown[id_][0] for id_ in ids.tolist()), places, distances)

    def _searched(self, query: str, request: Request) -> Question:
        return self._lookup.text(query, needed=_needs_bag(request)), request

    def _resembled(self, key: str, request: Request) -> Question:
        id_ = self._lookup.document(key)
        if request.scorer or request.blend or request.joined:
            words = self._lookup.counted(id_, request.gamma, needed=_needs_bag(request))
        else:
            words = self._lookup.stored(id_, request.gamma)
        return words, replace(request, without=id_)

    def _answer(self, words: Words, request: Request, asked: Asked) -> Ranking:
        return self._ranking(answer(self._view, words, request, self._settings.gamma), words, request, asked)

    def _answer_many(
        self, asking: Iterable[str], understand: Callable[[str, Request], Question], asked: Asked
    ) -> Iterator[Ranking]:
        request = self._request(asked)
        questions = (_understood(text, request, understand) for text in asking)
        for question, outcome in search_many(self._view, questions, self._settings.gamma):
            if isinstance(question, str) or outcome is None:
                yield Ranking((), certified=False, scope="collection", problem=str(question))
            else:
                yield self._ranking(outcome, *question, asked)

    def explain(self, query: str, key: str, gamma: float | None) -> Explanation:
        """Explain the distance of a text and a document."""
        _, used = resolve(None, gamma, self._settings.gamma)
        target = self._lookup.stored(self._lookup.document(key), used)
        return _explain(self._lookup.text(query), target)

    def why_not(self, query: str, key: str, asked: Asked) -> WhyNot:
        """Say where a document fell out of a search."""
        request, words = self._request(asked), self._lookup.text(query)
        if request.scorer or request.blend:
            raise UsageError("only a distance has bounds to fall out by: leave the scorer out")
        id_ = self._lookup.document(key)
        part, row = self._lookup.row(id_)
        outcome = search(self._view, words, request, self._settings.gamma)
        kth = float(outcome.distances[-1]) if len(outcome.distances) == request.k else np.inf
        known = bounds_of(words.over(part.segment), part.bags(np.array([row]), request.gamma)[0], part.segment.vectors)
        distance = _explain(words, self._lookup.stored(id_, request.gamma)).distance
        candidate = is_candidate(self._view, words, request, self._settings.gamma, id_)
        return WhyNot.of(request.k, kth, distance, known, candidate=candidate, hit=id_ in outcome.ids)

    def _request(self, asked: Asked) -> Request:
        _check(asked)
        method, gamma = resolve(asked.distance, asked.gamma, self._settings.gamma)
        scorer = method if isinstance(method, ScorerChoice) else None
        blend = blend_named(asked.blend) if asked.blend is not None else None
        if scorer and (blend or asked.budget is not None):
            raise UsageError(f"{scorer.name} ranks by itself, at once: --blend and --budget go with a distance")
        distance = "wmd" if isinstance(method, ScorerChoice) else method
        own = self._settings.weights == "tf" and gamma == self._settings.gamma
        small = scorer or sum(len(part.segment.ids) for part in self._view.segments) <= EXACT_UP_TO
        depth = asked.depth or (None if asked.exact or small else max(DEFAULT_DEPTH, asked.k))
        if scorer and asked.exact:
            depth = None
        allowed = self._lookup.matching(asked.where) if asked.where else None
        joined = self._settings.joined_scorer()
        return Request(
            asked.k, depth, distance, gamma, own, asked.exact, allowed, None, asked.budget, scorer, joined, blend
        )

    def _ranking(self, outcome: Outcome, words: Words, request: Request, asked: Asked) -> Ranking:
        """Tell what people are shown of the documents found."""
        ids = outcome.ids.tolist()
        shown, texts = self._reader.shown(ids), self._reader.texts(ids)
        hits = []
        for place, (id_, distance) in enumerate(zip(ids, outcome.distances.tolist(), strict=True)):
            flows = self._flows(words, id_, request) if asked.explained else ()
            about = [flow.target for flow in flows] or words.all_texts or words.texts
            key, title, label = shown[id_]
            told = snippet(texts.get(id_, []), title, about)
            parts = tuple((name, float(values[place])) for name, values in outcome.parts.items())
            scored = None if outcome.scores is None else float(outcome.scores[place])
            hits.append(Hit(key, distance, title, label, told, flows, scored, parts))
        proven = (outcome.certified, outcome.scope, outcome.counts, outcome.largest_error, outcome.seconds)
        return Ranking(tuple(hits), *proven)

    def _flows(self, words: Words, id_: int, request: Request) -> tuple[Flow, ...]:
        """Return the flows behind a hit; scorers, relaxed distances and documents without a bag have none to show."""
        if request.scorer or request.distance not in ("wmd", "pwmd"):
            return ()
        try:
            return _explain(words, self._lookup.stored(id_, request.gamma)).flows
        except NoKnownWords:
            return ()


def _check(asked: Asked) -> None:
    """Refuse numbers that cannot be meant."""
    if asked.k < 1:
        raise UsageError(f"k must be 1 or more, not {asked.k}")
    if asked.budget is not None and not asked.budget > 0:
        raise UsageError(f"the budget must be a number of seconds above 0, not {asked.budget}")
    if asked.depth is not None and asked.depth < asked.k:
        raise UsageError(f"depth must be at least k, which is {asked.k}, not {asked.depth}: hits are candidates")


def _needs_bag(request: Request) -> bool:
    """Say whether a question has to have a word with a vector."""
    return request.scorer is None or request.depth is not None


def _understood(text: str, request: Request, understand: Callable[[str, Request], Question]) -> Question | str:
    """Return what a text or key asks for, or why it cannot be answered."""
    try:
        return understand(text, request)
    except (NoKnownWords, UnknownKey) as error:
        return str(error)


def _explain(source: Words, target: Words) -> Explanation:
    """Explain a distance, the words of both sides numbered alike."""
    number = {word: i for i, word in enumerate(sorted({*source.texts, *target.texts}))}
    sides = []
    for words in (source, target):
        ids = np.array([number[word] for word in words.texts], np.int32)
        order = np.argsort(ids)
        sides.append((Bag(ids[order], words.weights[order]), words.vectors[order], [words.texts[i] for i in order]))
    (one, one_vectors, one_texts), (other, other_vectors, other_texts) = sides
    return explain(one, other, (one_vectors, other_vectors), (one_texts, other_texts))
