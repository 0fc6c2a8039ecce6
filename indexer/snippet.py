"""The piece of a document that is shown with a hit."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from rerank.text import Tokenizer

_LENGTH = 160
_WORDS = 4000  # looked at, from the beginning


def snippet(texts: Sequence[str], title: str, about: Collection[str], length: int = _LENGTH) -> str:
    """Return up to `length` characters of the texts around most of the words `about`; the title is not repeated.

    The earliest of equally good places is taken, and an ellipsis stands where text was left out.
    """
    words = _without_title("\n".join(texts).strip(), title).split()
    if not words:
        return ""
    wanted = frozenset(about)
    hits = [not wanted.isdisjoint(_parts(word)) for word in words[:_WORDS]]
    start, end = _best_window([len(word) for word in words[:_WORDS]], hits, length)
    shown = " ".join(words[start:end])
    whole = end == len(words) and len(shown) <= length
    return ("… " if start else "") + shown[:length] + ("" if whole else " …")


@lru_cache(1 << 16)
def _parts(word: str) -> tuple[str, ...]:
    """Return the words within what stands between two spaces; kept, for most are seen again."""
    return tuple(Tokenizer().words(word))


def _without_title(body: str, title: str) -> str:
    """Leave out a title that the text begins with, where it ends with a word."""
    rest = body[len(title) :]
    repeated = title and body.lower().startswith(title.lower()) and not rest[:1].isalnum()
    return rest if repeated else body


def _best_window(lengths: Sequence[int], hits: Sequence[bool], length: int) -> tuple[int, int]:
    """Return start and end of the earliest run of words that fits and has most hits; one word may be too long."""
    best, window, end, size, inside = -1, (0, 1), 0, -1, 0
    for start in range(len(lengths)):
        while end < len(lengths) and (end <= start or size + 1 + lengths[end] <= length):
            size += 1 + lengths[end]
            inside += hits[end]
            end += 1
        if inside > best:
            best, window = inside, (start, end)
        size -= 1 + lengths[start]
        inside -= hits[start]
    return window
