"""Options as typed, such as `k=64`: their types, ranges and defaults, parsing and validation."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from moverank.rerank.errors import EncoderError, OptionError, ScorerError


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to a misspelt one, as " (did you mean bm25?)"; "" if none is similar."""
    close = get_close_matches(name.lower(), list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def key_values(pairs: Iterable[str]) -> dict[str, str]:
    """Split options of the form `KEY=VALUE`; of a repeated key, the last value wins. Raises OptionError otherwise."""
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.strip() and equals):
            raise OptionError(f"{pair!r} is not of the form KEY=VALUE")
        values[key.strip()] = value.strip()
    return values


def _number(text: str) -> float:
    """Parse a plain ASCII number; NaN for any other text."""
    # `float` alone would also accept "1_0", " 1 " and digits of other scripts.
    try:
        return float(text) if text.isascii() and "_" not in text and text == text.strip() else math.nan
    except ValueError:
        return math.nan


@dataclass(frozen=True, slots=True)
class Integer:
    """An option whose value is an integer from `low` to `high`, inclusive."""

    name: str
    default: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.name} (a whole number from {self.low} to {self.high}, default {self.default})"

    def read(self, given: Mapping[str, str]) -> int:
        """Return the given value, or the default; raise OptionError for an invalid one."""
        text = given.get(self.name)
        if text is None:
            return self.default
        value = _number(text)
        if not (self.low <= value <= self.high and value.is_integer()):
            raise OptionError(f"{self.name} must be a whole number from {self.low} to {self.high}, not {text!r}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Number:
    """An option whose value is a number from `low` to `high`, inclusive."""

    name: str
    default: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name} (a number from {self.low:g} to {self.high:g}, default {self.default:g})"

    def read(self, given: Mapping[str, str]) -> float:
        """Return the given value, or the default; raise OptionError for an invalid one."""
        text = given.get(self.name)
        if text is None:
            return self.default
        value = _number(text)
        if not self.low <= value <= self.high:
            raise OptionError(f"{self.name} must be a number from {self.low:g} to {self.high:g}, not {text!r}")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """An option whose value is one of `choices`."""

    name: str
    default: str
    choices: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({' or '.join(self.choices)}, default {self.default})"

    def read(self, given: Mapping[str, str]) -> str:
        """Return the given value, or the default; raise OptionError for an invalid one."""
        text = given.get(self.name, self.default)
        if text not in self.choices:
            raise OptionError(f"{self.name} must be {' or '.join(self.choices)}, not {text!r}")
        return text


@dataclass(frozen=True, slots=True)
class Switch:
    """An option whose value is `yes` or `no`."""

    name: str
    default: bool

    def __str__(self) -> str:
        return str(self._choice())

    def read(self, given: Mapping[str, str]) -> bool:
        """Return the given value, or the default; raise OptionError for an invalid one."""
        return self._choice().read(given) == "yes"

    def _choice(self) -> Choice:
        return Choice(self.name, "yes" if self.default else "no", ("yes", "no"))


Option = Integer | Number | Choice | Switch


def check_options(
    owner: str, options: tuple[Option, ...], given: Mapping[str, str], error_type: type[EncoderError | ScorerError]
) -> None:
    """Validate the options `given` to `owner`, the name of an encoder or scorer, which takes `options`.

    Raises `error_type` for an option that `owner` does not take, and for an invalid value.
    """
    unknown = sorted(set(given).difference(option.name for option in options))
    if unknown:
        known = f"choose {', '.join(map(str, options))}" if options else "it has none at all"
        similar = did_you_mean(unknown[0], [option.name for option in options])
        raise error_type(f"{owner} has no option {unknown[0]!r}{similar}: {known}")
    for option in options:
        try:
            option.read(given)
        except OptionError as error:
            raise error_type(str(error)) from error
