"""Bars of numbers: their lengths in percent of the longest, for an SVG that is as wide as its place."""

from collections.abc import Sequence
from dataclasses import dataclass

ROW = 26
"""The height of a bar with the space around it, in pixels."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its number as text, its `width` in percent, and its top in pixels."""

    name: str
    value: str
    width: float
    top: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars below one another, `height` pixels in all; `limit` is the place of a line in percent."""

    bars: tuple[Bar, ...]
    height: int
    limit: float | None = None


def bars(numbers: Sequence[tuple[str, float]], limit: float | None = None) -> Chart:
    """Return a chart of numbers of 0 or more; negative ones have no bar. `limit`: a line is drawn at this number."""
    longest = max((*(value for _, value in numbers), limit or 0.0), default=0.0) or 1.0
    drawn = [
        Bar(name, f"{value:.4f}", round(100 * max(0.0, value) / longest, 2), ROW * i)
        for i, (name, value) in enumerate(numbers)
    ]
    return Chart(tuple(drawn), ROW * len(numbers), None if limit is None else round(100 * limit / longest, 2))
