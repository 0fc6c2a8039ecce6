from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading.formats.dates import date_of_text, date_of_timestamp, iso_date

BOUNDS = (datetime(1900, 1, 2), datetime(2200, 1, 1))
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2018-03-12T18:36:05.327", "2018-03-12T18:36:05Z"),
        ("2018-03-12T18:36:05+02:00", "2018-03-12T16:36:05Z"),
        ("2018-03-12T18:36:05Z", "2018-03-12T18:36:05Z"),
        (" 2018-03-12 ", "2018-03-12"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z"),
        ("", None),
        ("yesterday", None),
        ("2018-13-12", None),
    ],
)
def test_texts(text: str, expected: str | None) -> None:
    assert date_of_text(text) == expected


def test_timestamps() -> None:
    assert date_of_timestamp(725842800.0) == "1992-12-31T23:00:00Z"
    assert date_of_timestamp(-1.0) == "1969-12-31T23:59:59Z"
    assert [date_of_timestamp(value) for value in (1e300, float("inf"), float("nan"))] == [None] * 3


@given(st.lists(st.datetimes(*BOUNDS, timezones=ZONES), min_size=2))
def test_the_order_of_the_texts_is_that_of_the_times(times: list[datetime]) -> None:
    times = [time.replace(microsecond=0) for time in times]
    assert sorted(map(iso_date, times)) == [iso_date(time) for time in sorted(times)]
    assert [datetime.fromisoformat(iso_date(time)) for time in times] == [time.astimezone(UTC) for time in times]


def test_a_day_is_before_its_hours() -> None:
    assert iso_date(date(2020, 1, 2)) < iso_date(datetime(2020, 1, 2, tzinfo=UTC)) < iso_date(date(2020, 1, 3))
