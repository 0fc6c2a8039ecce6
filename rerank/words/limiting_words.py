"""Words that negate or limit other words, by language: closed tables of those that reverse what a sentence says.

A file of `limits/` has a line for each meaning: its name, and the ways to write it. Meanings that begin with `before`
or `after` compare the number after or before them, `#2` is the ordinal of 2, `not may` is `may` that a negation of the
whole clause changes, `not`, `without` and `nobody` are negations of some words, of one, and of the clause, `nothing`
has no meaning, and all others are limits of their own.

The lines that `_LISTS` names have single words: negations; those that change only the next word; those that change the
words before them if none follows (`er zahlt nicht`); words that end the clause of these, and that of a prohibition;
labels, whose number has no unit (`group 1 and 5 mg`); words with contrary meanings; abbreviations; beginnings of words
that `in` and `dis` negate; endings of forms of a word.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from moverank.rerank.words.languages import lower, named_lines

FREE_OF = frozenset({"free", "frei"})
"""The words after a hyphen that negate the word before it: `sugar-free`."""

_UN, _IN, _LESS = ("un", "non"), ("in", "im", "ir", "il", "dis"), ("less", "los", "frei")
"""The affixes that negate a word: prefixes, those that begin many other words, too, and suffixes."""

_PREFIXES = (
    *(("", prefix) for prefix in (*_UN, *_IN, "mis", "miss")),
    *(("pre", "post"), ("hyper", "hypo"), ("over", "under"), ("intra", "inter"), ("up", "down"), ("in", "out")),
    *(("im", "ex"), ("im", "em"), ("in", "ex"), ("in", "de"), ("anti", "pro"), ("macro", "micro"), ("maxi", "mini")),
    *(("exo", "endo"), ("homo", "hetero"), ("mono", "poly"), ("pr\u00e9", "post"), ("vor", "nach")),
    *(("ein", "aus"), ("an", "aus"), ("auf", "ab"), ("zu", "ab"), ("be", "ent")),
)
_SUFFIXES = (*(("", suffix) for suffix in _LESS), ("ful", "less"), ("voll", "los"), ("or", "ee"), ("er", "ee"))
_SHORTEST = 3  # letters of a word without its affix

_SIGNS = {
    **dict.fromkeys((">=", "=>", "\u2265", "\u2267", "\u2a7e"), ">="),
    **dict.fromkeys(("<=", "=<", "\u2264", "\u2266", "\u2a7d"), "<="),
    **dict.fromkeys((">", "\uff1e", "\u226b"), ">"),
    **dict.fromkeys(("<", "\uff1c", "\u226a"), "<"),
    **dict.fromkeys(("!=", "\u2260"), "!="),
    **dict.fromkeys(("~", "\u2248"), "~"),
    "\u00b1": "\u00b1",
}
NEGATION, OF_WORD, AFTER_VERB = "negation", "negation of a word", "negation after the verb"
CLAUSE_END, FORBIDDEN_END, LABEL = "end of a clause", "end of a prohibition", "number of a label"
_OPPOSITE, _SHORT, _NEGATABLE, INFLECTION = "opposite", "abbreviation", "with a negative prefix", "inflection"
_LISTS = (NEGATION, OF_WORD, AFTER_VERB, CLAUSE_END, FORBIDDEN_END, LABEL, _OPPOSITE, _SHORT, _NEGATABLE, INFLECTION)
_SPACE = r"[^\S\n]*+\n?+[^\S\n]*+"
_NEVER = "(?!)"
_LONGEST = 40  # characters of a comparator
_NEGATING = re.compile(
    rf"(?:{'|'.join(_UN)})(?P<after>\w{{3,}})|(?:{'|'.join(_IN)})(?P<listed>\w{{4,}})|"
    rf"(?P<before>\w{{3,}})(?:{'|'.join(_LESS)})"
)
_ADJECTIVE = re.compile(
    r"\w+(?:ig|lich|sam|bar|haft|isch|wahr|klar|gleich|sicher|annt|ert|igt|net|ielt|aubt)(?:e[mnrs]?)?"
)


def negated_word(word: str, language: str) -> str:
    """Return the word that a prefix or a suffix negates, as `valid` in `invalid`, "" without one.

    Prefixes that begin many other words, too, as in `informed`, count before words of a table only; in German, `un`
    before adjectives, as in `ungültig`.
    """
    found = _NEGATING.fullmatch(word)
    if found is None:
        return ""
    if listed := found["listed"]:
        return listed if listed.startswith(tuple(limits_of(language).lists[_NEGATABLE])) else ""
    base = found["after"] or found["before"]
    return base if found["before"] or language != "de" or _ADJECTIVE.fullmatch(base) else ""


def opposites_of(word: str) -> Iterator[str]:
    """Yield the words of which an affix makes the contrary, or that an affix makes the contrary of a word.

    As `safe` and `unsafe`, `careful` and `careless`, `preoperative` and `postoperative`, `lessor` and `lessee`.
    """
    for pair in _PREFIXES:
        for own, other in (pair, pair[::-1]):
            if word.startswith(own) and len(word) >= len(own) + _SHORTEST:
                yield other + word[len(own) :]
    for pair in _SUFFIXES:
        for own, other in (pair, pair[::-1]):
            if word.endswith(own) and len(word) >= len(own) + _SHORTEST:
                yield word[: len(word) - len(own)] + other


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
    """The pattern of a comparator at the start of the text after a number, or after a word such as `points`."""
    lists: dict[str, frozenset[str]]
    """The words of the lines that `_LISTS` names."""

    @property
    def negations(self) -> frozenset[str]:
        """Return the negations; `n't` is one in every language."""
        return self.lists[NEGATION]

    @property
    def opposites(self) -> list[list[str]]:
        """Return the pairs of words with contrary meanings, such as `buyer` and `seller`."""
        return [pair.split("/") for pair in self.lists[_OPPOSITE]]

    @property
    def abbreviations(self) -> dict[str, str]:
        """Return the word that each abbreviation stands for."""
        return dict(pair.split("/") for pair in self.lists[_SHORT])

    def before(self, text: str, end: int) -> tuple[int, str] | None:
        """Return start and meaning of the comparator before the number at `end`."""
        found = self.ends_before.search(text[max(0, end - _LONGEST) : end])
        if found is None:
            return None
        said = _plain(found["phrase"])
        return end - (min(end, _LONGEST) - found.start("phrase")), _SIGNS.get(said) or self.meaning["before"][said]

    def after(self, text: str, start: int) -> tuple[int, int, str] | None:
        """Return start, end and meaning of the comparator after the number that ends at `start`, and perhaps a word."""
        found = self.begins_after.match(text[start : start + _LONGEST])
        if found is None:
            return None
        first, last = found.span("phrase")
        return start + first, start + last, self.meaning["after"][_plain(found["phrase"])]

    def of(self, phrase: str) -> str:
        """Return the meaning of a limit that compares no number."""
        return self.meaning[""][_plain(phrase)]


@cache
def limits_of(language: str) -> Limits:
    """Return the limiting words of a language, a code; none without a table."""
    meaning: dict[str, dict[str, str]] = {"before": {}, "after": {}, "": {}}
    lists = dict.fromkeys(_LISTS, frozenset[str]())
    for name, phrases in named_lines("limits", f"{language}.txt").items():
        if name in lists:
            lists[name] = frozenset(phrases)
            continue
        place, _, value = name.partition(" ") if name.startswith(("before ", "after ")) else ("", "", name)
        for phrase in phrases:
            meaning[place].setdefault(phrase, value)
    before, after = _pattern(meaning["before"], at_end=True), _pattern(meaning["after"], at_start=True)
    return Limits(meaning, _pattern(meaning[""]), before, after, lists)


def _pattern(phrases: Iterable[str], *, at_start: bool = False, at_end: bool = False) -> re.Pattern[str]:
    """Return the pattern of a phrase alone, at the start of a text, or at its end, with spaces around it."""
    longest = sorted(phrases, key=len, reverse=True)
    signs = "|".join(sorted(_SIGNS, key=len, reverse=True))
    one = "|".join(_written(phrase) for phrase in longest) or _NEVER
    # A phrase ends with a word, with an apostrophe, or before the negation of `mustn't`.
    bounded = rf"(?<![\w-])(?:{one})(?:(?<=['\u2019])|(?![\w'\u2019])|(?=n?['\u2019]t\b))"
    if at_end:
        return re.compile(rf"(?P<phrase>{bounded}|{signs}){_SPACE}(?:(?:the|a|an)\s)?$", re.IGNORECASE)
    before = rf"{_SPACE}(?:[^\W\d_]+\s)??" if at_start else ""
    return re.compile(rf"{before}(?P<phrase>{bounded})", re.IGNORECASE)


def _written(phrase: str) -> str:
    """Return the pattern of a phrase; before a vowel, one that ends with `de` ends with `d'`."""
    one = re.escape(phrase).replace("\\ ", r"\s+").replace("'", "['\u2019]")
    return rf"{one[:-1]}(?:e|['\u2019])" if phrase.endswith(" de") else one


def _plain(phrase: str) -> str:
    plain = " ".join(lower(phrase).replace("\u2019", "'").split())
    return f"{plain[:-1]}e" if plain.endswith(" d'") else plain
