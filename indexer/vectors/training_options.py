"""What can be chosen when vectors are trained, and what it may be."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from moverank.indexer.errors import UsageError

Method = Literal["skip-gram", "cbow", "lsi"]


@dataclass(frozen=True, slots=True)
class _Number:
    kind: type[int] | type[float]
    least: float
    most: float = math.inf


_LSI = {"dim": _Number(int, 1, 10_000), "min_count": _Number(int, 1), "seed": _Number(int, 0, 2**32 - 1)}
_WORD2VEC = {
    **_LSI,
    "window": _Number(int, 1, 10_000),
    "negative": _Number(int, 1, 1_000),
    "subsample": _Number(float, 0, 1),
    "epochs": _Number(int, 1),
}
_ALLOWED = {"skip-gram": _WORD2VEC, "cbow": _WORD2VEC, "lsi": _LSI}


def training_options(method: str, pairs: Sequence[str]) -> dict[str, int | float]:
    """Return the options written as `KEY=VALUE`, for `train_vectors` or `train_lsi`. Raises UsageError."""
    options: dict[str, int | float] = {}
    allowed = _allowed(method)
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or key not in allowed:
            raise UsageError(f"{pair!r} is no option of {method} training: write KEY=VALUE with {', '.join(allowed)}")
        try:
            options[key] = allowed[key].kind(text)
        except ValueError:
            raise UsageError(f"{pair!r}: {key} must be {_described(allowed[key])}") from None
    check_options(method, options)
    return options


def check_options(method: str, options: Mapping[str, int | float]) -> None:
    """Raise UsageError for a value out of its range."""
    allowed = _allowed(method)
    for key, value in options.items():
        number = allowed[key]
        if not number.least <= value <= number.most:
            raise UsageError(f"{key}={value}: {key} must be {_described(number)}")


def _allowed(method: str) -> Mapping[str, _Number]:
    if method not in _ALLOWED:
        raise UsageError(f"there is no training by {method!r}: take one of {', '.join(_ALLOWED)}")
    return _ALLOWED[method]


def _described(number: _Number) -> str:
    kind = "a whole number" if number.kind is int else "a number"
    return f"{kind} of {number.least} or more" + (f", at most {number.most:.10g}" if number.most < math.inf else "")
