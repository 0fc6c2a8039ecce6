"""Functions that the checks of encoders and of scorers share."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from moverank.rerank.options import Choice, Option, Switch

Options = Mapping[str, str]
"""The options of a `fit` by name."""


def require(fulfilled: bool, requirement: str) -> None:
    """Raise AssertionError with the `requirement` unless it is `fulfilled`."""
    if not fulfilled:
        raise AssertionError(requirement)


def error_of(call: Callable[[Any], object], argument: object) -> Exception | None:
    """Return the exception that a call raises, None if it raises none."""
    try:
        call(argument)
    except Exception as error:  # noqa: BLE001 - the caller checks the type
        return error
    return None


def invalid_options(options: Sequence[Option]) -> list[tuple[str, str]]:
    """Return names with values that `options` must reject: an unknown name, and invalid values."""
    return [("nope", "1"), *((option.name, text) for option in options for text in _invalid_values(option))]


def _invalid_values(option: Option) -> list[str]:
    if isinstance(option, Switch | Choice):
        return ["", "maybe", "YES"]
    beyond = [str(bound) for bound in (option.high + 1, option.low - 1) if isfinite(bound)]
    return ["", "x", "nan", "1e", *beyond, "1_0", "\u0661"]
