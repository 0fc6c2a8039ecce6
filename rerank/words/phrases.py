"""Phrases of word vectors: entries of several words that a file joins by `_`, such as `New_York` of word2vec's.

Adjacent words of a text that form a phrase become one word, `new_york`, with the phrase's vector.
Scorers count the words of which it consists.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from moverank.rerank.words.folding import ended, fold, word_pattern

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
    found = (phrase for entry in entries if (phrase := folded_phrase(entry, language)))
    return " ".join(dict.fromkeys(islice(found, MOST_PHRASES)))


class Phrases:
    """Finds phrases, each its words joined by `_`, in the words of a text: from left to right, the longest first."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = frozenset(phrase for phrase in phrases if JOINT in phrase)
        sizes: dict[tuple[str, str], set[int]] = {}
        for phrase in self._phrases:
            first, second, *others = phrase.split(JOINT)
            sizes.setdefault((first, second), set()).add(2 + len(others))
        self._sizes = {begin: sorted(own, reverse=True) for begin, own in sizes.items()}

    def find(self, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Yield each phrase in `words`: the positions of its first word and of the word after it, and the phrase."""
        last = 0
        for start in [i for i, begin in enumerate(pairwise(words)) if begin in self._sizes]:
            for size in self._sizes[words[start], words[start + 1]] if start >= last else ():
                own = words[start : start + size]  # fewer at the end
                if (phrase := JOINT.join(own)) in self._phrases:
                    last = start + len(own)
                    yield start, last, phrase
                    break

    def joined(self, words: Sequence[str]) -> list[str]:
        """Return the words in order, with each phrase joined to one word."""
        found, last = list[str](), 0
        for start, end, phrase in self.find(words):
            found += [*words[last:start], phrase]
            last = end
        return [*found, *words[last:]]


@lru_cache(maxsize=8)  # 20,000 phrases take 5 MB
def phrases_named(phrases: str) -> Phrases:
    """Return the finder of `phrases`, separated by spaces."""
    return Phrases(phrases.split())
