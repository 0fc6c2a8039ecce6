"""Dates as metadata: texts in ISO 8601 and UTC, which sort by time (`2021-03-05T10:11:12Z`, or `2021-03-05`)."""

from contextlib import suppress
from datetime import UTC, date, datetime


def iso_date(value: date | datetime) -> str:
    """Return a date or a time, to the second, as text; a time without a zone is taken for UTC."""
    if not isinstance(value, datetime):
        return value.isoformat()
    # The first and the last day that Python knows have no time in some zones.
    with suppress(OverflowError):
        value = value.astimezone(UTC) if value.tzinfo else value
    return value.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def date_of_text(text: str) -> str | None:
    """Return a date that is written in ISO 8601; None for another text."""
    text = text.strip()
    try:
        return iso_date(date.fromisoformat(text) if len(text) <= len("2021-03-05") else datetime.fromisoformat(text))
    except ValueError:
        return None


def date_of_timestamp(seconds: float) -> str | None:
    """Return the time `seconds` after the beginning of 1970; None if it is out of range."""
    try:
        return iso_date(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None
