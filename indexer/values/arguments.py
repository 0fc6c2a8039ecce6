"""Checks of arguments at the library's entry: one sentence names the fault in a value's type or range."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from moverank.indexer.errors import UsageError

LARGEST = 2**63 - 1
"""The largest whole number that a database stores."""


def whole_number(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`, such as one of NumPy's; UsageError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} must be a whole number of {least} or more, not {shown(value)}")
    if most is not None and int(value) > most:
        raise UsageError(f"{name} must be a whole number of at most {most:,}, not {shown(value)}")
    return int(value)


def finite_number(name: str, value: object, *, above: bool = False) -> float:
    """Return a finite number of 0 or more, or `above` 0; UsageError for anything else."""
    found = limit(name, value, above=above)
    if found == inf:
        raise UsageError(f"{name} must be a number {'above 0' if above else 'of 0 or more'}, not {shown(value)}")
    return found


def optional_number(name: str, value: object) -> float | None:
    """Return a finite number of 0 or more, None for None; UsageError for anything else."""
    return None if value is None else finite_number(name, value)


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


def place(name: str, value: object) -> str:
    """Return a path or a URL as a string; UsageError for anything else."""
    if not isinstance(value, str | Path):
        raise UsageError(f"{name} must be a string or a Path, not {shown(value)}")
    return str(value)


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
    if not isinstance(value, str | bytes):
        with suppress(TypeError):
            iter(value)  # type: ignore[call-overload]  # the test itself: NumPy's arrays without dimensions have __iter__
            return value  # type: ignore[return-value]
    remedy = ": put it into a list" if isinstance(value, str) else ""
    raise UsageError(f"{name} must be a list, not {shown(value)}{remedy}")


def one_or_more(name: str, value: object) -> list[Any]:
    """Return a list of one thing, or of an iterable's items; UsageError for a dict, whose keys would be lost."""
    if isinstance(value, Mapping):
        raise UsageError(f"{name} must be a list: their keys are their indices")
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def texts(name: str, value: object) -> list[str]:
    """Return strings, such as keys, as a list; UsageError for a single string, and for anything else."""
    found = list(items(name, value))
    for one in found:
        if not isinstance(one, str):
            raise UsageError(f"{name} must be strings, not {shown(one)}")
    return found


def shown(value: object) -> str:
    """Return a value as a message shows it: shortened, and only the type of a larger object."""
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
