"""Highlights: the words of a document that are words of the query, or near to them, with their places."""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from math import inf
from typing import NamedTuple

from moverank.indexer.search.occurrences import Occurrence, WordSpans, occurrences, spans_by_word
from moverank.indexer.values.documents import Document
from moverank.indexer.values.ranked_texts import whole_texts
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.rerank.distance.ground_cost import NearWord
from moverank.rerank.ranking import NEAR, Highlight
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.term_rules import is_ngrams, terms_of
from moverank.rerank.words.tokenizer import Tokenizer

_PIECE = re.compile(r"\S+")
_TOGETHER = 4000  # words whose matches are found together


class Match(NamedTuple):
    """The word of the query, `source`, that a word of a document is or is near to, and the cost of moving it."""

    source: str
    cost: float


NearestWords = Callable[[Sequence[str], Sequence[str]], Mapping[str, NearWord]]
"""Returns, for each of the words in its second argument, the nearest of those in the first; see `nearest_words`."""


class Matcher:
    """Finds the words of documents that match one of a query's `own` words; words of earlier texts are remembered.

    A word matches at cost 0 if it is the word, a phrase that contains it, or has the same term by one of the rules of
    the `ranking`'s scorers, other than sequences of letters, of which most words share one. If the ranking compares
    vectors, words that `nearest` finds at a small share of the typical cost match, too.
    """

    def __init__(self, own: Iterable[str], ranking: RankingSpec, nearest: NearestWords) -> None:
        self._own, self._ranking, self._nearest = sorted(own), ranking, nearest
        rules = [rule for rule in ranking.rules if not is_ngrams(rule)]
        self._terms = {rule: dict(reversed(list(_terms(self._own, rule)))) for rule in rules}
        self._known = dict[str, Match | None]()

    def of(self, words: Iterable[str]) -> Mapping[str, Match | None]:
        """Return the matches of `words`, None for a word without one, together with the matches of earlier words."""
        new = sorted(set(words) - self._known.keys())
        found = self._found(new) if new and self._own else {}
        self._known.update((word, found.get(word)) for word in new)
        return self._known

    def _found(self, words: Sequence[str]) -> dict[str, Match]:
        near = self._nearest(self._own, words) if self._ranking.compares_vectors else {}
        found = {word: Match(one.word, one.cost) for word, one in near.items() if one.share < NEAR}
        for rule, terms in self._terms.items():
            found |= {word: Match(terms[term], 0.0) for term, word in _terms(words, rule) if term in terms}
        own = frozenset(self._own)
        for word in words:
            if same := next((one for one in (word, *word.split(JOINT)) if one in own), None):
                found[word] = Match(same, 0.0)
        return found


def _terms(words: Sequence[str], rule: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of words by a rule, each with its word."""
    found = terms_of(words, rule)
    for term, row in zip(found.texts, found.words.tolist(), strict=True):
        yield term, words[row]


def places_of(
    found: Iterable[Occurrence], matcher: Matcher, targets: Container[str] = (), most: float = inf
) -> tuple[tuple[Highlight, ...], WordSpans]:
    """Return the places, in order, of words that match a word of the query, and the places of each of the `targets`.

    Once there are more than `most` highlights, the rest of the text is not read; then no word has places.
    """
    highlights, others, rest = list[Highlight](), list[Occurrence](), iter(found)
    while some := list(islice(rest, _TOGETHER)):
        matches = matcher.of(one.word for one in some)
        highlights += [Highlight(*one, *match) for one in some if (match := matches[one.word])]
        if len(highlights) > most:
            return tuple(highlights), {}
        others += [one for one in some if one.word in targets]
    return tuple(highlights), spans_by_word(others)


def highlights_between(
    query: Document, document: Document, ranking: RankingSpec, tokenizer: Tokenizer, nearest: NearestWords
) -> tuple[Highlight, ...]:
    """Return where the words of a query, and words near to them, stand in a document."""
    own = {one.word for one in occurrences(whole_texts(query), tokenizer)}
    return places_of(occurrences(whole_texts(document), tokenizer), Matcher(own, ranking, nearest))[0]


def highlights_in(snippet: str, parts: Sequence[str], highlights: Iterable[Highlight]) -> tuple[Highlight, ...]:
    """Return the highlights of `parts` that a snippet of them shows as a whole, at their places in the snippet."""
    first = 2 * snippet.startswith("… ")
    shown = snippet[first:].removesuffix(" …")
    text, starts = "\n".join(parts), [0, *accumulate(len(part) + 1 for part in parts)]
    rest = "" if first + len(shown) < len(snippet) else r"(?=\s*\Z)"  # a short text may be part of an earlier word
    place = re.search(r"\s+".join(map(re.escape, shown.split())) + rest, text) if shown else None
    if place is None:
        return ()
    origins = [piece.start() for piece in _PIECE.finditer(text, *place.span())]
    places = [piece.start() for piece in _PIECE.finditer(snippet, first, first + len(shown))]

    def moved(position: int) -> int:
        piece = bisect_right(origins, position) - 1
        return places[piece] + position - origins[piece]

    found = []
    for one in highlights:
        if one.part is not None:
            start, end = starts[one.part] + one.start, starts[one.part] + one.end
            if place.start() <= start and end <= place.end():
                found.append(replace(one, start=moved(start), end=moved(end - 1) + 1))
    return tuple(found)
