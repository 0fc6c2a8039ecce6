"""From a text to its words: one rule for documents and queries."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

# Words that gensim's list of 337 holds although they carry a text's meaning, above all at a help desk.
_MEANINGFUL = (
    "amount bill bottom call computer cry describe detail empty fill fire front full interest kg km mill move part "
    "serious show side sincere system thick thin top"
)
# What a split at the apostrophe leaves of "it's", "don't", "they'll", "we've", "I'd", "I'm".
_CONTRACTIONS = "ain aren couldn d doesn hadn hasn haven isn ll m mustn s shouldn t ve wasn weren won wouldn"

_ASCII_WORD = re.compile("[a-z0-9]+")


@cache
def default_stop_words() -> frozenset[str]:
    """Return gensim's English stop words without those that carry meaning, and with the remains of contractions."""
    from gensim.parsing.preprocessing import STOPWORDS  # over a second: only for who needs the list

    return frozenset(STOPWORDS).difference(_MEANINGFUL.split()).union(_CONTRACTIONS.split())


@cache
def _word() -> re.Pattern[str]:
    """Match letters, digits and the marks that belong to them: `re` alone would split Hindi at its vowel signs."""
    marks = "".join(chr(code) for code in range(0x300, 0x1FFFF) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_]+(?:[{marks}]+[^\\W_]*)*")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Splits texts into words: Unicode lower case, split at hyphens and punctuation, digits kept, stop words left out.

    The text is put into Unicode's composed form (NFC), so that an accent typed in two ways is one word.
    """

    stop_words: frozenset[str] = frozenset()

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in order."""
        # Most texts are ASCII, where a pattern of two ranges is many times faster.
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())
        else:
            words = _word().findall(unicodedata.normalize("NFC", text.lower()))
        return [word for word in words if word not in self.stop_words]

    def count(self, text: str) -> Counter[str]:
        """Return how often each word occurs in `text`."""
        return Counter(self.words(text))


def split_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of a stop list given as texts, split as the documents will be."""
    plain = Tokenizer()
    return frozenset(word for text in texts for word in plain.words(text))
