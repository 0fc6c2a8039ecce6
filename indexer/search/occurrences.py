"""Where the words of texts stand: the spans of flows, and highlights of a query's words and of words near to them."""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from math import inf
from typing import NamedTuple, TypeVar

from moverank.indexer.search.spellings import Respelled
from moverank.indexer.values.documents import Document, counted_from
from moverank.indexer.values.ranked_texts import RankedTexts, title_and_parts, whole_texts
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.rerank.distance.ground_cost import NearWord
from moverank.rerank.ranking import NEAR, Flow, Highlight, Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.term_rules import is_ngrams, terms_of
from moverank.rerank.words.tokenizer import Tokenizer

WordSpans = Mapping[str, tuple[Span, ...]]
"""The places of each word of a text, in order."""

_Found = TypeVar("_Found")

_PIECE = re.compile(r"\S+")
_CHECKED = 2000  # words between two checks of the time
_TOGETHER = 4000  # words whose matches are found together


class Occurrence(NamedTuple):
    """A place in a document where a word stands: the fields of a `Span`, and the word."""

    part: int | None
    start: int
    end: int
    word: str


def occurrences(texts: RankedTexts, tokenizer: Tokenizer) -> Iterator[Occurrence]:
    """Yield the words of a document with their places, as they are counted; see `whole_texts`.

    A title at the beginning of the first part, which is not counted again, has places there, too.
    """
    title, _ = title_and_parts(texts)
    for start, end, word in tokenizer.spans(title):
        yield Occurrence(None, start, end, word)
    for number, words in enumerate(words_of_parts(texts, tokenizer)):
        for start, end, word in words:
            yield Occurrence(number, start, end, word)


def words_of_parts(texts: RankedTexts, tokenizer: Tokenizer) -> Iterator[Iterator[tuple[int, int, str]]]:
    """Yield start, end and text of the words of each part; no phrase crosses the end of a title that is not counted."""
    title, parts = title_and_parts(texts)
    for number, (_, text) in enumerate(parts):
        yield checked(_words(text, 0 if number else counted_from(title, parts), tokenizer))


def _words(text: str, cut: int, tokenizer: Tokenizer) -> Iterator[tuple[int, int, str]]:
    yield from tokenizer.spans(text[:cut])
    for start, end, word in tokenizer.spans(text[cut:] if cut else text):
        yield cut + start, cut + end, word


def checked(found: Iterable[_Found]) -> Iterator[_Found]:
    """Yield the items of `found`; raises OutOfTime once the time is used up."""
    for number, one in enumerate(found):
        if number % _CHECKED == 0:
            check_time()
        yield one


def spans_by_word(found: Iterable[Occurrence]) -> WordSpans:
    """Return the places of each word."""
    spans = dict[str, list[Span]]()
    for part, start, end, word in found:
        spans.setdefault(word, []).append(Span(part, start, end))
    return {word: tuple(own) for word, own in spans.items()}


def respelled_spans(spans: WordSpans, respelled: Respelled) -> WordSpans:
    """Return the places of a query's words, with each misspelt word replaced by its stored spellings."""
    changed = dict[str, tuple[Span, ...]]()
    for word, own in spans.items():
        for name in respelled.get(word, (word,)):
            changed[name] = (*changed.get(name, ()), *own)
    return changed


def with_spans(flows: Iterable[Flow], source: WordSpans, target: WordSpans) -> tuple[Flow, ...]:
    """Return flows with the places of their words."""
    return tuple(
        replace(flow, source_spans=source.get(flow.source, ()), target_spans=target.get(flow.target, ()))
        for flow in flows
    )


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
