"""Where the words of texts stand: their occurrences, and the spans of flows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from moverank.indexer.search.spellings import Respelled
from moverank.indexer.values.documents import counted_from
from moverank.indexer.values.ranked_texts import RankedTexts, title_and_parts
from moverank.rerank.ranking import Flow, Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.tokenizer import Tokenizer

WordSpans = Mapping[str, tuple[Span, ...]]
"""The places of each word of a text, in order."""

_Found = TypeVar("_Found")

_CHECKED = 2000  # words between two checks of the time


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
