"""Splits a text into words: one rule for documents and queries, with stop words and stems.

Stems are Snowball's (Porter 2001), so that a scorer counts `connect` and `connected` alike.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern

from moverank.rerank.errors import OptionError
from moverank.rerank.words.folding import DOTLESS_I, INVISIBLE, ended, fold, folded_lengths, folded_words, word_pattern
from moverank.rerank.words.languages import CODES, DEFAULT, NO_LANGUAGE, language_of, listed_stop_words
from moverank.rerank.words.phrases import phrases_named, phrases_of
from moverank.rerank.words.segmentation import AUTO, WHOLE, parts_of, segmentation_of, segmenter_of, vocabulary_of

_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
"""The character of a word that each ASCII character stands for, or a space."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Splits texts into lower-case words at hyphens and punctuation; keeps digits, drops stop words.

    Words are in Unicode's composed form (NFC), so that both encodings of an accent give one word. Other forms of
    letters are folded, some by the `language`, an ISO code (see `folding`); runs of scripts without spaces are split by
    the `segmentation` (see there). Adjacent words that form one of the `phrases` are one word (see there).
    """

    stop_words: frozenset[str] = frozenset()
    language: str = DEFAULT
    segmentation: str = WHOLE
    vocabulary: str = field(default="", repr=False)
    """The words of the segmentation by a vocabulary, see `segmenter_of`."""
    phrases: str = field(default="", repr=False)
    """Phrases with spaces between them, see `phrases_of`."""

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in order."""
        if self.is_plain(text):  # as most texts: a table is many times faster than a pattern
            words = text.encode().translate(_ASCII).decode().split()
        else:
            words = folded_words(text, self.language)
            if self.segmentation != WHOLE:
                words = [part for word in words for _, _, part in self._parts(word)]
        if self.phrases:
            words = phrases_named(self.phrases).joined(words)
        return [word for word in words if word not in self.stop_words]

    def is_plain(self, text: str) -> bool:
        """Return whether the words of a text are its runs of ASCII letters and digits, in lower case."""
        return text.isascii() and (self.language not in DOTLESS_I or "I" not in text)

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start and end of each word in `text` as it is written, and the word."""
        spans = self._plain_spans(text) if self.is_plain(text) else self._folded_spans(text)
        for start, end, word in self._joined_spans(list(spans)) if self.phrases else spans:
            if word not in self.stop_words:
                yield start, end, word

    def _joined_spans(self, spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
        """Yield the spans of words, of a phrase from its first to its last."""
        last = 0
        for first, end, phrase in phrases_named(self.phrases).find([word for _, _, word in spans]):
            yield from spans[last:first]
            yield spans[first][0], spans[end - 1][1], phrase
            last = end
        yield from spans[last:]

    def _folded_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        for found in word_pattern().finditer(text):
            written = found[0].rstrip(INVISIBLE)
            word = fold(written, self.language)
            if self.segmentation == WHOLE or word.isascii():
                yield found.start(), found.start() + len(written), ended(word)
            else:  # the parts come from the ended word, which may be shorter than the folded text
                yield from self._part_spans(found.start(), written, word)

    def _part_spans(self, first: int, written: str, word: str) -> Iterator[tuple[int, int, str]]:
        """Yield the spans of the parts of a word that is `written` from the position `first` on."""
        lengths = range(len(word) + 1) if written == word else folded_lengths(written, word, self.language)
        for start, end, part in self._parts(word):
            yield first + bisect_right(lengths, start) - 1, first + bisect_right(lengths, end) - 1, part

    def _parts(self, word: str) -> Iterable[tuple[int, int, str]]:
        """Return start, end and text of each part of a word."""
        if word.isascii():
            return ((0, len(word), word),)
        return parts_of(word, segmenter_of(self.segmentation, self.language, self.vocabulary))

    def _plain_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        for found in _PLAIN_WORD.finditer(text.lower()):
            yield found.start(), found.end(), found[0]

    def count(self, text: str) -> Counter[str]:
        """Return the number of occurrences of each word of `text`."""
        return Counter(self.words(text))


LANGUAGES = tuple(sorted({"porter", *(stemmer for code in CODES if (stemmer := language_of(code).stemmer))}))
"""The languages with stems, in order; "porter" is the original English algorithm (Porter 1980)."""


def stemmer_named(language: str) -> str | None:
    """Return the stemmer, one of `LANGUAGES`, by its name or a language's code; None for "none" and without a stemmer.

    Raises OptionError for an unknown language.
    """
    return language if language in LANGUAGES else language_of(language).stemmer


def stem_words(words: Sequence[str], language: str) -> list[str]:
    """Return the stem of each word; `language` is one of `LANGUAGES`."""
    import Stemmer  # on first use: most rankings need no stems

    # Without its cache of words it is six times as fast.
    stems: list[str] = Stemmer.Stemmer(language, 0).stemWords(list(words))
    return stems


def tokenizer_of(
    stop_words_choice: "StopWords",
    language: str,
    segmentation: str = AUTO,
    vocabulary: Collection[str] | None = None,
    phrases: Collection[str] | None = None,
) -> Tokenizer:
    """Return the tokenizer of texts in a `language`; see `stop_words` for the choice and the errors.

    `vocabulary`: the words of the segmentation by one, most frequent first, or a text with spaces between them. Of a
    list, the words that can be used are kept, see `vocabulary_of`. `phrases`: those among the entries of word vectors,
    see `phrases_of`, or a text with spaces between phrases.
    """
    known = language_of(language)
    chosen = segmentation_of(segmentation, spaces=known.spaces, given=vocabulary is not None)
    words = stop_words(stop_words_choice, known.code)
    own = _words("a vocabulary is a list of words, most frequent first", vocabulary)
    joined = _words("phrases are a list of words joined by `_`", phrases)
    # `segmenter_of` and `phrases_named` compare them for each word and text.
    return Tokenizer(
        words,
        known.code,
        chosen,
        intern(own if isinstance(own, str) else vocabulary_of(own, known.code, fewest=0) or ""),
        intern(joined if isinstance(joined, str) else phrases_of(joined, known.code)),
    )


def _words(what: str, given: object) -> str | Sequence[str]:
    """Return a text or a list of words as it is, an empty text for None; OptionError for anything else."""
    if given is None or isinstance(given, str):
        return given or ""
    words: list[object] = [given]
    with suppress(TypeError):
        words = list(given)  # type: ignore[call-overload]  # an object that is no iterable raises an error below
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f"{what}, not {repr(given)[:60]}")
    return list(map(str, words))


LISTS = AUTO_WORDS, ENGLISH, NO_STOP_WORDS = "auto", "english", "none"

StopWords = Collection[str]
"""A choice of stop words: "auto" (the language's), "english", "none", or a list of words; see `stop_words`."""


def stop_words(choice: StopWords = AUTO_WORDS, language: str = DEFAULT) -> frozenset[str]:
    """Return the stop words of a `language`, a code, for "auto", the English ones, none, or the words given.

    Words are split as texts are (`don't` is `don`, `t`). Raises OptionError for anything else.
    """
    code = language_of(language).code
    if isinstance(choice, str):
        if choice not in LISTS:
            raise OptionError(f"stop words are {_CHOICES}, not {choice!r}")
        listed = {AUTO_WORDS: code, ENGLISH: DEFAULT, NO_STOP_WORDS: NO_LANGUAGE}[choice]
        return _split(listed_stop_words(listed), code)
    words: list[object] = [choice]
    with suppress(TypeError):  # an object that is no iterable raises OptionError below
        words = list(choice)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f"stop words are {_CHOICES}, not {repr(choice)[:60]}")
    return _split(tuple(map(str, words)), code)


_CHOICES = ", ".join(f'"{name}"' for name in LISTS) + ", or a list of words"


@lru_cache(maxsize=8)  # the settings of a collection are restored with each of its states
def _split(words: tuple[str, ...], language: str) -> frozenset[str]:
    """Return words, split as texts are."""
    tokenizer = Tokenizer(frozenset(), language)
    return frozenset(part for word in words for part in tokenizer.words(word))
