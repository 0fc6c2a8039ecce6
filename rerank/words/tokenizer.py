"""Splits a text into words: one rule for documents and queries."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

_ASCII_WORD = re.compile("[a-z0-9]+")


@cache
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of a word: letters, digits and the marks that follow them, such as Hindi's vowel signs."""
    marks = "".join(chr(code) for code in range(0x300, 0x1FFFF) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_]+(?:[{marks}]+[^\\W_]*)*")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Splits texts into lower-case words at hyphens and punctuation; keeps digits, drops stop words.

    The text is normalised to Unicode's composed form (NFC), so that both encodings of an accent give one word.
    """

    stop_words: frozenset[str] = frozenset()

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in order."""
        # Most texts are ASCII, where a pattern of two ranges is many times faster.
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())
        else:
            words = _unicode_word().findall(unicodedata.normalize("NFC", text.lower()))
        return [word for word in words if word not in self.stop_words]

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start and end of each word in `text` as it is written, and the word."""
        lowered = text.lower()
        # A letter in lower case may be two characters, as that of the Turkish capital I with a dot.
        origin: Sequence[int] = range(len(text))
        if len(lowered) != len(text):
            origin = [position for position, char in enumerate(text) for _ in char.lower()]
        for found in _unicode_word().finditer(lowered):
            word = unicodedata.normalize("NFC", found[0])
            if word not in self.stop_words:
                yield origin[found.start()], origin[found.end() - 1] + 1, word

    def count(self, text: str) -> Counter[str]:
        """Return the number of occurrences of each word of `text`."""
        return Counter(self.words(text))
