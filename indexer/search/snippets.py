"""The extract of a document displayed with a hit."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import accumulate

from moverank.indexer.documents import without_title
from moverank.rerank.words.tokenizer import Tokenizer

_LENGTH = 160
_WORDS = 4000  # at the beginning, searched for an extract


def snippet(texts: Sequence[str], title: str, about: Collection[str], length: int = _LENGTH) -> str:
    """Return the up to `length` characters of `texts` with the most words of `about`, without a leading `title`.

    Of equally good extracts, the earliest is returned; an ellipsis marks omitted text.
    """
    words = without_title("\n".join(texts).strip(), title).split()
    if not words:
        return ""
    wanted, considered = frozenset(about), words[:_WORDS]
    matching = {word for word in set(considered) if not wanted.isdisjoint(_parts(word))}
    hits = [position for position, word in enumerate(considered) if word in matching]
    start, end = _best_window([len(word) for word in considered], hits, length)
    shown = " ".join(words[start:end])
    whole = end == len(words) and len(shown) <= length
    return ("… " if start else "") + shown[:length] + ("" if whole else " …")


@lru_cache(1 << 16)
def _parts(word: str) -> tuple[str, ...]:
    """Return the words in a string without spaces; cached, since most strings recur."""
    return tuple(Tokenizer().words(word))


def _best_window(lengths: Sequence[int], hits: Sequence[int], length: int) -> tuple[int, int]:
    """Return start and end of the earliest run of words that fits `length` and has most hits; one word always fits.

    `hits` are positions of words, increasing.
    """
    ends = [0, *accumulate(size + 1 for size in lengths)]  # offset after i words, with a space after each

    def end_from(start: int) -> int:
        return max(start + 1, bisect_right(ends, ends[start] + length + 1) - 1)

    most, last = 0, 0
    for number, first in enumerate(hits):
        after = bisect_left(hits, end_from(first))
        if after - number > most:
            most, last = after - number, hits[after - 1]
    start = min(last, bisect_left(ends, ends[last + 1] - length - 1)) if most else 0
    return start, end_from(start)
