"""Answers questions from one opened view of a collection."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from indexer.candidates import is_candidate
from indexer.errors import UnknownKey, UsageError
from indexer.neighbours import Neighbours
from indexer.progress import Progress
from indexer.request import DEFAULT_DEPTH, EXACT_UP_TO, Outcome, Request, Words
from indexer.search import Question, search, search_many
from indexer.settings import Settings
from indexer.snippet import snippet
from indexer.store import Reader
from indexer.view import LiveSegment, View
from rerank.bag import Bag
from rerank.embedding import Embedding
from rerank.errors import NoKnownWords
from rerank.explain import Explanation, explain
from rerank.lexicon import UNKNOWN
from rerank.ranking import DISTANCES, Distance, Flow, Hit, Ranking
from rerank.text import Tokenizer
from rerank.why_not import WhyNot, bounds_of

PAPER_GAMMA = 0.75
"""The sensitivity of Trapp et al. 2017 (section 5), where P-WMD is asked for and nobody names another."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How to search: see `Collection.search`."""

    k: int = 10
    depth: int | None = None
    exact: bool = False
    distance: Distance | None = None
    gamma: float | None = None
    where: Mapping[str, Sequence[str]] | None = None
    explained: bool = False
    budget: float | None = None


class Searcher:
    """Searches one view; the reader, of the same state, is asked for words and for what people are shown."""

    def __init__(self, reader: Reader, view: View, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._view, self._settings, self._embedding = reader, view, settings, embedding
        self._tokenizer = Tokenizer(frozenset(settings.stop_words))

    def check(self, asked: Asked) -> None:
        """Look through the files that searches like this one read; DamagedFile names one that was changed."""
        self._view.check(stage=self._request(asked).depth is not None)

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
            (_row_words(part, row, request.gamma), replace(request, without=id_)) for part, row, id_ in documents
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
        return self._query_words(query), request

    def _resembled(self, key: str, request: Request) -> Question:
        id_, part, row = self._document(key)
        return self._stored_words(part, row, request.gamma), replace(request, without=id_)

    def _answer(self, words: Words, request: Request, asked: Asked) -> Ranking:
        return self._ranking(search(self._view, words, request, self._settings.gamma), words, request, asked)

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
        _, part, row = self._document(key)
        return _explain(self._query_words(query), self._stored_words(part, row, used))

    def why_not(self, query: str, key: str, asked: Asked) -> WhyNot:
        """Say where a document fell out of a search."""
        request, words = self._request(asked), self._query_words(query)
        id_, part, row = self._document(key)
        outcome = search(self._view, words, request, self._settings.gamma)
        kth = float(outcome.distances[-1]) if len(outcome.distances) == request.k else np.inf
        known = bounds_of(words.over(part.segment), part.bags(np.array([row]), request.gamma)[0], part.segment.vectors)
        distance = _explain(words, self._stored_words(part, row, request.gamma)).distance
        candidate = is_candidate(self._view, words, request, self._settings.gamma, id_)
        return WhyNot.of(request.k, kth, distance, known, candidate=candidate, hit=id_ in outcome.ids)

    def _request(self, asked: Asked) -> Request:
        if asked.k < 1:
            raise UsageError(f"k must be 1 or more, not {asked.k}")
        if asked.budget is not None and not asked.budget > 0:
            raise UsageError(f"the budget must be a number of seconds above 0, not {asked.budget}")
        if asked.depth is not None and asked.depth < asked.k:
            raise UsageError(f"depth must be at least k, which is {asked.k}, not {asked.depth}: hits are candidates")
        distance, gamma = resolve(asked.distance, asked.gamma, self._settings.gamma)
        own = self._settings.weights == "tf" and gamma == self._settings.gamma
        small = sum(len(part.segment.ids) for part in self._view.segments) <= EXACT_UP_TO
        depth = asked.depth or (None if asked.exact or small else max(DEFAULT_DEPTH, asked.k))
        allowed = _matching(self._reader, asked.where) if asked.where else None
        return Request(asked.k, depth, distance, gamma, own, asked.exact, allowed, budget=asked.budget)

    def _ranking(self, outcome: Outcome, words: Words, request: Request, asked: Asked) -> Ranking:
        """Tell what people are shown of the documents found."""
        ids = outcome.ids.tolist()
        shown, texts = self._reader.shown(ids), self._reader.texts(ids)
        hits = []
        for id_, distance in zip(ids, outcome.distances.tolist(), strict=True):
            flows = self._flows(words, id_, request) if asked.explained else ()
            about = [flow.target for flow in flows] or words.texts
            key, title, label = shown[id_]
            hits.append(Hit(key, distance, title, label, snippet(texts.get(id_, []), title, about), flows))
        proven = (outcome.certified, outcome.scope, outcome.counts, outcome.largest_error, outcome.seconds)
        return Ranking(tuple(hits), *proven)

    def _flows(self, words: Words, id_: int, request: Request) -> tuple[Flow, ...]:
        """Return the flows behind a hit; the relaxed distances have no plan to show."""
        if request.distance not in ("wmd", "pwmd"):
            return ()
        part, row = self._row(id_)
        return _explain(words, self._stored_words(part, row, request.gamma)).flows

    def _query_words(self, text: str) -> Words:
        """Return the known words of a text; NoKnownWords where there is none."""
        counts = self._tokenizer.count(text)
        texts = sorted(counts)
        rows = self._embedding.find(texts)
        known = np.flatnonzero(rows != UNKNOWN)
        if not len(known):
            shown = " ".join(text.split())
            raise NoKnownWords(
                f"the query {shown[:60]!r} has no word that the collection has a vector for"
                + ("" if counts else ": all of its words are stop words" if shown else ": it is empty")
            )
        names = [texts[i] for i in known.tolist()]
        stored = {found.word: found.id for found in self._reader.words(names)}
        ids = np.array([stored.get(name, 0) for name in names], np.int64)
        weights = np.array([counts[name] for name in names], np.float64)
        length = float(weights.sum())
        if self._view.frequencies:
            weights = weights * self._view.frequencies.idf(ids)
        return Words(tuple(names), ids, weights / weights.sum(), self._embedding.gather(names, rows[known]), length)

    def _document(self, key: str) -> tuple[int, LiveSegment, int]:
        """Return a document's id and place; UnknownKey where there is none, NoKnownWords where it cannot be ranked."""
        known = self._reader.known([key])
        if key not in known:
            raise UnknownKey(f"the collection has no document with the key {key!r}")
        id_ = known[key].id
        part, row = self._row(id_)
        return id_, part, row

    def _row(self, id_: int) -> tuple[LiveSegment, int]:
        for part in self._view.segments:
            row = int(np.searchsorted(part.segment.ids, id_))
            if row < len(part.segment.ids) and part.segment.ids[row] == id_ and part.live[row]:
                return part, row
        raise NoKnownWords("that document has no word with a vector: it cannot be compared")

    def _stored_words(self, part: LiveSegment, row: int, gamma: float) -> Words:
        """Return the words of a stored document."""
        words = _row_words(part, row, gamma)
        texts = self._reader.word_texts(words.ids.tolist())
        return replace(words, texts=tuple(texts[id_] for id_ in words.ids.tolist()))


def _row_words(part: LiveSegment, row: int, gamma: float) -> Words:
    """Return the words of a stored document, without their texts."""
    bag = part.bags(np.array([row]), gamma)[0]
    length = float(part.segment.counts.take(np.array([row])).lengths()[0])
    return Words((), part.segment.word_ids[bag.words], bag.weights, part.segment.vectors[bag.words], length)


def _understood(text: str, request: Request, understand: Callable[[str, Request], Question]) -> Question | str:
    """Return what a text or key asks for, or why it cannot be answered."""
    try:
        return understand(text, request)
    except (NoKnownWords, UnknownKey) as error:
        return str(error)


def resolve(distance: Distance | None, gamma: float | None, own: float) -> tuple[Distance, float]:
    """Return the distance and gamma that are meant, `own` being the collection's gamma.

    WMD is P-WMD at gamma 0. Raises UsageError for what contradicts itself.
    """
    if distance is not None and distance not in DISTANCES:
        raise UsageError(f"there is no distance {distance!r}: choose one of {', '.join(DISTANCES)}")
    if gamma is not None and not 0 <= gamma < float("inf"):
        raise UsageError(f"gamma must be a number of 0 or more, not {gamma}")
    if distance == "wmd":
        if gamma:
            raise UsageError("wmd weighs all parts alike: leave gamma out, or ask for pwmd")
        return "wmd", 0.0
    if distance == "pwmd":
        return "pwmd", gamma if gamma is not None else own or PAPER_GAMMA
    used = own if gamma is None else gamma
    return distance or ("pwmd" if used else "wmd"), used


def _matching(reader: Reader, where: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
    """Return the ids of the documents that have one of the values in every field named."""
    names = set(reader.field_names())
    ids: set[int] | None = None
    for name, values in where.items():
        if name not in names:
            there = f"the fields are {', '.join(sorted(names))}" if names else "no document has any field"
            raise UsageError(f"no document has a field {name!r}: {there}")
        matching = set(reader.matching(name, [values] if isinstance(values, str) else list(values)))
        ids = matching if ids is None else ids & matching
    return np.array(sorted(ids or ()), np.int64)


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
