"""Limits that are a distance or a share of all documents, `0.3` or `0.1%`: typed, checked, and as a number."""

import re

from moverank.indexer.errors import UsageError
from moverank.indexer.values.arguments import limit, shown

SHARE = r"^([0-9]{0,2}\.[0-9]+|[0-9]{1,2}|100(\.0+)?) ?%$"
"""The pattern of a share in percent, from 0 to 100."""


def typed_limit(typed: str) -> float | str:
    """Return a typed distance as a number; a percentage, or text that is no number, stays a text."""
    try:
        return float(typed)
    except ValueError:
        return typed


def limit_or_share(name: str, value: object) -> float | str:
    """Return a number of 0 or more, or a share from 0 to 100 with a percent sign; UsageError for anything else."""
    if not isinstance(value, str):
        return limit(name, value)
    if not re.fullmatch(SHARE, value):
        raise UsageError(f"{name} must be a number of 0 or more, or a share such as 0.1%, not {shown(value)}")
    return value.replace(" ", "")


def part_of(share: str) -> float:
    """Return a share in percent, as `limit_or_share` returns it, as a number from 0 to 1."""
    return float(share.rstrip("%")) / 100
