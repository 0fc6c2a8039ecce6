"""Dates and times of the day as texts write them, with the names in the table `dates.txt`."""

import re
from fractions import Fraction
from functools import cache

from moverank.rerank.words.languages import lower, named_lines, valued

_TABLES = "dates.txt"
_CODES = ("en", "de", "es", "fr")
_LANGUAGE = "en"  # whose months other languages have


@cache
def months_of(language: str) -> dict[str, int]:
    """Return the number of each name of a month, 1 to 12, in a language, a code; English names for other languages.

    Names have the case in which they are written: `may` is a verb.
    """
    tables, code = named_lines(_TABLES), language if language in _CODES else _LANGUAGE
    some = (tables.get(f"{code} {name}", []) for name in ("months", "short months"))
    names = {name: i for own in some for i, name in enumerate(own, start=1)}
    others = valued(tables.get(f"{code} other months", []))
    return names | others | {name.upper(): i for name, i in names.items() if len(name) > 3}


@cache
def _all_months() -> dict[str, int]:
    """Return the number of each name of a month in any language."""
    return {name: number for language in _CODES for name, number in months_of(language).items()}


@cache
def weekdays(language: str) -> dict[str, str]:
    """Return the name of each weekday in a language, in lower case, by it and by its plural with an s."""
    names = named_lines(_TABLES).get(f"{language} weekdays", [])
    return {f"{name}s": name for name in names} | {name: name for name in names}


def _month_pattern(language: str) -> str:
    """Return the pattern of a month's name in a language; only a short one has a point: the other ends a sentence."""
    tables = named_lines(_TABLES)
    whole = {name.casefold() for code in _CODES for name in tables[f"{code} months"]}
    names = sorted(months_of(language), key=len, reverse=True)
    return "|".join(rf"{name}\b" if name.casefold() in whole else rf"{name}\b\.?" for name in names)


def date_pattern(language: str) -> str:
    """Return the pattern of a date in a language, with the groups that `date_of` reads."""
    month = _month_pattern(language)
    ordinal, gap = r"(?:st|nd|rd|th|er|\.|\u00ba)?", r"(?=\s)[^\S\n]*+\n?+[^\S\n]*+"  # at most one end of a line
    first = r"1[3-9]|2\d|3[01]" if language == "en" else r"\d{1,2}"  # in English, 3/4 is 3 April or 4 March
    return "|".join(
        (
            r"(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d)(?!\w)",
            r"(?P<d2>\d{1,2})\.\s?(?P<m2>\d{1,2})\.\s?(?P<y2>\d{4})(?!\w)",
            r"(?:(?<=am )|(?<=vom )|(?<=zum )|(?<=bis ))(?P<d9>\d{1,2})\.\s?(?P<m9>1[0-2]|0?[1-9])\.(?P<y9>)(?!\d)",
            rf"(?P<d3>\d{{1,2}}|[Ff]irst|[Ee]rsten?|[Pp]remier){ordinal}{gap}(?:(?:of|de){gap})?(?P<m3>{month})"
            rf"(?:,?{gap}(?:del?{gap})?(?P<y3>\d{{4}})(?!\w))?",
            rf"(?P<m4>{month}){gap}(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?![\w.]?\d)(?!\w)(?:,?{gap}(?P<y4>\d{{4}})(?!\w))?",
            rf"(?P<m5>{month}),?{gap}(?:del?{gap})?(?P<y5>\d{{4}})(?!\w)",
            rf"(?P<d6>{first})/(?P<m6>\d{{1,2}})/(?P<y6>\d{{4}})(?!\w)",
            r"(?P<m8>\d{1,2})/(?P<d8>1[3-9]|2\d|3[01])/(?P<y8>\d{4})(?!\w)",
            rf"(?P<m7>(?!(?i:may|march|mai|mars|sept)\b)(?:{month}))(?P<y7>)(?!\w)",
        )
    )


def date_of(found: re.Match[str]) -> str | None:
    """Return a date as its ISO form; a missing year is two hyphens, a missing day is left out. None: it is none."""
    parts = found.groupdict()
    number = next(i for i in "123456789" if parts[f"m{i}"])
    month, day, year = parts[f"m{number}"], parts.get(f"d{number}"), parts[f"y{number}"]
    in_year = int(month) if month.isdecimal() else _all_months()[month.removesuffix(".")]
    in_month = 0 if day is None else int(day) if day.isdecimal() else 1  # as in `the first of May`
    if not 1 <= in_year <= 12 or (day is not None and not 1 <= in_month <= 31):
        return None
    value = f"{int(year):04}-{in_year:02}" if year else f"--{in_year:02}"
    return f"{value}-{in_month:02}" if in_month else value


_BEFORE_HOUR = re.compile(r"(?:\u00e0|d\u00e8s) $", re.IGNORECASE)  # what is after it is no duration
_LATE = re.compile(
    r" (?:in the (?:morning|(?P<en>afternoon|evening))|(?:am )?(?i:morgens?|vormittags?|(?P<de>nachmittags?|abends?))|"
    r"du matin|(?P<fr>du soir|de l['\u2019]apr\u00e8s-midi))(?!\w)"
)


_TIME = (
    r"(?P<hour>[01]?\d|2[0-4])(?:(?:[:.](?P<minute>[0-5]\d))?\s?"
    r"(?:(?P<half>[aApP])\.?[mM](?!\w)|Uhr(?: (?P<after>[0-5]\d))?(?!\w))|"
    r":(?P<minutes>[0-5]\d)(?![\w:]|[., ]\d)|h(?P<french>[0-5]\d)(?!\w| ?min))"
)


def time_pattern(language: str) -> str:
    """Return the pattern of a time of the day, with the groups that `time_of` reads."""
    tables = named_lines(_TABLES)
    words = [word.partition("=")[0] for word in tables["hours"]]
    before = [word.partition("=")[0] for word in tables.get(f"{language} before an hour", [])]
    if before:
        words.append(f"(?:{'|'.join(before)}) (?:{'|'.join(tables[f'{language} hours'])})(?: uhr)?")
    times = _TIME.replace("|h(?P", "| ?h(?:eures?)? ?(?P") if language == "fr" else _TIME
    return rf"{times}|(?P<clock>(?i:(?:12 )?(?:{'|'.join(words)})))(?!\w)"


def time_of(text: str, found: re.Match[str], language: str) -> tuple[int, str]:
    """Return where a time of the day ends, with what says after it that it is late, and the time, as `15:30`."""
    if clock := lower(found["clock"] or "").removeprefix("12 "):
        tables = named_lines(_TABLES)
        *before, last = clock.removesuffix(" uhr").split()
        names = tables.get(f"{language} hours", [])
        hours = valued(tables["hours"]) | {word: i for i, word in enumerate(names, start=1)}
        added = valued(tables.get(f"{language} before an hour", [])).get(" ".join(before), 0)
        minutes = 60 * (hours[last] % 12 if before else hours[last]) + added
        minutes += 720 * (bool(before) and minutes < 60)  # `quarter to one` is rather 12:45 than 0:45
    else:
        hour, half = int(found["hour"]), (found["half"] or "").lower()
        minute = next((found[name] for name in ("minute", "minutes", "after", "french") if found[name]), "00")
        minutes = 60 * (hour % 12 + 12 * (half == "p") if half else hour) + int(minute)
    return _late(text, found.end(), minutes)


def hours_of_day(text: str, start: int, end: int, hours: Fraction) -> tuple[int, str] | None:
    """Return the same of hours that are a time of the day, as `trois heures du matin`; None: they are a duration."""
    if not 0 <= hours <= 24 or not (_LATE.match(text, end) or _BEFORE_HOUR.search(text, max(0, start - 8), start)):
        return None
    return _late(text, end, int(60 * hours))


def _late(text: str, end: int, minutes: int) -> tuple[int, str]:
    late = _LATE.match(text, end)
    minutes += 720 * (late is not None and any(late.groups()) and minutes < 720)
    return end if late is None else late.end(), f"{minutes // 60:02}:{minutes % 60:02}"
