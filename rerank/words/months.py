"""The names of months, as dates write them, and of weekdays."""

from functools import cache

_NAMES = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_SHORT = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
}
_OTHERS = {"en": {"Sept": 9}, "de": {"Jänner": 1, "Sept": 9}}


@cache
def months_of(language: str) -> dict[str, int]:
    """Return the number of each name of a month, 1 to 12, in a language, a code; English names for other languages.

    Names have the case in which they are written: `may` is a verb.
    """
    code = language if language in _NAMES else "en"
    names = {name: i for some in (_NAMES, _SHORT) for i, name in enumerate(some.get(code, "").split(), start=1)}
    return names | _OTHERS.get(code, {}) | {name.upper(): i for name, i in names.items() if len(name) > 3}


def month_pattern(language: str) -> str:
    """Return the pattern of a month's name in a language; only a short one has a point: the other ends a sentence."""
    whole = {name.casefold() for names in _NAMES.values() for name in names.split()}
    names = sorted(months_of(language), key=len, reverse=True)
    return "|".join(rf"{name}\b" if name.casefold() in whole else rf"{name}\b\.?" for name in names)


_WEEKDAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag",
    "es": "lunes martes mi\u00e9rcoles jueves viernes s\u00e1bado domingo",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
}


@cache
def weekdays(language: str) -> dict[str, str]:
    """Return the name of each weekday in a language, in lower case, by it and by its plural with an s."""
    names = _WEEKDAYS.get(language, "").split()
    return {f"{name}s": name for name in names} | {name: name for name in names}
