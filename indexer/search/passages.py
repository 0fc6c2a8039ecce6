"""The window of a document that is nearest to a query, exact among all its windows."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.occurrences import checked, words_of_parts
from moverank.indexer.search.query import QueryWords
from moverank.indexer.snapshot.segment import packed_rows
from moverank.indexer.values.ranked_texts import RankedTexts, title_and_parts
from moverank.rerank.bags.bag import Bag
from moverank.rerank.bags.weights import weigh
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import Passage
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.thread_pool import single_threaded
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.sentence_spans import sentence_spans
from moverank.rerank.words.tokenizer import Tokenizer

FactorsOf = Callable[[Sequence[str]], NDArray[np.float64] | None]
"""Returns the factors (n,) of words, or None if all are 1; see `WordFactors`."""


class Window(NamedTuple):
    """A stretch of the part with that number, and its words, also stop words."""

    part: int
    start: int
    end: int
    words: Sequence[str]


def windows(texts: RankedTexts, tokenizer: Tokenizer, size: int) -> Iterator[Window]:
    """Yield the windows of up to `size` words, within the parts of a document; stop words count as well.

    A window begins at the last sentence that begins within half a window after the beginning of the one before it, or
    else at the word half a window after. It ends after its last whole sentence if that leaves more than half of it.
    """
    every, half = replace(tokenizer, stop_words=frozenset()), max(1, size // 2)
    _, parts = title_and_parts(texts)
    for number, words in enumerate(words_of_parts(texts, every)):
        found, (_, text) = list(words), parts[number]
        ends = [end for _, end in sentence_spans(text)]
        begun = {bisect_left(found, (end,)) for end in ends} | {len(found)}
        first_words = sorted(begun)
        begin = 0
        while begin < len(found):
            last = min(begin + size, len(found))
            whole = first_words[bisect_right(first_words, last) - 1] if last >= first_words[0] else 0
            last = whole if whole > begin + half else last
            end = found[last - 1][1]
            if last in begun:  # with the punctuation at its end
                stop = found[last][0] if last < len(found) else len(text)
                end = max([end, *ends[bisect_right(ends, end - 1) : bisect_right(ends, stop)][:1]])
            yield Window(number, found[begin][0], end, [word for _, _, word in found[begin:last]])
            if begin + size >= len(found):
                break
            middle = begin + half
            start = first_words[bisect_right(first_words, middle) - 1] if middle >= first_words[0] else 0
            begin = start if start > begin else middle


def nearest_passage(
    texts: RankedTexts, query: QueryWords, size: int, tokenizer: Tokenizer, embedding: Embedding, factors: FactorsOf
) -> Passage | None:
    """Return the window of up to `size` words that is nearest to a query by WMD, the first of equally near ones.

    `factors` weigh the words of windows as the words of documents. None if no window has a word with a vector.
    """
    every = list(checked(windows(texts, tokenizer, size)))
    names = sorted({word for window in every for word in window.words} - tokenizer.stop_words)
    names, vectors = embedding.known(names)
    number = {word: i for i, word in enumerate(names)}
    words = [[number[word] for word in window.words if word in number] for window in every]
    compared = [(window, own) for window, own in zip(every, words, strict=True) if own]
    if not compared or not len(query.weights):
        return None
    check_time()
    rows = np.repeat(np.arange(len(compared)), [len(own) for _, own in compared])
    ids = np.array([id_ for _, own in compared for id_ in own], np.int32)
    counts = packed_rows(rows, ids, np.zeros_like(ids), np.ones_like(ids), len(compared))
    bags = weigh(counts, factors=factors(names))
    with single_threaded():  # there are few windows
        found = nearest(_over(number, query), bags, vectors, 1)
    part, start, end, _ = compared[int(found.rows[0])][0]
    text = title_and_parts(texts)[1][part][1][start:end]
    return Passage(part, start, end, text, float(found.distances[0]), len(compared))


def _over(number: dict[str, int], query: QueryWords) -> QueryBag:
    """Return the bag of a query over numbered words; words without a number get larger ones."""
    ids = np.array([number.get(word, len(number) + i) for i, word in enumerate(query.texts)], np.int32)
    order = np.argsort(ids)
    return QueryBag(Bag(ids[order], query.weights[order]), query.vectors[order])
