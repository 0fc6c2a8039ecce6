"""Finds the stored words that a word of a query may be a misspelt form of: typing errors, and marks left out."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.runtime.deadline import check_time

LONGEST_TYPED = 50
"""The number of distinct words up to which a query is taken for one that somebody typed: longer ones are documents."""

Respelled = Mapping[str, Mapping[str, float]]
"""The stored words that stand in the place of a word of a query, with the share of its count that each gets."""

_ONE, _TWO = 4, 7
"""The numbers of letters from which a word may have one error, and two: those of Typesense."""

_MOST = 5
"""The number of spellings of a word, at most."""


def without_marks(word: str) -> str:
    """Return a word without the marks of its letters, such as accents; the Vietnamese d with a stroke is a d, too."""
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word.replace("\u0111", "d"))
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


class _Words(NamedTuple):
    """Stored words whose forms without marks have the same number of letters."""

    plain: list[str]  # without marks
    words: list[str]
    frequencies: list[int]


class Spellings:
    """The `words` (v,) of documents, and in how many documents each occurs: `frequencies` (v,)."""

    def __init__(self, words: Sequence[str], frequencies: NDArray[np.int64]) -> None:
        self._by_length = dict[int, _Words]()
        self._marked = dict[str, list[int]]()
        for word, frequency in zip(words, frequencies.tolist(), strict=True):
            if frequency:
                plain = without_marks(word)
                own = self._by_length.setdefault(len(plain), _Words([], [], []))
                if plain != word:
                    self._marked.setdefault(plain, []).append(len(own.words))
                own.plain.append(plain)
                own.words.append(word)
                own.frequencies.append(frequency)

    def unmarked(self, word: str) -> Mapping[str, float]:
        """Return the stored words that are `word` but for marks, itself included, with their shares."""
        return self._shares([(len(word), place) for place in self._places(word)])

    def near(self, word: str) -> Mapping[str, float]:
        """Return the stored words with the fewest errors, with their shares; none if all have too many, or none has.

        An error is a letter too many, too few or wrong, or two neighbours exchanged (optimal string alignment). Words
        of four letters or more may have one, of seven or more two, those with a digit none. Words that differ by marks
        alone have no error.
        """
        plain = without_marks(word)
        same = self._places(plain)
        length = len(plain)
        if same:
            stored = self._by_length[length].words
            return {} if any(stored[place] == word for place in same) else self._shares([(length, i) for i in same])
        most = 0 if any(map(str.isdigit, plain)) else (length >= _ONE) + (length >= _TWO)
        found = list(chain.from_iterable(self._within(plain, other, most) for other in _around(length, most)))
        least = min((errors for errors, _ in found), default=0)
        return self._shares([place for errors, place in found if errors == least])

    def _places(self, plain: str) -> list[int]:
        """Return the places of words with a form without marks, among those of its length."""
        own = self._by_length.get(len(plain))
        if own is None:
            return []
        bare = [own.words.index(plain)] if plain in own.words else []
        return [*bare, *self._marked.get(plain, ())]

    def _within(self, plain: str, length: int, most: int) -> list[tuple[int, tuple[int, int]]]:
        """Return the errors and the places of words of a length that have at most so many errors."""
        from rapidfuzz.distance import OSA  # on first use: 20 ms
        from rapidfuzz.process import extract

        check_time()
        own = self._by_length.get(length)
        if own is None or not most:
            return []
        found = extract(plain, own.plain, scorer=OSA.distance, score_cutoff=most, limit=None)
        return [(int(errors), (length, place)) for _, errors, place in found]

    def _shares(self, places: Sequence[tuple[int, int]]) -> Mapping[str, float]:
        """Return the most frequent of the words at some places, with their shares of the documents of these."""
        every = [(-self._by_length[length].frequencies[i], self._by_length[length].words[i]) for length, i in places]
        best = sorted(every)[:_MOST]
        total = sum(frequency for frequency, _ in best)
        return {word: frequency / total for frequency, word in best}


def _around(length: int, most: int) -> range:
    return range(max(1, length - most), length + most + 1)
