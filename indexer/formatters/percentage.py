"""Shares as text."""

from math import floor


def percentage(share: float) -> str:
    """Return a share, 0 to 1, in percent, rounded down: 100 % means all of it."""
    tenths = floor(share * 1000 + 1e-9) / 10
    return f"{tenths:.0f} %" if tenths == int(tenths) else f"{tenths:.1f} %"
