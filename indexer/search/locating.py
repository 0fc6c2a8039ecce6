"""Completes hits by places in the texts of their documents: spans of flows, highlights and passages."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from math import inf

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.highlights import Matcher, highlights_in, places_of
from moverank.indexer.search.hits import EXTRACTED
from moverank.indexer.search.occurrences import occurrences, with_spans
from moverank.indexer.search.passages import FactorsOf, nearest_passage
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.indexer.values.ranked_texts import RankedTexts, title_and_parts
from moverank.indexer.values.search_options import SHOWN, SearchOptions
from moverank.rerank.distance.ground_cost import nearest_words
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Hit
from moverank.rerank.runtime.deadline import check_time, stopping
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer


def stored_texts(reader: Reader, id_: int, first: int | None = None) -> RankedTexts:
    """Return the texts of a document, see `whole_texts`; `first`: only so many characters of each part."""
    return [(row.rank, row.text) for row in reader.parts([id_], first).get(id_, ())]


def stored_factors(reader: Reader, view: View, query: Query) -> FactorsOf:
    """Return the function of the factors of words that are stored."""

    def factors(words: Sequence[str]) -> NDArray[np.float64] | None:
        by_id = query.ranking.weights == "tfidf"  # vectors determine other factors
        stored = {word.word: word.id for word in reader.words(words)} if by_id else {}
        ids = np.array([stored.get(word, 0) for word in words], np.int64)
        return view.factors.of(query.ranking.weights, ids, words)

    return factors


def stopping_query(query: Query, seconds: float = 0.0) -> AbstractContextManager[None]:
    """End the work of the block when the query's caller stops it, or the budget, `seconds` of it being used, runs out.

    Work that ends raises OutOfTime.
    """
    until = time.monotonic() + (inf if query.budget is None else query.budget - seconds)
    return stopping(lambda: time.monotonic() > until or (query.stop is not None and query.stop()))


@dataclass(frozen=True, slots=True, eq=False)
class Locator:
    """Completes hits of a `query` as `options` request, within the time of the query.

    `factors` weigh the words of passages; `size` counts the characters read and added; the search took `seconds`.
    """

    query: Query
    options: SearchOptions
    tokenizer: Tokenizer
    embedding: Embedding
    factors: FactorsOf
    size: AnswerSize
    seconds: float = 0.0

    def of_stored(self, reader: Reader, ids: Sequence[int], hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits completed, whose documents have the `ids` (n,); one text at a time is read."""
        return self.located(hits, (self._stored(reader, id_) for id_ in ids))

    def _stored(self, reader: Reader, id_: int) -> RankedTexts:
        check_time()
        if self.options.highlight == SHOWN and self.options.passage is None:
            return stored_texts(reader, id_, EXTRACTED)
        if not self.options.full:  # else it is counted already
            self.size.add_texts(reader, [id_])
        return stored_texts(reader, id_)

    def located(self, hits: Sequence[Hit], texts: Iterable[RankedTexts]) -> tuple[Hit, ...]:
        """Return the completed hits; their documents have the `texts` (n,).

        When the time is over, the other hits are returned as they are.
        """
        found = list[Hit]()
        with stopping_query(self.query, self.seconds), suppress(OutOfTime):
            matcher = Matcher(self.query.words.spans(), self.query.ranking, partial(nearest_words, self.embedding))
            for hit, own in zip(hits, texts, strict=True):
                check_time()
                found.append(self._located(hit, own, matcher))
        return (*found, *hits[len(found) :])

    def _located(self, hit: Hit, texts: RankedTexts, matcher: Matcher) -> Hit:
        if self.options.highlight == SHOWN:
            hit = self._with_shown(hit, texts, matcher)
        elif self.options.highlight:
            hit = self._with_highlights(hit, texts, matcher)
        if self.options.passage is not None:
            words, given = self.query.words, (self.tokenizer, self.embedding, self.factors)
            passage = nearest_passage(texts, words, self.options.passage, *given)
            hit = replace(hit, passage=passage, part_starts=_part_starts(hit, texts))
        self.size.add_places(hit)
        return hit

    def _with_highlights(self, hit: Hit, texts: RankedTexts, matcher: Matcher) -> Hit:
        parts, targets = _parts(texts), frozenset(flow.target for flow in hit.flows)
        found, spans = places_of(occurrences(texts, self.tokenizer), matcher, targets, self.size.most_highlights)
        return replace(
            hit,
            flows=with_spans(hit.flows, self.query.words.spans(), spans),
            highlights=found,
            snippet_highlights=highlights_in(hit.snippet, parts, found),
            highlighted=True,
            part_starts=_part_starts(hit, texts),
        )

    def _with_shown(self, hit: Hit, texts: RankedTexts, matcher: Matcher) -> Hit:
        beginning = list(_beginning(texts))
        found, _ = places_of(occurrences(beginning, self.tokenizer), matcher)
        in_title = tuple(one for one in found if one.part is None)
        return replace(
            hit,
            highlights=in_title,
            snippet_highlights=highlights_in(hit.snippet, _parts(beginning), found),
            highlighted=True,
        )


def _parts(texts: RankedTexts) -> list[str]:
    return [text for _, text in title_and_parts(texts)[1]]


def _part_starts(hit: Hit, texts: RankedTexts) -> tuple[int, ...]:
    """Return where each part begins in the text of a hit; nothing without that text."""
    parts = _parts(texts)
    return () if hit.text is None else (0, *accumulate(len(part) + 2 for part in parts))[: len(parts)]


def _beginning(texts: RankedTexts) -> Iterator[tuple[int, str]]:
    """Yield the beginning of the texts, up to the number of characters from which an extract is taken."""
    used = 0
    for rank, text in texts:
        if used < EXTRACTED:
            yield rank, text[: EXTRACTED - used]
        used += len(text)
