"""Words that negate or limit other words, by language: closed tables of those that reverse what a sentence says.

A file of `limits/` has a line for each meaning: its name, and the ways to write it. Meanings that begin with `before`
or `after` compare the number after or before them, `#2` is the ordinal of 2, and all others are limits of their own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from moverank.rerank.words.languages import table_lines

NEGATIONS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "de": "nicht kein keine keinen keinem keiner keines nie niemals niemand niemandem niemanden ohne weder "
        "keinesfalls nichts",
        "en": "not no never cannot without neither nor none nobody nothing non",
        "es": "no nunca jamás sin ningún ninguna ninguno ni tampoco nadie nada",
        "fr": "ne n pas jamais sans aucun aucune ni personne non",
        "it": "non senza nessun nessuna nessuno né mai",
        "nl": "niet geen nooit zonder noch niemand",
        "pt": "não nunca sem nenhum nenhuma nem ninguém",
        "ru": "не нет без никогда ни никто",
        "sv": "inte ej aldrig utan ingen inga",
    }.items()
}
"""The negations of each language that has a table; `n't` is one in every language."""

NO_NEGATIONS: dict[str, dict[str, frozenset[str]]] = {
    "de": {"nicht": frozenset({"nur"})},
    "en": {"not": frozenset({"only", "just", "merely"}), "no": frozenset({"doubt"})},
    "es": {"no": frozenset({"solo", "sólo"})},
    "fr": {"pas": frozenset({"seulement"})},
}
"""The words that take the meaning of a negation before them, as `only` in `not only`."""

WHOLE_CLAUSE: dict[str, frozenset[str]] = {
    "de": frozenset({"nicht", "nie", "niemals", "keinesfalls"}),
    "nl": frozenset({"niet", "nooit"}),
    "sv": frozenset({"inte", "ej", "aldrig"}),
}
"""The negations that stand after the verb, and also change the words before them: `er zahlt nicht`."""

CONJUNCTIONS: dict[str, frozenset[str]] = {
    "de": frozenset({"und", "aber", "oder", "sondern", "doch"}),
    "nl": frozenset({"en", "maar", "of"}),
    "sv": frozenset({"och", "men", "eller"}),
}
"""The words that end the clause of such a negation, as punctuation does."""

FREE_OF = frozenset({"free", "frei"})
"""The words after a hyphen that negate the word before it: `sugar-free`."""

_OPPOSITE = re.compile(r"(?:un|non|in|im|ir|il|dis|mis|miss)(?P<after>\w{3,})|(?P<before>\w{3,})(?:less|los|frei)")

_SIGNS = {
    **dict.fromkeys((">=", "=>", "\u2265", "\u2267", "\u2a7e"), ">="),
    **dict.fromkeys(("<=", "=<", "\u2264", "\u2266", "\u2a7d"), "<="),
    **dict.fromkeys((">", "\uff1e", "\u226b"), ">"),
    **dict.fromkeys(("<", "\uff1c", "\u226a"), "<"),
    **dict.fromkeys(("!=", "\u2260"), "!="),
    **dict.fromkeys(("~", "\u2248"), "~"),
    "\u00b1": "\u00b1",
}
_SPACE = r"[^\S\n]*+\n?+[^\S\n]*+"
_NEVER = "(?!)"
_LONGEST = 40  # characters of a comparator


def opposite_of(word: str) -> str:
    """Return the word that a negative prefix or suffix reverses, as `safe` in `unsafe`, "" without one."""
    found = _OPPOSITE.fullmatch(word)
    return "" if found is None else found["after"] or found["before"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limiting words of a language."""

    meaning: dict[str, dict[str, str]]
    """The meaning of each phrase, in lower case with single spaces, by its place: "before", "after" or ""."""
    words: re.Pattern[str]
    """The pattern of the limits that compare no number."""
    ends_before: re.Pattern[str]
    """The pattern of a comparator at the end of the text before a number."""
    begins_after: re.Pattern[str]
    """The pattern of a comparator at the start of the text after a number."""

    def before(self, text: str, end: int) -> tuple[int, str] | None:
        """Return start and meaning of the comparator before the number at `end`."""
        found = self.ends_before.search(text[max(0, end - _LONGEST) : end])
        if found is None:
            return None
        said = _plain(found["phrase"])
        return end - (min(end, _LONGEST) - found.start("phrase")), _SIGNS.get(said) or self.meaning["before"][said]

    def after(self, text: str, start: int) -> tuple[int, str] | None:
        """Return end and meaning of the comparator after the number that ends at `start`."""
        found = self.begins_after.match(text[start : start + _LONGEST])
        return None if found is None else (start + found.end("phrase"), self.meaning["after"][_plain(found["phrase"])])

    def of(self, phrase: str) -> str:
        """Return the meaning of a limit that compares no number."""
        return self.meaning[""][_plain(phrase)]


@cache
def limits_of(language: str) -> Limits:
    """Return the limiting words of a language, a code; none without a table."""
    meaning: dict[str, dict[str, str]] = {"before": {}, "after": {}, "": {}}
    for line in table_lines("limits", f"{language}.txt") if language in NEGATIONS else ():
        name, _, phrases = line.partition(": ")
        place, _, value = name.partition(" ") if name.startswith(("before ", "after ")) else ("", "", name)
        for phrase in phrases.split(", "):
            meaning[place].setdefault(phrase, value)
    before, after = _pattern(meaning["before"], at_end=True), _pattern(meaning["after"], at_start=True)
    return Limits(meaning, _pattern(meaning[""]), before, after)


def _pattern(phrases: Iterable[str], *, at_start: bool = False, at_end: bool = False) -> re.Pattern[str]:
    """Return the pattern of a phrase alone, at the start of a text, or at its end, with spaces around it."""
    longest = sorted(phrases, key=len, reverse=True)
    signs = "|".join(sorted(_SIGNS, key=len, reverse=True))
    one = "|".join(re.escape(phrase).replace("\\ ", r"\s+").replace("'", "['\u2019]") for phrase in longest) or _NEVER
    bounded = rf"(?<!\w)(?:{one})(?![\w'\u2019])"
    if at_end:
        return re.compile(rf"(?P<phrase>{bounded}|{signs}){_SPACE}(?:(?:the|a|an)\s)?$", re.IGNORECASE)
    return re.compile(rf"{_SPACE if at_start else ''}(?P<phrase>{bounded})", re.IGNORECASE)


def _plain(phrase: str) -> str:
    return " ".join(phrase.lower().replace("\u2019", "'").split())
