"""Options of word vector training, and their ranges."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from moverank.indexer.errors import UsageError
from moverank.rerank.errors import OptionError
from moverank.rerank.options import key_values

TrainingMethod = Literal["skip-gram", "cbow", "lsi"]


@dataclass(frozen=True, slots=True)
class _Number:
    kind: type[int] | type[float]
    low: float
    high: float = math.inf

    def __str__(self) -> str:
        kind = "a whole number" if self.kind is int else "a number"
        return f"{kind} of {self.low} or more" + (f", at most {self.high:.10g}" if self.high < math.inf else "")


_LSI = {"dim": _Number(int, 1, 10_000), "min_count": _Number(int, 1), "seed": _Number(int, 0, 2**32 - 1)}
_WORD2VEC = {
    **_LSI,
    "window": _Number(int, 1, 10_000),
    "negative": _Number(int, 1, 1_000),
    "subsample": _Number(float, 0, 1),
    "epochs": _Number(int, 1),
}
_OPTIONS = {"skip-gram": _WORD2VEC, "cbow": _WORD2VEC, "lsi": _LSI}


def training_options(method: str, pairs: Sequence[str]) -> dict[str, int | float]:
    """Parse options typed as `KEY=VALUE` for `train_vectors` or `train_lsi`. Raises UsageError."""
    known = _known_options(method)
    options: dict[str, int | float] = {}
    for pair in pairs:
        try:
            [(key, text)] = key_values([pair]).items()
            number = known[key]
        except (OptionError, KeyError):
            raise UsageError(
                f"{pair!r} is no option of {method} training: write KEY=VALUE with {', '.join(known)}"
            ) from None
        try:
            options[key] = number.kind(text)
        except ValueError:
            raise UsageError(f"{pair!r}: {key} must be {number}") from None
    check_options(method, options)
    return options


def check_options(method: str, options: Mapping[str, int | float]) -> None:
    """Raise UsageError for an unknown method or a value out of its range."""
    known = _known_options(method)
    for key, value in options.items():
        number = known[key]
        if not number.low <= value <= number.high:
            raise UsageError(f"{key}={value}: {key} must be {number}")


def _known_options(method: str) -> Mapping[str, _Number]:
    if method not in _OPTIONS:
        raise UsageError(f"there is no training by {method!r}: choose one of {', '.join(_OPTIONS)}")
    return _OPTIONS[method]
