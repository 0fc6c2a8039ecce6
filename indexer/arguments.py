"""Checks of arguments where they enter the library: a value of a wrong type or out of range gets one sentence."""

from collections.abc import Callable, Iterable
from math import inf
from numbers import Integral, Real
from typing import Any

from moverank.indexer.errors import UsageError


def whole_number(name: str, value: object) -> int:
    """Return a whole number of 1 or more, such as one of NumPy's; UsageError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise UsageError(f"{name} must be a whole number of 1 or more, not {shown(value)}")
    return int(value)


def finite_number(name: str, value: object) -> float:
    """Return a finite number of 0 or more; UsageError for anything else."""
    found = _real(value)
    if not 0 <= found < inf:
        raise UsageError(f"{name} must be a number of 0 or more, not {shown(value)}")
    return found


def limit(name: str, value: object, *, above: bool = False, unit: str = "") -> float:
    """Return a number of 0 or more, or `above` 0, which may be infinite; UsageError for anything else."""
    found = _real(value)
    if not (found > 0 if above else found >= 0):
        raise UsageError(f"{name} must be a number{unit} {'above 0' if above else 'of 0 or more'}, not {shown(value)}")
    return found


def text(name: str, value: object) -> str:
    """Return a string; UsageError for anything else."""
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a string, not {shown(value)}")
    return value


def switch(name: str, value: object) -> bool:
    """Return True or False; UsageError for anything else."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, not {shown(value)}")
    return value


def function(name: str, value: object) -> Callable[..., Any]:
    """Return something that can be called; UsageError for anything else."""
    if not callable(value):
        raise UsageError(f"{name} must be a function, not {shown(value)}")
    return value


def items(name: str, value: object) -> Iterable[Any]:
    """Return a list or another iterable; UsageError for a single string, and for anything else."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{name} must be a list, not {shown(value)}")
    return value


def texts(name: str, value: object) -> list[str]:
    """Return strings, such as keys, as a list; UsageError for a single string, and for anything else."""
    found = list(items(name, value))
    for one in found:
        if not isinstance(one, str):
            raise UsageError(f"{name} must be strings, not {shown(one)}")
    return found


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and of a larger object only the type."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        found = repr(value)
        return found if len(found) <= 60 else f"{found[:57]}..."
    return f"a {type(value).__name__}"


def _real(value: object) -> float:
    """Return a number as a float, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return inf
