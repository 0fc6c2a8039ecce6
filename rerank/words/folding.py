"""The form of a word in which texts are compared, however it is written: version 2 of the tokenizer.

A word is in lower case and in Unicode's composed form. Soft hyphens, variation selectors (as of emoji), Arabic vowel
marks and tatweel are dropped, and compatibility forms become the characters that they stand for: full-width
letters, ligatures, superscripts (NFKC, for letters and digits). Joiners (ZWNJ and ZWJ) stay within words. Azerbaijani
and Turkish distinguish dotted and dotless i.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

DOTLESS_I = frozenset({"az", "tr"})
"""The languages in which I is the capital of a letter without a dot, and the capital of i has one."""

_SOFT_HYPHEN, _JOINERS, _DOT = "\u00ad", "\u200c\u200d", "\u0307"
_DOTTED = re.compile(f"i{_DOT}+")
_SIGMA, _FINAL_SIGMA = "\u03c3", "\u03c2"
_ENDS = _JOINERS + _SIGMA + _FINAL_SIGMA
INVISIBLE = _SOFT_HYPHEN + _JOINERS
"""Characters that are part of a word only between its letters."""

_ARABIC_MARKS, _TATWEEL = "\u064b-\u0652\u0670", "\u0640"
_SOUND_MARKS = "\uff9e\uff9f"  # half-width letters that fold to marks
_THAI_AND_LAO = range(0x0E00, 0x0F00)  # their letter am is one letter, which NFKC would split
_VARIANTS = range(0xFE00, 0xFE10)  # invisible marks that choose the shape of the character before, as of emoji
_KOREAN_LETTERS = "\u1160-\u11ff\u3131-\u318e\ud7b0-\ud7fb\uffa0-\uffdc"  # parts of syllables
_LAST = 0x1FFFF
_PIECE = 64  # characters, so that folding each beginning of a piece takes linear time


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word as written: letters, digits, and marks that follow them, as Hindi's vowel signs.

    Soft hyphens and joiners do not end a word; they may be its last characters.
    """
    return re.compile(f"(?![{_TATWEEL}{_SOUND_MARKS}])[^\\W_]+(?:[{_marks()}{INVISIBLE}]+[^\\W_]*)*")


@cache
def _marks() -> str:
    return "".join(chr(code) for code in range(0x300, _LAST) if unicodedata.category(chr(code)) in ("Mn", "Mc"))


@cache
def _forms() -> dict[int, str]:
    """Return the form of each character that folding changes, an empty text for a dropped one."""
    dropped = re.compile(f"[{_ARABIC_MARKS}{_TATWEEL}{_SOFT_HYPHEN}]")
    forms = {code: "" for code in range(0x80, 0x700) if dropped.match(chr(code))}
    for code in range(0x80, _LAST):
        if unicodedata.decomposition(chr(code)).startswith("<") and chr(code).isalnum() and code not in _THAI_AND_LAO:
            form = dropped.sub("", unicodedata.normalize("NFKC", chr(code)))
            if form[:1].isalnum() and word_pattern().fullmatch(form):
                forms[code] = form
    forms |= {ord(mark): unicodedata.normalize("NFKC", mark) for mark in _SOUND_MARKS} | dict.fromkeys(_VARIANTS, "")
    # In lower case, the dotted capital would be two characters, and a sigma would depend on the letters around it.
    return forms | {ord("\u0130"): "i", ord("\u03a3"): _SIGMA}


@cache
def _special() -> frozenset[str]:
    return frozenset(map(chr, _forms())) | {_DOT}


def fold(text: str, language: str) -> str:
    """Return a text in the form in which its words are compared, but for their last character: see `ended`.

    `language` is a code. The words are found by `word_pattern`.
    """
    text = unicodedata.normalize("NFC", text)
    if language in DOTLESS_I:
        text = text.replace("I", "\u0131")
    if _special().isdisjoint(text):
        return unicodedata.normalize("NFC", text.lower())
    lowered = unicodedata.normalize("NFC", text.translate(_forms()).lower())
    return unicodedata.normalize("NFC", _DOTTED.sub("i", lowered))


def ended(word: str) -> str:
    """Return a folded word with the final form of a sigma, and without joiners at its end."""
    word = word.rstrip(_JOINERS)
    if word[-1:] in (_SIGMA, _FINAL_SIGMA):
        return word[:-1] + (_FINAL_SIGMA if len(word) > 1 else _SIGMA)
    return word


def folded_lengths(written: str, word: str, language: str) -> Sequence[int]:
    """Return how long the `word` (of n characters) that is `written` is after each of its characters: (n + 1,).

    A long word is folded piece by piece; if the pieces do not add up to it, the lengths are estimates.
    """
    pieces = [written] if len(written) <= _PIECE else _piece().findall(written)
    lengths = [0]
    for piece in pieces:
        lengths += [lengths[-1] + len(fold(piece[:end], language)) for end in range(1, len(piece) + 1)]
    if lengths[-1] != len(word):
        return [end * len(word) // len(written) for end in range(len(written) + 1)]
    return lengths


@cache
def _piece() -> re.Pattern[str]:
    """Return the pattern of a character with those after it that may be composed with it: marks, and Korean letters."""
    return re.compile(f".[{_marks()}{INVISIBLE}{_SOUND_MARKS}{_KOREAN_LETTERS}]{{0,{_PIECE - 1}}}", re.DOTALL)


def folded_words(text: str, language: str) -> list[str]:
    """Return the words of a text in a language."""
    folded = fold(text, language)
    words: list[str] = word_pattern().findall(folded)
    return list(map(ended, words)) if any(char in folded for char in _ENDS) else words
