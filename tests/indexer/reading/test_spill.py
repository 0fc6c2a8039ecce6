import tempfile
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.spill import HELD, Spill

RECORDS = st.lists(st.tuples(st.sampled_from(["", "a", "é", "\ud800", "b", "c"]), st.lists(st.integers())))


@given(RECORDS, st.integers(1, 4), st.sampled_from([0, 300, HELD]))
def test_groups_are_those_of_a_dict(records: list[tuple[str, list[int]]], buckets: int, held: int) -> None:
    expected: dict[str, list[list[int]]] = {}
    with Spill(buckets, held) as spill:
        for group, record in records:
            spill.add(group, record)
            expected.setdefault(group, []).append(record)
        assert sorted(spill.groups()) == sorted(expected.values())
        lengths: dict[int, list[list[int]]] = {}
        for record in (record for group in spill.groups() for record in group):
            lengths.setdefault(len(record), []).append(record)
        with Spill(buckets, held) as regrouped:
            spill.regroup(regrouped, lambda record: str(len(record)))
            assert [sorted(group) for group in sorted(regrouped.groups(), key=lambda group: len(group[0]))] == [
                sorted(lengths[length]) for length in sorted(lengths)
            ]


@given(RECORDS)
def test_the_order_does_not_depend_on_where_the_records_are(records: list[tuple[str, list[int]]]) -> None:
    with Spill(held=0) as in_files, Spill() as in_memory:
        for group, record in records:
            in_files.add(group, record)
            in_memory.add(group, record)
        assert list(in_files.groups()) == list(in_memory.groups())
        with Spill(held=0) as other_files, Spill() as other_memory:
            in_files.regroup(other_files, str)
            in_memory.regroup(other_memory, str)
            assert list(other_files.groups()) == list(other_memory.groups())


@pytest.mark.parametrize("held", [0, 2000, HELD])
def test_one_bucket_keeps_the_order(held: int) -> None:
    with Spill(1, held) as spill, Spill(held=held) as regrouped:
        for number in range(100):
            spill.add(str(number % 7), [number, "\n"])
        spill.regroup(regrouped, lambda _: "")
        assert [number for number, _ in next(regrouped.groups())] == list(range(100))


class Full:
    """A file on a full disk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    def seek(self, _offset: int) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with Spill(2, held=0) as spill:
        for _ in range(2):
            with pytest.raises(ReadError, match="cannot be written: No space left on device: name another TMPDIR"):
                spill.add("a", [1])
        with pytest.raises(ReadError, match="No space left"):
            list(spill.groups())

    def missing() -> None:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", missing)
    with Spill(held=0) as spill, pytest.raises(ReadError, match="No such file"):
        spill.add("a", [1])


def test_few_records_make_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with Spill() as spill:
        spill.add("a", ["x" * (HELD // 2), ["y" * (HELD // 4)]])
        assert [record[0][0] for group in spill.groups() for record in group] == ["x"]
        with pytest.raises(ReadError, match="No space left"):
            spill.add("b", ["one", ["z" * HELD]])
