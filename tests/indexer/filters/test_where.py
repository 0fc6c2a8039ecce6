"""The texts of conditions, and which values they accept."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import UsageError
from moverank.indexer.filters import Condition, alternatives
from moverank.indexer.filters.comparable import Comparable
from moverank.indexer.filters.where import Operator, value_test


@pytest.mark.parametrize(
    ("text", "field", "operator", "value"),
    [
        ("a=b", "a", "=", "b"),
        ("a=b=c", "a", "=", "b=c"),
        ("a!=b", "a", "!=", "b"),
        ("a=!b", "a", "=", "!b"),
        ("a<=1", "a", "<=", "1"),
        ("a>2020-01", "a", ">", "2020-01"),
        (" a.b >= 1", "a.b", ">=", " 1"),
        ("a^=b", "a", "^=", "b"),
        ("a^b=c", "a^b", "=", "c"),
        ("a=", "a", "=", ""),
        ("a=b\nc", "a", "=", "b\nc"),
        ("a b", "a b", "present", ""),
        (" ! a", "a", "absent", ""),
    ],
)
def test_a_condition_is_a_field_an_operator_and_a_value(text: str, field: str, operator: str, value: str) -> None:
    condition = Condition.parse(text)
    assert (condition.field, condition.operator, condition.value) == (field, operator, value)


@pytest.mark.parametrize("text", ["", " ", "!", "=x", " <3", "!=x", "^=x", "!a=b", "!!a"])
def test_a_text_without_a_field_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match="is not a condition: write FIELD=V, FIELD!=V"):
        Condition.parse(text)


@pytest.mark.parametrize("value", ["red", "", "2020-13", "2020-02-30", "2020-01-01T25:00", "1,5", "nan", "0x1", "٣"])
def test_only_numbers_and_dates_have_an_order(value: str) -> None:
    with pytest.raises(UsageError, match="< compares numbers and dates"):
        Condition.parse(f"a<{value}")


def accepts(condition: str, value: str) -> bool:
    return value_test([Condition.parse(condition)])(value)


@pytest.mark.parametrize(
    ("condition", "accepted", "others"),
    [
        ("a=3", ["3", "3.0", " 3", "3e0", "30e-1"], ["03", "3 apples", "-3", "true"]),
        ("a=007", ["007"], ["7", "07"]),
        ("a=9007199254740993", ["9007199254740993"], ["9007199254740992", "9007199254740992.0"]),
        ("a>1e300", ["1e301", "1" + "0" * 305], ["1e300", "1e999", "9"]),
        ("a=True", ["true", "True", "TRUE"], ["1", "truely", "false"]),
        ("a=Ann", ["Ann"], ["ann", "Anna"]),
        ("a = Ann", ["Ann", " Ann"], ["ann"]),
        ("a^= An", ["Ann", " Ann"], ["ann"]),
        ("a=2020-02", ["2020-02-01", "2020-02-29T23:59:59Z", "2020-02"], ["2020-03-01", "2020", "2020-03-01T00:00Z"]),
        ("a=2020", ["2020", "2020.0", "2020-12-31T23:59:59.999"], ["2021-01-01T00:00Z", "2019"]),
        ("a>2020-05-03", ["2020-05-04", "2021"], ["2020-05-03T23:59Z", "2020-05-03"]),
        ("a<=2020-05-03", ["2020-05-03T23:59:59.999999", "2020"], ["2020-05-04", "2020-05-03T23:00-05"]),
        ("a=2020-05-03T10:00Z", ["2020-05-03 12:00:59+0200", "2020-05-03t10:00:30z"], ["2020-05-03T10:01"]),
        ("a=2020-05-03T10:00:00.5", ["2020-05-03T10:00:00,57Z"], ["2020-05-03T10:00:00.6", "2020-05-03T10:00:00"]),
        ("a>9999-12", [], ["9999-12-31T23:59:59.999999999", "9" * 5000]),
        ("a<2020", ["2019-12-31T23:59", "0001-01-01T00:00+14:00"], ["2020-02-30", "0000-01-01", "2019-12-31T23:59:60"]),
    ],
)  # fmt: skip
def test_what_conditions_accept(condition: str, accepted: list[str], others: list[str]) -> None:
    assert [value for value in accepted if not accepts(condition, value)] == []
    assert [value for value in others if accepts(condition, value)] == []


_number = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(_number, _number)
def test_numbers_are_ordered_as_in_python(one: float, other: float) -> None:
    for operator, expected in (("<", one < other), ("<=", one <= other), ("=", one == other), (">", one > other)):
        assert accepts(f"a{operator}{other!r}", repr(one)) == expected


@given(st.text())
def test_every_text_is_found_by_its_own_value(value: str) -> None:
    assert value_test([Condition("a", "=", value)])(value)
    assert value_test([Condition.parse(f"a={value}")])(value)
    for length in range(len(value) + 1):
        assert accepts(f"a^={value[:length]}", value)


@given(st.text())
def test_any_text_is_a_condition_or_one_error(text: str) -> None:
    with suppress(UsageError):
        condition = Condition.parse(text)
        assert condition.field
        value_test([condition])(text)


def test_conditions_on_one_field_are_alternatives_if_they_name_a_value() -> None:
    groups = alternatives(["a=1", "b=1", "a^=2", "a>1", "a<9", "a!=3", "a!=4"])
    assert [[f"{one.operator}{one.value}" for one in group] for group in groups] == [
        ["=1", "^=2"], ["=1"], [">1"], ["<9"], ["!=3"], ["!=4"],
    ]  # fmt: skip
    assert alternatives("a=1") == alternatives(["a=1"]) == alternatives({"a": "1"}) == alternatives({"a": [1]})
    assert alternatives({"x<y": [True, 1.5]}) == ((Condition("x<y", "=", "true"), Condition("x<y", "=", "1.5")),)


@pytest.mark.parametrize("where", [3, [3], {"a": None}, {"a": [None]}, {"a": [["b"]]}, {"a": object()}])
def test_other_values_are_no_filter(where: object) -> None:
    with pytest.raises(UsageError, match="where"):
        alternatives(where)  # type: ignore[arg-type]


VALUES = [
    "3",
    "3.0",
    "2020",
    "2020-05",
    "2020-05-03T10:00Z",
    "red",
    " red",
    "Red",
    "true",
    "TRUE",
    "",
    "007",
    "1e0",
    "1",
]
VALUES += ["2020-05-31", "2021", "-3", "0.5", "r", "4" * 30, "2020-01-01", "2020-12-31T23:59"]


@given(st.lists(st.tuples(st.sampled_from(["=", "^="]), st.sampled_from(VALUES)), max_size=12))
def test_many_conditions_accept_what_any_of_them_accepts(stated: list[tuple[Operator, str]]) -> None:
    conditions = [Condition("a", operator, value) for operator, value in stated]
    accepts = value_test(conditions)
    for value in VALUES:
        assert accepts(value) == any(value_test([one])(value) for one in conditions), value


def test_each_value_is_read_once_however_many_conditions_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    init = Comparable.__init__

    def counted(self: Comparable, text: str) -> None:
        read.append(text)
        init(self, text)

    monkeypatch.setattr(Comparable, "__init__", counted)
    accepts = value_test(Condition("a", "=", str(number)) for number in range(20_000))
    assert sum(accepts(str(number)) for number in range(10_000, 30_000, 2)) == 5000
    assert len(read) <= 30_000


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([f"a!={i}" for i in range(1001)], "at most 1,000 conditions which must all hold, not 1,001"),
        ({"a": list(range(200_001))}, "at most 200,000 values: this one has 200,001"),
        ([""] * 200_001, "at most 200,000 values: this one has 200,001"),  # counted before they are read
        ({"a": ["x" * 10_000_001] * 2}, "at most 20,000,000 characters together: these 20,000,002"),
    ],
)
def test_a_filter_has_a_limited_size(where: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        alternatives(where)


@pytest.mark.slow
def test_the_most_that_a_filter_may_have_is_read() -> None:
    assert len(alternatives([f"a={i}" for i in range(200_000)])[0]) == 200_000
