"""Phrases of word vectors: entries of several words that a file joins by `_`, such as `New_York` of word2vec's.

Where the words of a text are those of a phrase, side by side, they are one word, `new_york`, with the phrase's vector.
Scorers count the words of which it consists.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from moverank.rerank.words.folding import ended, fold, word_pattern
from moverank.rerank.words.vocabulary import Vocabulary

JOINT = "_"
"""What joins the words of a phrase. No other word has it: it separates words of a text."""

MOST_PHRASES = 20_000
"""The phrases that a collection keeps."""

_LONGEST = 8
"""The words of a phrase: files hold whole addresses and lines of tables as entries."""


def folded_phrase(entry: str, language: str) -> str | None:
    """Return an entry of a file as a phrase of a text has it, None unless it joins several words; see `fold`."""
    parts = entry.split(JOINT) if JOINT in entry[1:-1] else []
    if not 2 <= len(parts) <= _LONGEST:
        return None
    folded = [ended(fold(part, language)) for part in parts]
    return JOINT.join(folded) if all(map(word_pattern().fullmatch, folded)) else None


def phrases_of(entries: Iterable[str], language: str) -> str:
    """Return the first 20,000 phrases among the `entries` of a file, folded, with spaces between them.

    Entries are in the order of their frequency, most frequent first. `language` is a code.
    """
    if isinstance(entries, Vocabulary):
        entries = entries.containing(JOINT)
    found = (phrase for entry in entries if (phrase := folded_phrase(entry, language)))
    return " ".join(dict.fromkeys(islice(found, MOST_PHRASES)))


class Phrases:
    """Finds phrases, each its words joined by `_`, in the words of a text: from left to right, the longest first."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = frozenset(phrases)
        sizes: dict[str, set[int]] = {}
        for phrase in self._phrases:
            first, *others = phrase.split(JOINT)
            sizes.setdefault(first, set()).add(1 + len(others))
        self._sizes = {first: sorted(own, reverse=True) for first, own in sizes.items()}

    def find(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the words in order, phrases joined, and before each the number of words of which it consists."""
        i = 0
        while i < len(words):
            size, found = self._longest(words, i)
            yield size, found
            i += size

    def _longest(self, words: Sequence[str], start: int) -> tuple[int, str]:
        """Return the longest phrase that begins at the word `start`, else that word, and its number of words."""
        for size in self._sizes.get(words[start], ()):
            phrase = JOINT.join(words[start : start + size])
            if phrase in self._phrases:
                return size, phrase
        return 1, words[start]


@lru_cache(maxsize=8)  # 20,000 phrases take 5 MB
def phrases_named(phrases: str) -> Phrases:
    """Return what finds phrases, given with spaces between them."""
    return Phrases(phrases.split())
