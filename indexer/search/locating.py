"""Completes hits by what stands where in the texts of their documents: spans of flows, highlights and passages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.options import SearchOptions
from moverank.indexer.ranked_texts import RankedTexts, title_and_parts
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.occurrences import (
    Matches,
    Occurrence,
    highlights_in,
    highlights_of,
    near_by_flows,
    near_by_vectors,
    occurrences,
    same_words,
    spans_by_word,
    with_spans,
)
from moverank.indexer.search.passages import FactorsOf, nearest_passage
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.rerank.ranking import Hit
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer

_BATCH = 16  # documents whose texts are in memory


def stored_texts(reader: Reader, ids: Sequence[int]) -> dict[int, RankedTexts]:
    """Return the texts of documents by id, see `whole_texts`."""
    return {id_: [(row.rank, row.text) for row in rows] for id_, rows in reader.parts(ids).items()}


def stored_factors(reader: Reader, view: View, query: Query) -> FactorsOf:
    """Return the function of the factors of words that are stored."""

    def factors(words: Sequence[str]) -> NDArray[np.float64] | None:
        by_id = query.ranking.weights == "tfidf"  # vectors determine other factors
        stored = {word.word: word.id for word in reader.words(words)} if by_id else {}
        ids = np.array([stored.get(word, 0) for word in words], np.int64)
        return view.factors.of(query.ranking.weights, ids, words)

    return factors


@dataclass(frozen=True, slots=True, eq=False)
class Locator:
    """Completes hits of a `query`, whose spans are known, by what `options` request.

    `factors` weigh the words of passages; `size` counts what is added.
    """

    query: Query
    options: SearchOptions
    tokenizer: Tokenizer
    embedding: Embedding
    factors: FactorsOf
    size: AnswerSize

    def of_stored(self, reader: Reader, ids: Sequence[int], hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits completed, whose documents have the `ids` (n,); texts are read some at a time."""
        if not (self.options.highlight or self.options.passage or any(hit.flows for hit in hits)):
            return tuple(hits)
        found = list[Hit]()
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            texts = stored_texts(reader, some)
            found += self.located(hits[start : start + _BATCH], [texts.get(id_, ()) for id_ in some])
        return tuple(found)

    def located(self, hits: Sequence[Hit], texts: Sequence[RankedTexts]) -> Iterator[Hit]:
        """Yield the hits completed, whose documents have the `texts` (n,)."""
        placed = (self.options.highlight or hit.flows for hit in hits)
        places = [self._places(own) if needed else [] for own, needed in zip(texts, placed, strict=True)]
        same, near = self._matches(hits, places)
        for hit, own, found in zip(hits, texts, places, strict=True):
            check_time()
            yield self._located(hit, own, found, same, near)

    def _places(self, texts: RankedTexts) -> list[Occurrence]:
        check_time()
        return list(occurrences(texts, self.tokenizer))

    def _matches(self, hits: Iterable[Hit], places: Sequence[Sequence[Occurrence]]) -> tuple[Matches, Matches]:
        """Return the words of documents that count as words of the query, and those of hits without flows near one."""
        if not self.options.highlight:
            return {}, {}
        own, ranking = self.query.spans, self.query.ranking
        same = same_words(own, (one.word for found in places for one in found), ranking.rules)
        without_flows = [found for hit, found in zip(hits, places, strict=True) if not hit.flows]
        if not ranking.compares_vectors:
            return same, {}
        return same, near_by_vectors(own, (one.word for found in without_flows for one in found), self.embedding)

    def _located(self, hit: Hit, texts: RankedTexts, places: Sequence[Occurrence], same: Matches, near: Matches) -> Hit:
        parts = [text for _, text in title_and_parts(texts)[1]]
        if hit.flows:
            hit = replace(hit, flows=with_spans(hit.flows, self.query.spans, spans_by_word(places)))
        if self.options.highlight:
            found = highlights_of(places, {**(near_by_flows(hit.flows) if hit.flows else near), **same})
            starts = [0, *accumulate(len(part) + 2 for part in parts)][: len(parts)] if hit.text is not None else []
            shown = highlights_in(hit.snippet, parts, found)
            hit = replace(hit, highlights=found, snippet_highlights=shown, part_starts=tuple(starts))
        self.size.add_places(hit.flows, (*hit.highlights, *hit.snippet_highlights))
        if self.options.passage is None:
            return hit
        words, given = self.query.words, (self.tokenizer, self.embedding, self.factors)
        return replace(hit, passage=nearest_passage(texts, words, self.options.passage, *given))
