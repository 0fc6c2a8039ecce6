"""Mapped arrays are read as they were written, or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank.indexer.files.mapped_arrays import is_intact, read_mapped, write_mapped

ARRAYS: dict[str, NDArray[Any]] = {
    "ids": np.arange(3),
    "text": np.frombuffer(b"abc\n", np.uint8),
    "nothing": np.empty(0, np.int32),
    "values": np.array([0.5, -1.0]),
}


@pytest.mark.parametrize("length", range(0, 200, 7))
def test_arrays_are_read_as_written(tmp_path: Path, length: int) -> None:
    arrays = ARRAYS | {"more": np.arange(length, dtype=np.int32)}
    write_mapped(tmp_path / "cached", "k" * length, arrays)
    found = read_mapped(tmp_path / "cached", "k" * length)
    assert found is not None
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].tolist() == array.tolist()
        assert found[name].dtype == array.dtype
        assert not found[name].ctypes.data % 64 or not len(array)
    assert is_intact(tmp_path / "cached")


def test_a_file_for_something_else_or_damaged_is_none_at_all(tmp_path: Path) -> None:
    path = tmp_path / "cached"
    assert read_mapped(path, "key") is None
    write_mapped(path, "key", ARRAYS)
    assert read_mapped(path, "another") is None
    content = path.read_bytes()
    damages = [content[:position] + b"?" + content[position + 1 :] for position in range(0, len(content), 13)]
    for damaged in (b"", content[:10], content[:-1], content + b"?", *damages):
        path.write_bytes(damaged)
        assert (read_mapped(path, "key") is None) == (damaged != content)
        assert is_intact(path) == (damaged == content)


def test_where_nothing_can_be_written_nothing_is_cached(tmp_path: Path) -> None:
    write_mapped(tmp_path / "missing" / "cached", "key", ARRAYS)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        is_intact(tmp_path / "cached")
