"""Options of scorers as they are typed, `k1=1.5`: what may be given, and what is meant where nothing is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rerank.errors import ScorerError


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
        """Return the number given, or the default; raise ScorerError for anything else."""
        text = given.get(self.name)
        if text is None:
            return self.default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self.low <= value <= self.high:
            raise ScorerError(f"{self.name} must be a number from {self.low:g} to {self.high:g}, not {text!r}")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that is one of some names, the first being the default."""

    name: str
    choices: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({' or '.join(self.choices)}, default {self.choices[0]})"

    def read(self, given: Mapping[str, str]) -> str:
        """Return the name given, or the default; raise ScorerError for anything else."""
        text = given.get(self.name, self.choices[0])
        if text not in self.choices:
            raise ScorerError(f"{self.name} must be {' or '.join(self.choices)}, not {text!r}")
        return text


Option = Number | Choice


def check_options(scorer: str, options: tuple[Option, ...], given: Mapping[str, str]) -> None:
    """Refuse an option that the scorer has not, and a value that its option does not take."""
    unknown = sorted(set(given).difference(option.name for option in options))
    if unknown:
        raise ScorerError(f"{scorer} has no option {unknown[0]!r}: choose {', '.join(map(str, options))}")
    for option in options:
        option.read(given)
