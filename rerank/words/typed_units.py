"""The units of a text that are compared: words, limits, and numbers, quantities, dates and times by their exact values.

A negation gives the words after it another polarity, and a comparator beside a number is a part of it. Units are the
same if their keys are equal; so `1 kg` is `1000 g`, `no fewer than 5` is `at least 5`, and `effective` is not what `not
effective` says. The manual's page `evidence` has the rules.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.dates import weekdays
from moverank.rerank.words.languages import named_lines
from moverank.rerank.words.limiting_words import (
    AFTER_VERB,
    CLAUSE_END,
    FORBIDDEN_END,
    FREE_OF,
    OF_WORD,
    Limits,
    limits_of,
)
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.typed_numbers import typed_numbers
from moverank.rerank.words.unit import Unit, UnitKind

_PORTION = 2000  # words, or characters with numbers, between two checks of the time
_SCOPE = 2  # words after a negation that it changes
_WORDS = ("word", "name")
_NAMES = frozenset("ca en es fr it nl pt sv".split())  # noqa: SIM905 - a list of codes
_IN_SENTENCE = re.compile(r"[\w,;)%'\u2019] ?$")  # before a word with a capital that begins no sentence
_LABEL = re.compile(r"[a-z\u00df-\u00ff] (?:[A-HJ-Z]|I[IVX]+|[VX]I*)\Z")  # as in `vitamin A` and `part II`
APOSTROPHES = frozenset("'\u2019\u02bc")
_CLAUSE_END = re.compile(
    r",(?!(?:[^\W\d_]|[ -]){0,100}\bzu [^\W\d_]+n\b)|"  # as in `es ist verboten, hier zu rauchen`
    r"[.;:!?()\[\]{}\"\u2026\u2013\u2014\u3001\u3002\uff0c\u060c\u061b\u061f|]|\n\s*\n|"
    r"\n(?=[^\S\n]*+(?:[-*#>\u2022]|\d++[.)])\s)"  # an item of a list
)


def units_of(text: str, tokenizer: Tokenizer) -> list[Unit]:
    """Return the units of a text in order; negations are none, nor are stop words that limit nothing."""
    typed = list(typed_numbers(text, tokenizer.language))
    words = _words(text, tokenizer, typed)  # first, since it changes `typed`
    return sorted([one for one in (*typed, *words) if one.value], key=lambda unit: unit.start)


def _words(text: str, tokenizer: Tokenizer, typed: list[Unit]) -> list[Unit]:
    """Return the limits, and the words outside `typed` units that are neither stop words nor negations.

    The comparator of a typed unit in the scope of a negation is reversed: `no longer than 5 days` is `<= 5 days`.
    """
    limits = limits_of(tokenizer.language)
    phrases = {one.start(): one for one in limits.words.finditer(text)}
    names = _names_of(tokenizer.language)
    clause_ends = [one.start() for one in _CLAUSE_END.finditer(_without(text, typed))]
    polarity, starts = _Polarity(limits), [one.start for one in typed]
    inside = last = 0
    for start, end, word, place in _spans(text, tokenizer, typed):
        if start < inside:
            continue
        here = start if place < 0 else typed[place].start
        ends = bisect_left(clause_ends, last) < bisect_left(clause_ends, here)
        last = max(last, here)
        if place >= 0:
            typed[place] = polarity.of_typed(typed[place], ends=ends)
            continue
        polarity.go_on(word, ends=ends)
        if (phrase := phrases.get(start)) is not None:
            inside = phrase.end()
            for i in range(bisect_left(starts, start), bisect_left(starts, inside)):
                typed[i] = replace(typed[i], value="")  # as `two` in `each of the two`
            polarity.limit(start, inside, limits.of(phrase[0]))
        elif negates(text, end, word, limits.negations):
            is_verb = _PARTICIPLE.match(text, end) is None
            polarity.negate(word, is_prefix=text[end : end + 1] == "-", of_verb=is_verb)
        elif word in limits.negations and _said_by_ne(text, end) == "only":
            polarity.limit(start, end, "only")
        elif word in FREE_OF and text[start - 1 : start] == "-":
            polarity.negate_last()
        elif kind := _kind(text, start, word, tokenizer):
            whole = names.get(f"{word}.", word) if text[end : end + 1] == "." else word
            polarity.add(Unit(start, end, kind, names.get(whole, whole)))
        last = end
    return polarity.ended()


def _spans(text: str, tokenizer: Tokenizer, typed: Sequence[Unit]) -> Iterator[tuple[int, int, str, int]]:
    """Yield start, end and text of each word outside typed units, with -1; of the first in one, with its place."""
    place = seen = -1
    for count, (start, end, word) in enumerate(replace(tokenizer, stop_words=frozenset()).spans(text)):
        if count % _PORTION == 0:
            check_time()
        while place + 1 < len(typed) and typed[place + 1].start < end:
            place += 1
        if place < 0 or typed[place].end <= start:
            yield start, end, word, -1
        elif seen < place:
            seen = place
            yield start, end, word, place


_MAY = ("limit", "may", "")
_LONGEST_PART = 100  # units; a limit keeps the time linear
_QUANTIFIERS = ("all", "always", "both", "many", "most", "often")
_REVERSE = {">=": "<", "<=": ">", ">": "<=", "<": ">="}
_PARTICIPLE = re.compile(r"\s+\w+[tn]e[mnrs]?\s+(?!werden\b|und\b|oder\b)\w")  # `die nicht gezahlte Miete`


@dataclass(slots=True)
class _Polarity:
    """Gives words and limits their polarity, one after the other."""

    limits: Limits
    units: list[Unit] = field(default_factory=list)
    _left: int = 0
    """How many further words the last negation changes."""
    _is_next: bool = False
    """Whether no word is between the last negation and this place."""
    _after_verb: bool = False
    """Whether the last negation is one that follows the verb."""
    _is_forbidden: bool = False
    """Whether a prohibition reverses the polarity of all words up to the end of its clause."""
    _may: bool = False
    """Whether `may` is in the clause."""
    _part: int = 0
    """The number of units before this part of the sentence."""

    def go_on(self, word: str, *, ends: bool) -> None:
        """Go on to the next word; `ends`: a clause ends before it."""
        if ends or word in self.limits.lists[CLAUSE_END]:
            self._end_clause()
        elif word in self.limits.lists[FORBIDDEN_END]:
            self._is_forbidden, self._part = False, len(self.units)

    def of_typed(self, unit: Unit, *, ends: bool) -> Unit:
        """Return a typed unit that a negation right before it changes, or whose comparator one before it reverses.

        `ends`: a clause ends before it.
        """
        if ends:
            self._end_clause()
        sign, _, value = unit.value.partition(" ")
        if self._left and sign in _REVERSE:
            return replace(unit, value=f"{_REVERSE[sign]} {value}")
        unit, self._is_next = replace(unit, negated=self._is_next), False
        return unit

    def _end_clause(self) -> None:
        if self._is_next and self._after_verb:
            self._reverse(max(self._part, len(self.units) - _SCOPE))
        self._left, self._is_next, self._part = 0, False, len(self.units)
        self._is_forbidden = self._may = False

    def ended(self) -> list[Unit]:
        """Return all units."""
        self._end_clause()
        return self.units

    def limit(self, start: int, end: int, meaning: str) -> None:
        """Add a limit, or what else a phrase says."""
        if meaning in ("not", "without"):
            self.negate("", is_prefix=meaning == "without", of_verb=True)
        elif meaning != "nothing":
            value = meaning.removeprefix("not ")
            if value != meaning or meaning == "nobody":
                self._forbid()
            only_it = self._is_next and value in _QUANTIFIERS  # `not all members` says nothing of those who are
            unit = Unit(start, end, "limit", value, negated=value != meaning or self._left > 0)
            self.units.append(unit)
            self._may |= unit.key == _MAY
            self._left *= not only_it
            self._is_next &= not only_it

    def add(self, unit: Unit) -> None:
        """Add a word or a name."""
        is_near = self._is_next or unit.kind != "name"  # `not enforceable in Ontario`
        negated = (self._left > 0 and is_near) != self._is_forbidden
        self.units.append(replace(unit, negated=True) if negated else unit)
        self._left = max(0, self._left - 1)
        self._is_next = False

    def negate(self, word: str, *, is_prefix: bool, of_verb: bool) -> None:
        """Change the polarity of the words after a negation; of those before it, if it ends a clause after the verb.

        `of_verb`: it is no negation of the participle after it. After `may`, it is a prohibition.
        """
        self._left, self._is_next = 1 if is_prefix or word in self.limits.lists[OF_WORD] else _SCOPE, True
        self._after_verb = word in self.limits.lists[AFTER_VERB]
        if self._after_verb and self._may and of_verb:
            self._forbid()
            self._left, self._is_next, self._may = 0, False, False

    def _forbid(self) -> None:
        """Reverse the polarity of the words of the clause, before this place and after it."""
        self._reverse(self._part)
        self._is_forbidden = True

    def _reverse(self, first: int) -> None:
        """Reverse the polarity of the words of the clause from a unit on, and of `may`."""
        for place in range(max(first, len(self.units) - _LONGEST_PART), len(self.units)):
            unit = self.units[place]
            if unit.kind in _WORDS or unit.key == _MAY:
                self.units[place] = replace(unit, negated=not unit.negated)

    def negate_last(self) -> None:
        """Change the polarity of the last word, as in `sugar-free`."""
        if self.units:
            self.units[-1] = replace(self.units[-1], negated=True)


def _kind(text: str, start: int, word: str, tokenizer: Tokenizer) -> UnitKind | None:
    """Return the kind of a word, None for a stop word.

    A name has a digit, is a weekday, an active substance or a label, or has a capital in the middle of a sentence.
    """
    language = tokenizer.language
    if _LABEL.match(text, max(0, start - 2), start + len(word)):
        return "name"
    if word in tokenizer.stop_words or (word == "a" and language == "fr"):
        return None
    if any(char.isdigit() for char in word) or word in weekdays(language) or _is_substance(word):
        return "name"
    is_written = text[start].isupper() and text[start + 1 : start + 2].islower()
    is_name = language in _NAMES and is_written and _IN_SENTENCE.search(text, max(0, start - 3), start)
    return "name" if is_name else "word"


@cache
def _names_of(language: str) -> dict[str, str]:
    """Return what weekdays in the plural and abbreviations, with the full stop that they need, stand for."""
    return weekdays(language) | limits_of(language).abbreviations


def _is_substance(word: str) -> bool:
    """Return whether a word is the name of an active substance."""
    endings, names = _substances()
    forms = (word, word.removesuffix("s"))
    return any(form in names or (len(word) >= _LONG and form.endswith(endings)) for form in forms)


@cache
def _substances() -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the endings of names of active substances, and the names without one."""
    tables = named_lines("substances.txt")
    return tuple(tables["endings"]), frozenset(tables["names"])


_LONG = 7  # letters of a name by its ending


def _without(text: str, typed: Sequence[Unit]) -> str:
    """Return a text of the same length with digits in the place of `typed` units, which end no clause."""
    kept, last = list[str](), 0
    for unit in typed:
        kept += [text[last : unit.start], "0" * (unit.end - unit.start)]
        last = unit.end
    return "".join([*kept, text[last:]])


_NE = re.compile(
    r"(?!\W+(?:\w+\W+){0,5}?pas (?:(?:plus|moins) d|seulement|uniquement))"  # says no negation
    r"\W+(?:\w+\W+){0,5}?(?:pas|(?P<only>que?\b)|plus|jamais|aucune?|rien|personne|point|gu\u00e8re|"
    r"ni|null?e?)\b",
    re.IGNORECASE,
)


def _said_by_ne(text: str, end: int) -> str:
    """Return what the French `ne` that ends at `end` says by the word that goes with it: "not", "only", or ""."""
    found = _NE.match(text, end)
    return "" if found is None else "only" if found["only"] else "not"


def negates(text: str, end: int, word: str, negations: frozenset[str]) -> bool:
    """Return whether a word that ends at `end` is a negation: one of the language's, or the end of `n't`.

    In French, `ne` alone is none, as in `avant qu'il ne parte`.
    """
    if word in ("ne", "n") and word in negations:
        return (word == "ne" or text[end : end + 1] in APOSTROPHES) and _said_by_ne(text, end) == "not"
    if word in negations:
        return True
    return text[max(0, end - 3) : end].lower() in {f"n{sign}t" for sign in APOSTROPHES}
