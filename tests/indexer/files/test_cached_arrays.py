"""Cached arrays are read as they were written, or not at all."""

from pathlib import Path

import numpy as np

from moverank.indexer.files.cached_arrays import read_arrays, write_arrays


def test_arrays_are_read_as_written(tmp_path: Path) -> None:
    arrays = {"ids": np.arange(3), "number": np.array(7), "nothing": np.empty((0, 2))}
    write_arrays(tmp_path / "cached", arrays)
    found = read_arrays(tmp_path / "cached")
    assert found is not None
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape


def test_a_damaged_file_is_none_at_all(tmp_path: Path) -> None:
    path = tmp_path / "cached"
    assert read_arrays(path) is None
    write_arrays(path, {"ids": np.arange(100)})
    content = path.read_bytes()
    for damaged in (b"", content[:10], content[:-1], content[:99] + b"?" + content[100:], content + b"?"):
        path.write_bytes(damaged)
        assert read_arrays(path) is None


def test_without_a_directory_nothing_is_cached(tmp_path: Path) -> None:
    write_arrays(None, {"ids": np.arange(3)})
    write_arrays(tmp_path / "missing" / "cached", {"ids": np.arange(3)})
    assert read_arrays(None) is None
    assert list(tmp_path.iterdir()) == []
