"""Numbers in words, and the words and signs that scale a number, by language: the table `numbers.txt`."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from moverank.rerank.words.languages import lower, named_lines, valued


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of a language."""

    pattern: str
    """The pattern of a number in words, in any case."""
    scale: re.Pattern[str]
    """The pattern of a word after a number that multiplies it, such as `million`, as the group `scale`."""
    scales: dict[str, int]
    added: re.Pattern[str]
    """The pattern of words after a number that add a part of 1 to it, such as `and a half`, as the group `part`."""
    parts_added: dict[str, int]
    values: dict[str, int]
    parts: dict[str, int]
    articles: tuple[str, ...]
    """Words that are mostly an article or a pronoun when they stand alone."""

    def value(self, text: str) -> Fraction:
        """Return the value of a number in words."""
        if (half := _GERMAN_HALF.fullmatch(lower(text))) is not None:
            return self.value(half["full"] or "ein") + Fraction(1, 2)
        *others, last = re.findall(r"\w+", lower(text))
        counted = " ".join(others if last in self.parts else (*others, last))
        total = current = 0
        for word in re.findall("|".join(sorted(self.values, key=len, reverse=True)), counted):
            value = self.values[word]
            if value >= 1000:
                total, current = total + max(current, 1) * value, 0
            elif value == 100:
                current = max(current, 1) * value
            elif value == 20 and current % 100 == 4:  # `quatre-vingt`
                current += 76
            else:
                current += value
        total = total + current if counted not in ("a", "an") else 1
        return Fraction(max(total, 1), self.parts[last]) if last in self.parts else Fraction(total)


@cache
def number_words(language: str) -> NumberWords | None:
    """Return the number words of a language, a code; None without a table."""
    tables = named_lines("numbers.txt")
    if f"{language} small" not in tables:
        return None
    small, tens, alone = (tables[f"{language} {name}"] for name in ("small", "tens", "alone"))
    scales, parts, added = (valued(tables[f"{language} {name}"]) for name in ("scales", "parts", "added"))
    values = {word: i for i, word in enumerate(small)} | {word: 10 * i for i, word in enumerate(tens, start=2)}
    named = "|".join(re.escape(one) for one in sorted(scales, key=len, reverse=True))
    any_part = "|".join(sorted(parts, key=len, reverse=True))
    whole = {"en": _english, "de": _german, "fr": _french}[language](small, tens)
    several = rf"(?:{'|'.join((*small[1:10], 'a', 'une'))})[ -](?:{any_part})"
    if language == "en":  # not as in `a third party` and `two third parties`
        end = r"(?=\s+(?:of|less|more|fewer)\b|\s*+(?!\w))"
        several = rf"(?:a|one)[ -](?:third|fifth){end}|(?!\w+ (?:third|fifth)\b){several}"
    fraction = rf"(?:{several})|(?:{'|'.join(alone)})"
    added_parts = "|".join(sorted(added, key=len, reverse=True))
    return NumberWords(
        rf"(?i:(?:{fraction}|{whole})(?!\w))",
        re.compile(rf"[\s-](?P<scale>{named}){'s?' if language == 'en' else ''}(?:(?<=')|(?!\w))"),
        scales,
        re.compile(rf" (?P<part>{added_parts})(?:(?<=')|(?!\w))(?! (?:of|million|billion)\b)"),
        added,
        values | valued(tables[f"{language} others"]),
        parts,
        tuple(tables[f"{language} articles"]),
    )


def _english(small: list[str], tens: list[str]) -> str:
    ones, scale = "|".join(small[1:10]), r"(?:thousand|million|billion)"
    no_scale = rf"(?![- ](?:hundred|{scale})\b)"  # `one hundred and two hundred` are two numbers
    below = rf"(?:(?:{'|'.join(tens)})(?:[- ](?:{ones}))?|{'|'.join(sorted(small, key=len, reverse=True))})"
    group = rf"(?:(?:{below}|a)[- ]hundred(?: (?:and )?{below}(?!\w){no_scale})?|{below})"
    before = r"(?= (?:thousand|million|billion|dozen|\w+ and a (?:half|quarter))(?!\w))"
    return (
        rf"(?:(?:{group} {scale},? (?:and )?){{1,3}}{group}(?!\w){no_scale}|{group}|an?{before})"
        r"(?![- ](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)(?!\w))"
    )


_GERMAN_HALF = re.compile(
    r"(?:anderthalb|(?P<full>ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)einhalb)(?:e[mnrs]?)?"
)


def _german(small: list[str], tens: list[str]) -> str:
    ones, tens = "|".join(small[1:10]), [*tens, "dreissig"]
    below = rf"(?:(?:(?:{ones})und)?(?:{'|'.join(tens)})|eins|{'|'.join(sorted(small, key=len, reverse=True))})"
    group = rf"(?:(?:{'|'.join(small[19:0:-1])})?hundert(?:und)?(?:{below})?|{below})"
    return rf"(?:{_GERMAN_HALF.pattern}|(?:{group})?tausend(?:und)?(?:{group})?|{group})"


def _french(small: list[str], tens: list[str]) -> str:
    ones = "|".join(sorted((*small[1:], "une"), key=len, reverse=True))
    dozens = rf"(?:quatre[- ]vingts?|{'|'.join(tens)})"
    below = (
        rf"(?:{dozens}(?:[- ](?:et[- ])?(?:dix[- ](?:sept|huit|neuf)|{ones}))?|dix[- ](?:sept|huit|neuf)|{ones}|zéro)"
    )
    group = rf"(?:(?:(?:{ones})[- ])?cents?(?:[- ]{below})?|{below})"
    return rf"(?:(?:{group}[- ])?mille(?:[- ]{group})?|{group})(?!-\w+i\u00e8me)"
