"""The naive twin of filters: values as Python objects, compared as such; times as the fields of a calendar."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

ZONES = (None, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8)))
_PARTS = 6  # year, month, day, hour, minute, second

instants = st.builds(
    lambda moment, zone: moment.replace(tzinfo=zone),
    st.datetimes(datetime(2019, 12, 30), datetime(2021, 1, 2)).map(lambda moment: moment.replace(microsecond=0)),
    st.sampled_from(ZONES),
)
scalars = st.one_of(
    st.integers(-3, 3),
    st.integers(2019, 2021),
    st.sampled_from([0.5, 1.0, 2.5, -3.0, 1e300]),
    st.booleans(),
    st.sampled_from(["red", "Red", "green", "", "3", "3.0", "007", "1e0", "true", "TRUE", " red", "a=b", "2020"]),
    st.dates(date(2019, 12, 30), date(2021, 1, 2)).map(date.isoformat),
    instants.map(datetime.isoformat),
)
values = st.one_of(
    scalars, st.none(), st.lists(scalars, max_size=3), st.fixed_dictionaries({}, optional={"b": scalars})
)
metadata = st.fixed_dictionaries({}, optional={"a": values, "c": values})


@dataclass(frozen=True)
class Stated:
    """A condition: its text and what it means."""

    field: str
    operator: str
    value: Any
    text: str


def _stated(field: str, operator: str, value: Any, gap: str) -> Stated:
    shown = value if isinstance(value, str) else json.dumps(value)
    if operator in ("", "!"):
        return Stated(field, operator, None, f"{operator}{field}")
    return Stated(field, operator, value, f"{field}{gap}{operator}{gap}{shown}")


ordered = st.one_of(
    st.integers(-3, 3),
    st.integers(2019, 2021),
    st.sampled_from([0.5, 1.0, -3.0]),
    st.sampled_from(["2020", "2020-01", "2020-12", "2021-01-01", "2020-06-15"]),
    instants.map(datetime.isoformat),
    instants.map(lambda moment: moment.isoformat(" ", "minutes")),
)
conditions = st.one_of(
    st.builds(
        _stated, st.sampled_from("ac"), st.sampled_from(["<", "<=", ">", ">="]), ordered, st.sampled_from(["", " "])
    ),
    st.builds(_stated, st.sampled_from(["a", "c", "a.b"]), st.sampled_from(["=", "!="]), scalars, st.just("")),
    st.builds(
        _stated, st.sampled_from("ac"), st.just("^="), st.sampled_from(["", "2020-", "r", "3", "tr"]), st.just("")
    ),
    st.builds(_stated, st.sampled_from("ac"), st.sampled_from(["", "!"]), st.none(), st.just("")),
)


def passes(document: dict[str, Any], stated: list[Stated]) -> bool:
    """Return whether metadata meet conditions: = and ^= of a field are alternatives, all others must hold."""
    groups: dict[Any, list[bool]] = {}
    for number, one in enumerate(stated):
        alternative = one.operator in ("=", "^=")
        groups.setdefault((one.field, None if alternative else number), []).append(meets(document, one))
    return all(map(any, groups.values()))


def meets(document: dict[str, Any], stated: Stated) -> bool:
    """Return whether metadata meet one condition."""
    found = list(_found(document, stated.field.split(".")))
    if stated.operator in ("", "!"):
        # A field is there, too, if only one nested in it is.
        return (bool(found) or bool(list(_found(document, [stated.field, "b"])))) == (stated.operator == "")
    if stated.operator == "!=":
        return not any(_accepts("=", value, stated.value) for value in found)
    return any(_accepts(stated.operator, value, stated.value) for value in found)


def _found(value: Any, path: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _found(item, path)
    elif isinstance(value, dict):
        if path and path[0] in value:
            yield from _found(value[path[0]], path[1:])
    elif value is not None and not path:
        yield value


def _accepts(operator: str, value: Any, wanted: Any) -> bool:
    if operator == "^=":
        return _text(value).startswith(wanted)
    if operator == "=" and (
        _text(value) in (_text(wanted), _text(wanted).strip()) or _truth(value) == _truth(wanted) is not None
    ):
        return True
    one, other = _number(value), _number(wanted)
    if one is None or other is None:
        parts, wanted_parts = _calendar(value), _calendar(wanted)
        if parts is None or wanted_parts is None:
            return False
        # The start of a period has 1 as the missing month and day, 0 as the missing hour.
        whole = (*parts, *(0, 1, 1, 0, 0, 0)[len(parts) :])
        one, other = whole[: len(wanted_parts)], wanted_parts
    results: dict[str, bool] = {
        "=": one == other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }
    return results[operator]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _truth(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(_text(value).strip().casefold())


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return None
    try:
        number = json.loads(_text(value))
    except ValueError:
        return None
    return number if type(number) in (int, float) else None


def _calendar(value: Any) -> tuple[int, ...] | None:
    """Return year, month and so on in UTC, as many as the text has."""
    text = _text(value).strip()
    if len(text) < 10:
        numbers = text.split("-")
        return tuple(map(int, numbers)) if all(map(str.isdigit, numbers)) and len(numbers[0]) == 4 else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) == 10:
        return moment.timetuple()[:3]
    fields = _PARTS if text.count(":") - (text[-6] in "+-") == 2 else _PARTS - 1
    return (moment if moment.tzinfo is None else moment.astimezone(UTC)).timetuple()[:fields]
