"""Arrays are read as they were written, or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.arrays import (
    MOST_FILES,
    array_file,
    is_intact,
    map_array,
    read_arrays,
    write_array,
    write_arrays,
)
from moverank.indexer.files.checksums import checksum

ARRAYS: dict[str, NDArray[Any]] = {
    "ids": np.arange(3),
    "text": np.frombuffer(b"abc\n", np.uint8),
    "nothing": np.empty(0, np.int32),
    "no rows": np.empty((0, 2)),
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "number": np.array(7),
    "values": np.array([0.5, -1.0]),
    "names": np.array(["ant", "bee"]),
}


@pytest.mark.parametrize("length", range(0, 200, 7))
def test_cached_arrays_are_read_as_written(tmp_path: Path, length: int) -> None:
    arrays = ARRAYS | {"more": np.arange(length, dtype=np.int32)}
    write_arrays(tmp_path / "cached", arrays, "k" * length)
    found = read_arrays(tmp_path / "cached", "k" * length)
    assert found is not None
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].tolist() == array.tolist()
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert not found[name].ctypes.data % 64 or not array.size
    assert is_intact(tmp_path / "cached")


def test_a_cache_for_something_else_or_damaged_is_none_at_all(tmp_path: Path) -> None:
    path = tmp_path / "cached"
    assert read_arrays(path, "key") is None
    write_arrays(path, ARRAYS, "key")
    assert read_arrays(path, "another") is None
    content = path.read_bytes()
    damages = [content[:position] + b"?" + content[position + 1 :] for position in range(0, len(content), 13)]
    for damaged in (b"", content[:10], content[:-1], content + b"?", *damages):
        path.write_bytes(damaged)
        assert (read_arrays(path, "key") is None) == (damaged != content)
        assert is_intact(path) == (damaged == content)


def test_arrays_of_other_names_dtypes_or_dimensions_are_none_at_all(tmp_path: Path) -> None:
    path = tmp_path / "cached"
    write_arrays(path, {"ids": np.arange(3), "matrix": np.zeros((2, 3))})
    kinds = {"ids": ("<i8", 1), "matrix": ("<f8", 2)}
    assert read_arrays(path, kinds=kinds) is not None
    for other in ({"ids": ("<i8", 1)}, kinds | {"ids": ("<i4", 1)}, kinds | {"matrix": ("<f8", 1)}):
        assert read_arrays(path, kinds=other) is None


@pytest.mark.parametrize("place", [["<i8", 3, 128 + 64 * 50], ["<i8", [-3], 128], ["<i8", [3], 129], ["O", [1], 128]])
def test_impossible_places_in_a_cache_are_none_at_all(tmp_path: Path, place: list[Any]) -> None:
    line = json.dumps({"key": "", "arrays": {"ids": place}}).encode() + b"\n"
    content = line.ljust(96) + np.arange(3).tobytes()
    (tmp_path / "cached").write_bytes(checksum(content).encode() + content)
    assert read_arrays(tmp_path / "cached") is None


def test_where_nothing_can_be_written_nothing_is_cached(tmp_path: Path) -> None:
    write_arrays(None, ARRAYS)
    write_arrays(tmp_path / "missing" / "cached", ARRAYS)
    assert read_arrays(None) is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        is_intact(tmp_path / "cached")


def test_a_directory_has_a_limit_of_caches_of_a_snapshot_only(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 3):
        write_arrays(tmp_path / f"cached-{number}", ARRAYS)
        write_arrays(tmp_path / f"pairs-{number}", ARRAYS)
    assert len(list(tmp_path.glob("cached-*"))) == MOST_FILES
    assert len(list(tmp_path.glob("pairs-*"))) == MOST_FILES + 3


@pytest.mark.parametrize("shape", [(5,), (5, 3), (0,), (0, 3)])
def test_an_array_file_is_mapped_as_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array, path = np.arange(np.prod(shape), dtype=np.float32).reshape(shape), tmp_path / "array"
    with array_file(path, "<f4") as file:
        pieces = [bytes(file.write(piece)) for piece in (array[:2], array[2:])]
    assert file.count == shape[0]
    assert b"".join(pieces) == array.tobytes()
    mapped = map_array(path, "<f4", shape)
    assert mapped.tolist() == array.tolist()
    assert mapped.shape == shape
    assert type(mapped) is np.ndarray
    assert map_array(path, "<f4").tolist() == array.ravel().tolist()


def test_a_file_of_another_size_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "array"
    write_array(path, "<i4", np.arange(4))
    content = path.read_bytes()
    for damaged in (b"", content[:-1], content + b"?", content + bytes(4)):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match="array does not match its checksum"):
            map_array(path, "<i4", (4,))
