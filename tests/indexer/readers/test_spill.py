import tempfile
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import ReadError
from moverank.indexer.readers.spill import Spill


@given(st.lists(st.tuples(st.sampled_from(["", "a", "é", "\ud800", "b", "c"]), st.integers())), st.integers(1, 4))
def test_groups_are_those_of_a_dict(records: list[tuple[str, int]], buckets: int) -> None:
    expected: dict[str, list[int]] = {}
    with Spill(buckets) as spill:
        for group, record in records:
            spill.add(group, record)
            expected.setdefault(group, []).append(record)
        assert sorted(spill.groups()) == sorted(expected.values())
        assert sorted(spill.records()) == sorted(record for _, record in records)


def test_one_bucket_keeps_the_order() -> None:
    with Spill(1) as spill:
        for number in range(100):
            spill.add(str(number % 7), [number, "\n"])
        assert [number for number, _ in spill.records()] == list(range(100))


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
    with Spill(2) as spill:
        with pytest.raises(ReadError, match="cannot be written: No space left on device: name another TMPDIR"):
            spill.add("a", 1)
        with pytest.raises(ReadError, match="No space left"):
            list(spill.groups())

    def missing() -> None:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", missing)
    with pytest.raises(ReadError, match="No such file"):
        Spill()
