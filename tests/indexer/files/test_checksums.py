"""A file that differs from its checksum by a single bit is detected."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.atomic_write import OpenFile
from moverank.indexer.files.checksums import (
    check_data,
    check_names,
    checksummed_json,
    file_checksums,
    read_checksummed_json,
)

_CONTENT = {"format": 3, "gamma": 0.75, "options": ["a", "ü"], "none": None, "files": {"x": {"bytes": 1}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one").write_bytes(b"ant bee" * 300_000)
    (tmp_path / "two").write_bytes(b"")
    return tmp_path


def test_unchanged_files_pass(folder: Path) -> None:
    checksums = file_checksums(folder)
    assert {name: checksum["bytes"] for name, checksum in checksums.items()} == {"one": 2_100_000, "two": 0}
    (folder / "meta").write_bytes(b"")
    check_names(folder, checksums, "meta")
    for name, expected in checksums.items():
        check_data(folder / name, (folder / name).read_bytes(), expected)
        OpenFile(folder / name, expected).check()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("one", None, "one is missing"),
        ("one", b"ant", "one has 3 bytes where 2,100,000 were written"),
        ("three", b"", "three does not belong there"),
    ],
)
def test_names_and_sizes(folder: Path, name: str, content: bytes | None, message: str) -> None:
    checksums = file_checksums(folder)
    (folder / name).write_bytes(content or b"")
    if content is None:
        (folder / name).unlink()
    with pytest.raises(DamagedFile, match=message) as caught:
        check_names(folder, checksums, "meta")
    assert caught.value.path == folder / name


@pytest.mark.parametrize("position", [0, 7, 1_048_575, 1_048_576, 2_099_999])
def test_a_flipped_bit(folder: Path, position: int) -> None:
    expected = file_checksums(folder)["one"]
    data = bytearray((folder / "one").read_bytes())
    data[position] ^= 4
    with pytest.raises(DamagedFile, match="does not match its checksum"):
        check_data(folder / "one", data, expected)
    (folder / "one").write_bytes(data)
    with pytest.raises(DamagedFile, match="does not match its checksum"):
        OpenFile(folder / "one", expected).check()


def test_an_open_file_is_read_from_its_start_after_the_check(folder: Path) -> None:
    file = OpenFile(folder / "one", file_checksums(folder)["one"])
    file.check()
    assert os.read(file.descriptor, 3) == b"ant"
    file.close()


def test_a_file_without_a_checksum_is_not_checked(folder: Path) -> None:
    OpenFile(folder / "one").check()


def test_checksummed_json_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "meta").write_bytes(checksummed_json(_CONTENT))
    assert read_checksummed_json(tmp_path / "meta") == _CONTENT


@given(st.data())
def test_json_with_any_byte_changed_or_truncated(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(checksummed_json(_CONTENT))
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[position] ^= data.draw(st.integers(1, 255))
    else:
        del content[position:]
    path = tmp_path_factory.getbasetemp() / "checksummed"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="does not match its checksum"):
        read_checksummed_json(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{}", b'{"checksum": 5}', b"[" * 100_000])
def test_json_without_a_valid_checksum(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "meta").write_bytes(content)
    with pytest.raises(DamagedFile, match="does not match its checksum"):
        read_checksummed_json(tmp_path / "meta")
