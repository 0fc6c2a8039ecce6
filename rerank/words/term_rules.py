"""Rules by which words become terms, which a scorer counts in their place: stems, or sequences of letters (n-grams).

A rule has a name: that of a stemmer, one of `LANGUAGES`, such as `german`, or `ngrams=4` for sequences of four letters.
Each word of a phrase has its own terms; by the rule `parts`, these words are the terms, and other words stay whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import OptionError
from moverank.rerank.options import Integer, did_you_mean
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.tokenizer import LANGUAGES, stem_words

STEM, NGRAMS, PARTS = "stem", "ngrams", "parts"
_LETTERS = Integer(NGRAMS, 4, 2, 8)


def rule_of(options: Mapping[str, str]) -> str | None:
    """Return the rule that options of a scorer choose, None without `stem` and `ngrams`.

    Raises OptionError for an invalid value, and for both options.
    """
    if STEM in options and NGRAMS in options:
        raise OptionError("a scorer counts stems or n-grams: leave stem or ngrams out")
    if NGRAMS in options:
        return f"{NGRAMS}={_LETTERS.read(options)}"
    stem = options.get(STEM)
    if stem is not None and stem not in LANGUAGES:
        similar = did_you_mean(stem, LANGUAGES)
        raise OptionError(f"there are no stems for {stem!r}{similar}: choose {', '.join(LANGUAGES)}")
    return stem


def option_of(rule: str) -> str:
    """Return the option of a scorer that chooses a rule: `stem=german`, `ngrams=4`."""
    return rule if is_ngrams(rule) else f"{STEM}={rule}"


def is_ngrams(rule: str) -> bool:
    """Return whether the terms of a rule are sequences of letters."""
    return rule.startswith(f"{NGRAMS}=")


@dataclass(frozen=True, slots=True, eq=False)
class WordTerms:
    """The numbers `terms` (m,) int32 of the terms of each of w words.

    Word i has the slice `starts[i]:starts[i + 1]`, in which a term may be there several times; `starts` (w + 1,) is
    int64.
    """

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of terms of each word (w,)."""
        return np.diff(self.starts)

    def take(self, words: NDArray[np.int64]) -> "WordTerms":
        """Return the terms of some words (n,)."""
        lengths = self.lengths[words]
        starts = _starts(lengths)
        places = np.repeat(self.starts[words] - starts[:-1], lengths) + np.arange(starts[-1])
        return WordTerms(self.terms[places], starts)

    def joined(self, other: "WordTerms") -> "WordTerms":
        """Return the terms of these words and then of other ones, by the same rule."""
        return WordTerms(np.append(self.terms, other.terms), _starts(np.append(self.lengths, other.lengths)))


class TermTexts(NamedTuple):
    """The `texts` (m,) of the terms of each of w words, and their `starts`; see `WordTerms`."""

    texts: list[str]
    starts: NDArray[np.int64]

    @property
    def words(self) -> NDArray[np.int64]:
        """Return the row (m,) of the word that each term belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(lengths))


def terms_of(words: Sequence[str], rule: str) -> TermTexts:
    """Return the terms of words by a rule, in order: the stem, or the sequences of letters of each.

    A word that is not longer than a sequence is one term.
    """
    if any(JOINT in word for word in words):
        parts = [word.split(JOINT) for word in words]
        own, starts = terms_of([*chain.from_iterable(parts)], rule), _starts(np.array([*map(len, parts)], np.int64))
        return TermTexts(own.texts, own.starts[starts])
    if not is_ngrams(rule):
        return TermTexts(list(words) if rule == PARTS else stem_words(words, rule), np.arange(len(words) + 1))
    length = int(rule.partition("=")[2])
    numbers = np.array([max(1, len(word) - length + 1) for word in words], np.int64)
    texts = [word[i : i + length] for word, number in zip(words, numbers.tolist(), strict=True) for i in range(number)]
    return TermTexts(texts, _starts(numbers))
