"""Finds the stored words that a word of a query may be a misspelt form of: typing errors, and marks left out."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.runtime.deadline import check_time

LONGEST_TYPED = 50
"""The number of distinct words up to which a query counts as typed by hand: longer ones are documents."""

Respelled = Mapping[str, Mapping[str, float]]
"""The stored words that stand in the place of a word of a query, with the share of its count that each gets."""

_ONE, _TWO = 4, 7
"""The numbers of letters from which a word may have one error, and two, as in Typesense."""

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


class _Found(NamedTuple):
    """A stored word with its number of errors."""

    errors: int
    word: str
    frequency: int


class Spellings:
    """The `words` (v,) of documents, and in how many documents each occurs: `frequencies` (v,)."""

    def __init__(self, words: Sequence[str], frequencies: NDArray[np.int64]) -> None:
        self._by_length = dict[int, _Words]()
        for word, frequency in zip(words, frequencies.tolist(), strict=True):
            if frequency:
                plain = without_marks(word)
                own = self._by_length.setdefault(len(plain), _Words([], [], []))
                own.plain.append(plain)
                own.words.append(word)
                own.frequencies.append(frequency)

    def unmarked(self, word: str) -> Mapping[str, float]:
        """Return the stored words that are `word` but for marks, itself included, with their shares."""
        return _shares(self._within(word, 0))

    def near(self, word: str) -> Mapping[str, float]:
        """Return the stored words with the fewest errors, with their shares; none if all have too many, or none has.

        An error is a letter too many, too few or wrong, or two neighbours exchanged (optimal string alignment). Words
        of four letters or more may have one, of seven or more two, those with a digit none. Words that differ by marks
        alone have no error. The first letter is right, or exchanged with the second: other words begin otherwise.
        """
        plain = without_marks(word)
        most = 0 if any(map(str.isdigit, plain)) else (len(plain) >= _ONE) + (len(plain) >= _TWO)
        found = self._within(plain, 0) or [one for one in self._within(plain, most) if _begin_alike(plain, one.word)]
        least = min((one.errors for one in found), default=0)
        nearest = [one for one in found if one.errors == least]
        return {} if any(one.word == word for one in nearest) else _shares(nearest)

    def _within(self, plain: str, most: int) -> list[_Found]:
        """Return the words that have at most so many errors."""
        from rapidfuzz.distance import OSA  # on first use: 20 ms
        from rapidfuzz.process import extract

        found = list[_Found]()
        for length in range(max(1, len(plain) - most), len(plain) + most + 1):
            check_time()
            if own := self._by_length.get(length):
                near = extract(plain, own.plain, scorer=OSA.distance, score_cutoff=most, limit=None)
                found += [_Found(int(errors), own.words[i], own.frequencies[i]) for _, errors, i in near]
        return found


def _begin_alike(plain: str, word: str) -> bool:
    """Return whether two words have the same first letter, marks aside, or the first two exchanged."""
    first = without_marks(word[:2])
    return first[:1] == plain[:1] or first[:2] == plain[1::-1]


def _shares(found: Sequence[_Found]) -> Mapping[str, float]:
    """Return the most frequent of some words, with their shares of the sum of their frequencies."""
    best = sorted(found, key=lambda one: (-one.frequency, one.word))[:_MOST]
    total = sum(one.frequency for one in best)
    return {one.word: one.frequency / total for one in best}
