"""The piece of a document that is shown with a hit."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import accumulate

from moverank.indexer.titles import without_title
from moverank.rerank.words.tokenizer import Tokenizer

_LENGTH = 160
_WORDS = 4000  # looked at, from the beginning


def snippet(texts: Sequence[str], title: str, about: Collection[str], length: int = _LENGTH) -> str:
    """Return up to `length` characters of the texts around most of the words `about`; the title is not repeated.

    The earliest of equally good places is taken, and an ellipsis stands where text was left out.
    """
    words = without_title("\n".join(texts).strip(), title).split()
    if not words:
        return ""
    wanted, looked_at = frozenset(about), words[:_WORDS]
    about_it = {word for word in set(looked_at) if not wanted.isdisjoint(_parts(word))}
    hits = [place for place, word in enumerate(looked_at) if word in about_it]
    start, end = _best_window([len(word) for word in looked_at], hits, length)
    shown = " ".join(words[start:end])
    whole = end == len(words) and len(shown) <= length
    return ("… " if start else "") + shown[:length] + ("" if whole else " …")


@lru_cache(1 << 16)
def _parts(word: str) -> tuple[str, ...]:
    """Return the words within what stands between two spaces; kept, for most are seen again."""
    return tuple(Tokenizer().words(word))


def _best_window(lengths: Sequence[int], hits: Sequence[int], length: int) -> tuple[int, int]:
    """Return start and end of the earliest run of words that fits and has most hits; one word may be too long.

    `hits` are places of words, increasing.
    """
    ends = [0, *accumulate(size + 1 for size in lengths)]  # behind so many words and a space for each

    def end_from(start: int) -> int:
        return max(start + 1, bisect_right(ends, ends[start] + length + 1) - 1)

    most, last = 0, 0
    for number, first in enumerate(hits):
        behind = bisect_left(hits, end_from(first))
        if behind - number > most:
            most, last = behind - number, hits[behind - 1]
    start = min(last, bisect_left(ends, ends[last + 1] - length - 1)) if most else 0
    return start, end_from(start)
