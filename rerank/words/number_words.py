"""Numbers in words, and the words and signs that scale a number, by language."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

_SMALL = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
}
_SCALES = {
    "en": {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12},
    "de": {
        "hundert": 100,
        "tausend": 10**3,
        "Tsd.": 10**3,
        **dict.fromkeys(("Million", "Millionen", "Mio.", "Mio"), 10**6),
        **dict.fromkeys(("Milliarde", "Milliarden", "Mrd.", "Mrd"), 10**9),
        "Dutzend": 12,
    },
    "fr": {
        "mille": 10**3,
        **dict.fromkeys(("million", "millions", "million de", "millions de", "million d'", "millions d'"), 10**6),
        "Mio": 10**6,
        **dict.fromkeys(("milliard", "milliards", "milliards de", "milliard de", "milliards d'", "milliard d'"), 10**9),
        "douzaine": 12,
    },
}
_OTHERS = {
    "en": _SCALES["en"],
    "de": {"hundert": 100, "tausend": 1000, "dreissig": 30},
    "fr": {"une": 1, "cent": 100, "cents": 100, "mille": 1000, "vingts": 20},
}
_PARTS = {
    "en": {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5},
    "de": {
        **dict.fromkeys(("halb", "halbe", "halber", "halbes", "halben", "halbem", "hälfte"), 2),
        "drittel": 3,
        "viertel": 4,
        "fünftel": 5,
    },
    "fr": {"moitié": 2, "demi": 2, "demie": 2, "tiers": 3, "quart": 4, "quarts": 4},
}
_ALONE = {"en": ("half",), "de": tuple(word for word, part in _PARTS["de"].items() if part == 2), "fr": ("moitié",)}
_ARTICLES = {"en": ("one",), "de": ("ein",), "fr": ("un", "une")}


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of a language."""

    pattern: str
    """The pattern of a number in words, in any case."""
    scale: re.Pattern[str]
    """The pattern of a word after a number that multiplies it, such as `million`, as the group `scale`."""
    scales: dict[str, int]
    values: dict[str, int]
    parts: dict[str, int]
    articles: tuple[str, ...]
    """Words that are mostly an article or a pronoun when they stand alone."""

    def value(self, text: str) -> Fraction:
        """Return the value of a number in words."""
        *others, last = re.findall(r"\w+", text.lower())
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
        total = total + current if counted != "a" else 1
        return Fraction(max(total, 1), self.parts[last]) if last in self.parts else Fraction(total)


@cache
def number_words(language: str) -> NumberWords | None:
    """Return the number words of a language, a code; None without a table."""
    if language not in _SMALL:
        return None
    small, tens = _SMALL[language].split(), _TENS[language].split()
    values = {word: i for i, word in enumerate(small)}
    values |= {word: 10 * i for i, word in enumerate(tens, start=2)} | _OTHERS[language]
    scales = _SCALES[language]
    named = "|".join(re.escape(one) for one in sorted(scales, key=len, reverse=True))
    parts = "|".join(sorted(_PARTS[language], key=len, reverse=True))
    whole = {"en": _english, "de": _german, "fr": _french}[language](small, tens)
    fraction = rf"(?:(?:{'|'.join((*small[1:10], 'a', 'une'))})[ -])(?:{parts})|(?:{'|'.join(_ALONE[language])})"
    return NumberWords(
        rf"(?i:(?:{fraction}|{whole})(?!\w))",
        re.compile(rf"[\s-](?P<scale>{named}){'s?' if language == 'en' else ''}(?:(?<=')|(?!\w))"),
        scales,
        values,
        _PARTS[language],
        _ARTICLES[language],
    )


def _english(small: list[str], tens: list[str]) -> str:
    ones = "|".join(small[1:10])
    below = rf"(?:(?:{'|'.join(tens)})(?:[- ](?:{ones}))?|{'|'.join(sorted(small, key=len, reverse=True))})"
    group = rf"(?:(?:{below}|a)[- ]hundred(?: (?:and )?{below})?|{below})"
    return (
        rf"(?:{group} (?:thousand|million|billion),? (?:and )?){{0,3}}{group}|a(?= (?:thousand|million|billion|dozen))"
    )


def _german(small: list[str], tens: list[str]) -> str:
    ones, tens = "|".join(small[1:10]), [*tens, "dreissig"]
    below = rf"(?:(?:(?:{ones})und)?(?:{'|'.join(tens)})|{'|'.join(sorted(small, key=len, reverse=True))})"
    group = rf"(?:(?:{ones})?hundert(?:und)?(?:{below})?|{below})"
    return rf"(?:(?:{group})?tausend(?:und)?(?:{group})?|{group})"


def _french(small: list[str], tens: list[str]) -> str:
    ones = "|".join(sorted((*small[1:], "une"), key=len, reverse=True))
    dozens = rf"(?:quatre[- ]vingts?|{'|'.join(tens)})"
    below = (
        rf"(?:{dozens}(?:[- ](?:et[- ])?(?:dix[- ](?:sept|huit|neuf)|{ones}))?|dix[- ](?:sept|huit|neuf)|{ones}|zéro)"
    )
    group = rf"(?:(?:(?:{ones})[- ])?cents?(?:[- ]{below})?|{below})"
    return rf"(?:(?:{group}[- ])?mille(?:[- ]{group})?|{group})"
