"""Where the words of texts stand: the spans of flows, and highlights of a query's words and of words near to them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple, TypeVar

from moverank.indexer.documents import counted_from
from moverank.indexer.ranked_texts import RankedTexts, title_and_parts
from moverank.rerank.distance.ground_cost import nearest_words
from moverank.rerank.ranking import NEAR, Flow, Highlight, Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.term_rules import is_ngrams, terms_of
from moverank.rerank.words.tokenizer import Tokenizer

WordSpans = Mapping[str, tuple[Span, ...]]
"""The places of each word of a text, in order."""

_Found = TypeVar("_Found")

_PIECE = re.compile(r"\S+")
_CHECKED = 2000  # words between two looks at the clock


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
    """Yield what is found; raises OutOfTime if the time is used up meanwhile."""
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


Matches = Mapping[str, Match]
"""Words of documents that match a word of the query."""


def near_by_vectors(own: Iterable[str], words: Iterable[str], embedding: Embedding) -> Matches:
    """Return those of the `words` that are near to one of a query's `own` words, and the nearest of these."""
    known = set(own)
    near = nearest_words(embedding, sorted(known), sorted(set(words) - known))
    return {word: Match(one.word, one.cost) for word, one in near.items() if one.share < NEAR}


def near_by_flows(flows: Sequence[Flow]) -> Matches:
    """Return the words to which a word moved at less than half of the largest cost: all words of a document have flows.

    Of several, the nearest word is returned.
    """
    limit, near = max((flow.cost for flow in flows), default=0.0) / 2, dict[str, Match]()
    for flow in sorted(flows, key=lambda flow: flow.cost):
        if flow.cost < limit or not flow.cost:
            near.setdefault(flow.target, Match(flow.source, flow.cost))
    return near


def same_words(own: Iterable[str], words: Iterable[str], rules: Iterable[str]) -> Matches:
    """Return those of the `words` that count as one of a query's `own` words.

    It is the same word, a phrase that contains it, or a word with the same term by one of the `rules` of scorers.
    Sequences of letters do not count: most words have one in common.
    """
    own, words = sorted(own), sorted(set(words))
    found = {word: Match(word, 0.0) for word in own}
    phrases = {word: next((found[part] for part in word.split(JOINT) if part in found), None) for word in words}
    found |= {word: match for word, match in phrases.items() if match and word not in found}
    for rule in rules:
        if not is_ngrams(rule):
            terms = dict(reversed(list(_terms(own, rule))))
            found = {word: Match(terms[term], 0.0) for term, word in _terms(words, rule) if term in terms} | found
    return found


def _terms(words: Sequence[str], rule: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of words by a rule, each with its word."""
    found = terms_of(words, rule)
    for term, row in zip(found.texts, found.words.tolist(), strict=True):
        yield term, words[row]


def highlights_of(found: Iterable[Occurrence], matches: Matches) -> tuple[Highlight, ...]:
    """Return the places of words that match a word of the query, in their order."""
    return tuple(Highlight(*one, *matches[one.word]) for one in found if one.word in matches)


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
