"""Options of encoders and scorers as they are typed, `k=64`: what may be given, and what is meant where nothing is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from moverank.rerank.errors import EncoderError, OptionError, ScorerError


def _number(text: str) -> float:
    """Return the number that is typed, not a number for anything else."""
    # `float` would also take "1_0", " 1 " and other scripts' digits.
    try:
        return float(text) if text.isascii() and "_" not in text and text == text.strip() else math.nan
    except ValueError:
        return math.nan


@dataclass(frozen=True, slots=True)
class Whole:
    """An option that is a whole number from `low` to `high`, both allowed."""

    name: str
    default: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.name} (a whole number from {self.low} to {self.high}, default {self.default})"

    def read(self, given: Mapping[str, str]) -> int:
        """Return the number given, or the default; raise OptionError for anything else."""
        text = given.get(self.name)
        if text is None:
            return self.default
        value = _number(text)
        if not (self.low <= value <= self.high and value.is_integer()):
            raise OptionError(f"{self.name} must be a whole number from {self.low} to {self.high}, not {text!r}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Number:
    """An option that is a number from `low` to `high`, both allowed."""

    name: str
    default: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name} (a number from {self.low:g} to {self.high:g}, default {self.default:g})"

    def read(self, given: Mapping[str, str]) -> float:
        """Return the number given, or the default; raise OptionError for anything else."""
        text = given.get(self.name)
        if text is None:
            return self.default
        value = _number(text)
        if not self.low <= value <= self.high:
            raise OptionError(f"{self.name} must be a number from {self.low:g} to {self.high:g}, not {text!r}")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that is one of some names."""

    name: str
    default: str
    choices: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({' or '.join(self.choices)}, default {self.default})"

    def read(self, given: Mapping[str, str]) -> str:
        """Return the name given, or the default; raise OptionError for anything else."""
        text = given.get(self.name, self.default)
        if text not in self.choices:
            raise OptionError(f"{self.name} must be {' or '.join(self.choices)}, not {text!r}")
        return text


@dataclass(frozen=True, slots=True)
class Switch:
    """An option that is `yes` or `no`."""

    name: str
    default: bool

    def __str__(self) -> str:
        return f"{self.name} (yes or no, default {'yes' if self.default else 'no'})"

    def read(self, given: Mapping[str, str]) -> bool:
        """Return the choice given, or the default; raise OptionError for anything else."""
        text = given.get(self.name, "yes" if self.default else "no")
        if text not in ("yes", "no"):
            raise OptionError(f"{self.name} must be yes or no, not {text!r}")
        return text == "yes"


Option = Whole | Number | Choice | Switch


def check_options(
    owner: str, options: tuple[Option, ...], given: Mapping[str, str], refusal: type[EncoderError | ScorerError]
) -> None:
    """Raise `refusal` for an option that the owner has not, and for a value that its option does not take."""
    unknown = sorted(set(given).difference(option.name for option in options))
    if unknown:
        known = f"choose {', '.join(map(str, options))}" if options else "it has none at all"
        raise refusal(f"{owner} has no option {unknown[0]!r}: {known}")
    for option in options:
        try:
            option.read(given)
        except OptionError as error:
            raise refusal(str(error)) from error
