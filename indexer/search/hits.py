"""Turns an outcome into hits with keys, titles, snippets and flows."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import Any

from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.explanations import explain_words
from moverank.indexer.search.query import Outcome, Query, QueryWords
from moverank.indexer.store import Reader
from moverank.indexer.store.reader import DisplayFields
from moverank.indexer.values.documents import whole_text, without_title
from moverank.indexer.values.search_options import SearchOptions
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit, Percentile, Ranking
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.segmentation import WHOLE
from moverank.rerank.words.tokenizer import Tokenizer

EXTRACTED = 100_000  # characters at the beginning of a part, from which an extract is taken
_LENGTH = 160  # characters of an extract
_WORDS = 4000  # at the beginning, searched for an extract


@dataclass(frozen=True, slots=True)
class StoredHits:
    """Stored data of hits, by id: fields, texts, metadata, and the words of bags whose flows are shown.

    `full`: the hits have their whole texts.
    """

    shown: Mapping[int, DisplayFields]
    texts: Mapping[int, Sequence[str]]
    metadata: Mapping[int, Mapping[str, Any]]
    bags: Mapping[int, QueryWords]
    full: bool

    @classmethod
    def of(
        cls,
        reader: Reader,
        documents: DocumentWords,
        outcome: Outcome,
        query: Query,
        options: SearchOptions,
        size: AnswerSize,
    ) -> "StoredHits":
        """Read the data of an `outcome`'s hits that `options` request; both readers see the searched state.

        `size` counts them before they are read, and raises TooLarge.
        """
        ids = outcome.ids.tolist()
        if options.full:
            size.add_texts(reader, ids)
        bags = _bags(documents, query, ids, size) if options.explained else {}
        texts = reader.texts(ids, None if options.full else EXTRACTED)
        return cls(reader.shown(ids), texts, reader.metadata(ids), bags, options.full)


def ranking_of(stored: StoredHits, outcome: Outcome, query: Query, tokenizer: Tokenizer) -> Ranking:
    """Return the ranking for the `outcome` of `query`; a hit has flows if its bag is `stored`.

    `tokenizer` finds the words of the query in the texts of hits.
    """
    ids = outcome.ids.tolist()
    queried = with_parts(query.words.all_texts or query.words.texts)  # once: it may have many words
    hits = []
    for position, (id_, distance) in enumerate(zip(ids, outcome.distances.tolist(), strict=True)):
        flows = explain_words(query.words, stored.bags[id_]).flows if id_ in stored.bags else ()
        about = with_parts([flow.target for flow in flows]) or queried
        key, title, label = stored.shown[id_]
        texts = stored.texts.get(id_, [])
        extract, text = snippet(texts, title, about, tokenizer), whole_text(texts) if stored.full else None
        parts, costs = outcome.terms_of(position)
        scored = None if outcome.scores is None else float(outcome.scores[position])
        total = None if outcome.totals is None else float(outcome.totals[position])
        about_hit = (key, distance, title, label, extract, flows, scored, parts, total, stored.metadata[id_])
        own = None if outcome.percentiles is None else Percentile(*outcome.percentiles[position].tolist())
        hits.append(Hit(*about_hit, text=text, costs=costs, percentile=own))
    proof = (outcome.certified, outcome.scope, outcome.counts, outcome.largest_error, outcome.seconds)
    words = query.words
    return Ranking(
        tuple(hits),
        *proof,
        ranked_by=str(query.ranking),
        unknown_words=words.unknown,
        ignored_words=words.ignored,
        respelled_words={word: tuple(own) for word, own in words.respelled.items()},
        terms=outcome.terms,
        why_empty=query.why_empty,
    )


def _bags(documents: DocumentWords, query: Query, ids: Sequence[int], size: AnswerSize) -> dict[int, QueryWords]:
    """Return the words of hits' bags; none for a ranking without transport, or for documents without a bag.

    `size` counts their flows, and raises TooLarge.
    """
    bags = dict[int, QueryWords]()
    if query.ranking.has_transport and len(query.words.weights):
        for id_ in ids:
            with suppress(NoKnownWords):
                bags[id_] = documents.bag(id_, query.ranking)
                size.add_bags(len(query.words.weights), len(bags[id_].weights))
    return bags


def with_parts(words: Iterable[str]) -> frozenset[str]:
    """Return words, and the words of phrases among them, since pieces of a text contain no phrases."""
    return frozenset(part for word in words for part in (word, *word.split(JOINT)))


def snippet(
    texts: Sequence[str], title: str, about: AbstractSet[str], tokenizer: Tokenizer, length: int = _LENGTH
) -> str:
    """Return the up to `length` characters of `texts` with the most words of `about`, without a leading `title`.

    `with_parts` defines the words. Of equally good extracts, the earliest is returned; an ellipsis marks
    omitted text.
    """
    words = without_title("\n".join(texts).strip(), title).split()
    has_spaces = tokenizer.segmentation == WHOLE
    split = (f"{word} " for word in words) if has_spaces else _pieces(words, tokenizer)
    pieces = list(islice(split, _WORDS + 1))
    if not pieces:
        return ""
    considered, words_in = pieces[:_WORDS], _words_in(tokenizer)
    matching = {piece for piece in set(considered) if not about.isdisjoint(words_in(piece))}
    hits = [position for position, piece in enumerate(considered) if piece in matching]
    start, end = _best_window(list(map(len, considered)), hits, length if has_spaces else length - 1)
    shown = "".join(pieces[start:end]).rstrip()
    whole = end == len(pieces) and len(shown) <= length
    return ("… " if start else "") + shown[:length] + ("" if whole else " …")


def _pieces(words: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Yield the pieces of texts without spaces, between which they may be cut; a space follows each of `words`."""
    for word in words:
        starts = [start for start, _, _ in tokenizer.spans(word)][1:]
        for start, end in pairwise([0, *starts, len(word)]):
            yield word[start:end] + (" " if end == len(word) else "")


@lru_cache(4)
def _words_in(tokenizer: Tokenizer) -> Callable[[str], tuple[str, ...]]:
    """Return a function that returns the words in a piece of a text; it is cached, since most strings recur."""
    return lru_cache(1 << 16)(lambda piece: tuple(tokenizer.words(piece)))


def _best_window(lengths: Sequence[int], hits: Sequence[int], length: int) -> tuple[int, int]:
    """Return start and end of the earliest run of pieces that fits `length` and has most hits; one always fits.

    `lengths` of the pieces include the space after each; the last space does not count. `hits` are positions of
    pieces, increasing.
    """
    ends = [0, *accumulate(lengths)]  # offset after i pieces

    def end_from(start: int) -> int:
        return max(start + 1, bisect_right(ends, ends[start] + length + 1) - 1)

    most, last = 0, 0
    for number, first in enumerate(hits):
        after = bisect_left(hits, end_from(first))
        if after - number > most:
            most, last = after - number, hits[after - 1]
    start = min(last, bisect_left(ends, ends[last + 1] - length - 1)) if most else 0
    return start, end_from(start)
