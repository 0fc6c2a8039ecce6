"""Number words and units of measurement, with exact conversions: a modest table."""

import re
from collections.abc import Callable
from fractions import Fraction
from unicodedata import normalize

COMMA_LANGUAGES = frozenset(
    "az ca da de el es eu fi fr hu hy id it lt nl no pt ro ru sr sv tr vi".split()  # noqa: SIM905 - a list of codes
)
"""The languages that write a comma before decimals."""

CURRENCIES = {"$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a5": "JPY"}
"""The currency of each sign that may be before or after a number."""

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"

SMALL_NUMBERS = {word: value for value, word in enumerate(_SMALL.split())}
TENS = {word: 10 * i for i, word in enumerate(_TENS.split(), start=2)}
"""English number words."""

SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
"""English words that multiply the number before them."""

_UNITS = """
g: kg=1000 g=1 mg=1/1000 µg=1/1000000 ug=1/1000000 mcg=1/1000000 ng=1/1000000000 pg=1/1000000000000 lb=45359237/100000
g: oz=45359237/1600000 kilogram=1000 gram=1 milligram=1/1000 microgram=1/1000000
g: pound=45359237/100000 lbs=45359237/100000
m: km=1000 m=1 cm=1/100 mm=1/1000 µm=1/1000000 um=1/1000000 nm=1/1000000000 ft=3048/10000 mi=1609344/1000
m: kilometer=1000 kilometre=1000 meter=1 metre=1 centimeter=1/100 centimetre=1/100 millimeter=1/1000 millimetre=1/1000
m: inch=254/10000 inches=254/10000 foot=3048/10000 feet=3048/10000 yard=9144/10000 mile=1609344/1000
l: l=1 L=1 dl=1/10 dL=1/10 cl=1/100 ml=1/1000 mL=1/1000 µl=1/1000000 µL=1/1000000 ul=1/1000000 uL=1/1000000
l: liter=1 litre=1 milliliter=1/1000 millilitre=1/1000
s: s=1 sec=1 ms=1/1000 µs=1/1000000 ns=1/1000000000 min=60 h=3600 hr=3600 hrs=3600 d=86400
s: second=1 millisecond=1/1000 minute=60 hour=3600 day=86400 week=604800
month: month=1 mo=1 year=12 yr=12 yrs=12 decade=120
%: %=1 percent=1 ‰=1/10
mol: mol=1 mmol=1/1000 µmol=1/1000000 umol=1/1000000 nmol=1/1000000000
mol/l: mM=1/1000 µM=1/1000000 uM=1/1000000 nM=1/1000000000 pM=1/1000000000000
J: J=1 kJ=1000 MJ=1000000 cal=4184/1000 kcal=4184 kWh=3600000 Wh=3600
W: W=1 mW=1/1000 kW=1000 MW=1000000 GW=1000000000
V: V=1 mV=1/1000 kV=1000 volt=1
Hz: Hz=1 kHz=1000 MHz=1000000 GHz=1000000000
Pa: Pa=1 hPa=100 kPa=1000 MPa=1000000 bar=100000
mmHg: mmHg=1
IU: IU=1 kIU=1000
byte: kB=1000 KB=1000 MB=1000000 GB=1000000000 TB=1000000000000 KiB=1024 MiB=1048576 GiB=1073741824 byte=1
USD: USD=1 dollar=1 $=1
EUR: EUR=1 euro=1 €=1
GBP: GBP=1 £=1
JPY: JPY=1 yen=1 ¥=1
"""
_TABLE = {
    symbol: (Fraction(factor), dimension)
    for line in _UNITS.split("\n")
    if line
    for dimension, _, rest in [line.partition(": ")]
    for symbol, _, factor in (one.partition("=") for one in rest.split())
}
_AFFINE = {"\u00b0F": (Fraction(5, 9), Fraction(-32)), "\u00b0C": (Fraction(1), Fraction(0))}
_RAISED = "\u00b2\u00b3\u00b9\u2070-\u2079"
_PARTS, _LENGTH = 8, 60  # of the rest of a unit, and the characters of a part; limits keep the time linear
_TAIL = (  # powers and other units: `m2`, `m/s^2`, `m s-1`, `mg/kg/day`
    rf"(?P<tail>(?:(?:[23]|[-\u2212]1)(?!\w))?(?:[/\u00b7\u22c5]\w{{1,{_LENGTH}}}+|\^[-\u2212]?\d{{1,{_LENGTH}}}+|"
    rf"\u207b?[{_RAISED}]{{1,{_LENGTH}}}+|"
    r"[ \u00a0]?(?:kg|mol|min|[mglLshdK])[-\u2212\u207b][1-4\u00b9\u00b2\u00b3](?!\w))"
    rf"{{0,{_PARTS}}}+(?:[/^][^\s,;]{{1,{_LENGTH}}}+)?+)"
)
_AFTER = re.compile(
    rf"[ \t\u00a0\u2009\u202f-]?\n?(?P<unit>per ?cent|%|\u2030|[\u00b0\u00ba] ?[CF]|[^\W\d_{_RAISED}]+|"
    rf"[{''.join(CURRENCIES)}](?!\s?\d)){_TAIL}(?!\w)"
)
_AFTER_MONEY = re.compile(rf"(?P<scale>[ \u00a0\u202f]?(?:[kKmMbB]|bn|mn)(?!\w))?{_TAIL}(?!\w)")
_MONEY_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}

Conversion = Callable[[Fraction], Fraction]


def measure_of(text: str, start: int) -> tuple[int, Conversion, str] | None:
    """Return end, conversion to the base unit, and dimension of the unit of measurement at `start`; None without one.

    Symbols are case-sensitive (`mM` is no `mm`); names may be plural, and in any case. A unit with a power, or with
    a rest that is no unit, as in `kg/m2` and `mg/dose`, is a dimension of its own, which is not converted.
    """
    found = _AFTER.match(text, start)
    if found is None:
        return None
    symbol, tail = (found[name].replace("\u03bc", "\u00b5") for name in ("unit", "tail"))
    symbol = symbol.replace(" ", "").replace("\u00ba", "\u00b0")
    one, per = _named(symbol), _named(tail.removeprefix("/"))
    if one is None and symbol not in _AFFINE:
        return None
    if tail and (one is None or per is None or tail[0] != "/"):
        return found.end(), lambda value: value, symbol + _plain(tail)
    if one is None:
        factor, shift = _AFFINE[symbol]
        return found.end(), lambda value: (value + shift) * factor, "\u00b0C"
    if per is None:
        return found.end(), lambda value: value * one[0], one[1]
    return found.end(), lambda value: value * one[0] / per[0], f"{one[1]}/{per[1]}"


def money_of(text: str, start: int, sign: str) -> tuple[int, Conversion, str] | None:
    """Return the same of money with a `sign` before the number, which ends at `start`; None if that is in a word."""
    found = _AFTER_MONEY.match(text, start)
    if found is None:
        return None
    factor = _MONEY_SCALES.get((found["scale"] or "").strip().lower(), 1)
    return (
        found.end(),
        lambda value: value * factor,
        CURRENCIES.get(sign.removeprefix("US"), sign) + _plain(found["tail"]),
    )


def _plain(tail: str) -> str:
    """Return the rest of a unit with powers in one way of writing."""
    return normalize("NFKC", tail).replace("^", "").replace("\u2212", "-")


def _named(symbol: str) -> tuple[Fraction, str] | None:
    """Return factor and dimension of a symbol, or of a name in any case and number."""
    name = symbol.lower()
    if symbol in _TABLE:
        return _TABLE[symbol]
    if len(name) > 2 and name in _TABLE:
        return _TABLE[name]
    return _TABLE.get(name[:-1]) if len(name) > 3 and name.endswith("s") else None
