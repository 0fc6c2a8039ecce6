"""Other forms in which a file of word vectors has a word: another case, no marks, or the two parts of a compound.

Words of texts are in lower case and folded (see `folding`); files such as fastText's and word2vec's keep the case. A
word without an entry of its own is looked up in this order:

1. case: the most frequent entry, which is the first in the file, that folds to the word: `Berlin` for `berlin`.
2. marks: the most frequent entry that is equal without marks: `cafe` for `café`, and `café` for `cafe`. Letters with
   marks that a language distinguishes stay (Swedish å ä ö, Russian й), and German umlauts are `ae`, `oe`, `ue`.
3. phrase: the entry of a phrase (see `phrases`), as it is or found as in 1 and 2.
4. compound: in languages that write compounds as one word, two entries of which it consists, perhaps with a link:
   `apfelkuchen`, `arbeitsvertrag`. Of several pairs, the most frequent one by Zipf's law counts: that of the least
   product of ranks.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.words.folding import ended, fold, word_pattern
from moverank.rerank.words.phrases import JOINT, folded_phrase
from moverank.rerank.words.vocabulary import UNKNOWN, Vocabulary, encoded

STEPS = ("unknown", "exact", "case", "marks", "compound", "subwords", "phrase")
UNFOUND, EXACT, CASE, MARKS, COMPOUND, SUBWORDS, PHRASE = STEPS
"""The step of the look-up that finds the vector of a word, "unknown" where none does."""

_MARKS = frozenset(map(chr, (*range(0x300, 0x370), *range(0x653, 0x656))))
"""Marks on Latin, Greek and Cyrillic letters, and Arabic madda and hamza; marks of other scripts are vowels."""

_LETTERS = {
    "az": "çğöşü",
    "ca": "ç",
    "da": "å",
    "es": "ñ",
    "eu": "ñ",
    "fi": "åäö",
    "hu": "öőüű",
    "lt": "ąčęėįšųūž",
    "no": "å",
    "sr": "čćšž",
    "sv": "åäö",
    "tr": "çğöşü",
    "vi": None,
}
"""Letters with marks that are letters of their own in a language, None: all of them. Cyrillic й always is."""

_SPELLED = {
    "de": {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"},
    "da": {"å": "aa", "æ": "ae", "ø": "oe"},
    "no": {"å": "aa", "æ": "ae", "ø": "oe"},
}
"""Letters, and how they are spelled where a keyboard lacks them."""

_LINKS = {
    "da": ("", "s", "e"),
    "de": ("", "s", "es", "en", "n"),
    "fi": ("",),
    "hu": ("",),
    "nl": ("", "s", "en", "e"),
    "no": ("", "s", "e"),
    "sv": ("", "s"),
}
"""What stands between the two parts of a compound, in languages that write it as one word."""

_SHORTEST = 4
"""The letters that a part of a compound has at least: with shorter ones, names fall apart (`mat` and `lin`)."""


_LONGEST = 64
"""The letters that a compound has at most: a longer run of letters is no word, and all its cuts would take long."""


def compared(word: str, language: str) -> str:
    """Return an entry of a file as it would be counted in a text."""
    if word.isascii() and word.islower():
        return word
    return folded_phrase(word, language) or ended(fold(word, language))


def without_marks(word: str, language: str) -> str:
    """Return a folded word without the marks that its language does not distinguish."""
    if word.isascii():
        return word
    spelled = _SPELLED.get(language, {})
    return "".join(spelled.get(letter) or _without_mark(letter, language) for letter in word)


@lru_cache(maxsize=4096)
def _without_mark(letter: str, language: str) -> str:
    letters = _LETTERS.get(language, "")
    if letters is None or letter in letters or letter == "й":
        return letter
    plain = "".join(part for part in unicodedata.normalize("NFD", letter) if part not in _MARKS)
    return unicodedata.normalize("NFC", plain)


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(encoded(word), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """Finds entries in other forms, for texts in a `language`, a code.

    `rows` (m,) int32 are the entries that match words of a text only in another form; `hashes` (m,) uint64, increasing,
    are the hashes of their forms without marks, equal ones ordered by row. Both may be memory-mapped.
    """

    language: str
    hashes: NDArray[np.uint64]
    rows: NDArray[np.int32]
    _view: memoryview = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Indexing a memoryview gives plain integers, several times faster than an array does.
        object.__setattr__(self, "_view", self.hashes.data)

    @classmethod
    def of(cls, words: Sequence[str], language: str) -> "Forms":
        """Return the forms of the entries `words` (v,)."""
        hashes, rows = list[int](), list[int]()
        is_word = word_pattern().fullmatch
        for row, word in enumerate(words):
            if word.isascii() and word.islower() and word.isalnum():
                continue
            folded = compared(word, language)
            plain = without_marks(folded, language)
            if plain != word and (JOINT in folded or (is_word(folded) and is_word(word))):
                hashes.append(_hash(plain))
                rows.append(row)
        order = np.argsort(np.array(hashes, np.uint64), kind="stable")
        return cls(language, np.array(hashes, np.uint64)[order], np.array(rows, np.int32)[order])

    def __reduce__(self) -> tuple[type["Forms"], tuple[Any, ...]]:
        """Pickle the arrays as they are in memory."""
        return Forms, (self.language, np.array(self.hashes), np.array(self.rows))

    def find(self, word: str, vocabulary: Vocabulary) -> int:
        """Return the row of a word that `vocabulary`, the entries, has only in another form; else UNKNOWN."""
        plain, others = without_marks(word, self.language), list[int]()
        for row, folded in self._without_marks(plain, vocabulary):
            if folded == word:
                return row
            others.append(row)
        if plain != word and (row := int(vocabulary.find([plain])[0])) != UNKNOWN:
            others.append(row)
        return min(others, default=UNKNOWN)

    def compound(self, word: str, vocabulary: Vocabulary) -> tuple[int, int] | None:
        """Return the rows of the two parts of a compound, or None."""
        best: tuple[int, int] | None = None
        links = _LINKS.get(self.language, ()) if len(word) <= _LONGEST and word.isalpha() else ()
        for cut in range(_SHORTEST, len(word) - _SHORTEST + 1) if links else ():
            last = self._known(word[cut:], vocabulary)
            if last == UNKNOWN:
                continue
            for link in links:
                end = cut - len(link)
                if end < _SHORTEST or word[end:cut] != link:
                    continue
                first = self._known(word[:end], vocabulary)
                if first != UNKNOWN and (best is None or (first + 1) * (last + 1) < (best[0] + 1) * (best[1] + 1)):
                    best = first, last
        return best

    def step(self, word: str, entry: str) -> str:
        """Return the step that finds the `entry` for a word."""
        if JOINT in word:
            return PHRASE
        if entry == word:
            return EXACT
        return CASE if compared(entry, self.language) == word else MARKS

    def _known(self, word: str, vocabulary: Vocabulary) -> int:
        row = int(vocabulary.find([word])[0])
        return row if row != UNKNOWN else self.find(word, vocabulary)

    def _without_marks(self, plain: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
        """Yield the rows of the entries that are `plain` without marks, increasing, and the folded entries."""
        target = _hash(plain)
        for place in range(bisect_left(self._view, target), len(self._view)):
            if self._view[place] != target:
                return
            row = int(self.rows[place])
            folded = compared(vocabulary[row], self.language)
            if without_marks(folded, self.language) == plain:
                yield row, folded
