"""A file that differs by one bit from what was sealed is found out."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import (
    check_data,
    check_names,
    checksummed_json,
    file_checksums,
    read_checksummed_json,
)
from moverank.indexer.files.open_file import OpenFile

_ABOUT = {"format": 3, "gamma": 0.75, "options": ["a", "ü"], "none": None, "files": {"x": {"bytes": 1}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one").write_bytes(b"ant bee" * 300_000)
    (tmp_path / "two").write_bytes(b"")
    return tmp_path


def test_what_was_written_passes(folder: Path) -> None:
    seals = file_checksums(folder)
    assert {name: seal["bytes"] for name, seal in seals.items()} == {"one": 2_100_000, "two": 0}
    (folder / "meta").write_bytes(b"")
    check_names(folder, seals, "meta")
    for name, seal in seals.items():
        check_data(folder / name, (folder / name).read_bytes(), seal)
        OpenFile(folder / name, seal).check()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("one", None, "one is missing"),
        ("one", b"ant", "one has 3 bytes where 2,100,000 were written"),
        ("three", b"", "three does not belong there"),
    ],
)
def test_names_and_sizes(folder: Path, name: str, content: bytes | None, told: str) -> None:
    seals = file_checksums(folder)
    (folder / name).write_bytes(content or b"")
    if content is None:
        (folder / name).unlink()
    with pytest.raises(DamagedFile, match=told) as caught:
        check_names(folder, seals, "meta")
    assert caught.value.path == folder / name


@pytest.mark.parametrize("place", [0, 7, 1_048_575, 1_048_576, 2_099_999])
def test_a_flipped_bit(folder: Path, place: int) -> None:
    seal = file_checksums(folder)["one"]
    data = bytearray((folder / "one").read_bytes())
    data[place] ^= 4
    with pytest.raises(DamagedFile, match="another checksum"):
        check_data(folder / "one", data, seal)
    (folder / "one").write_bytes(data)
    with pytest.raises(DamagedFile, match="another checksum"):
        OpenFile(folder / "one", seal).check()


def test_a_held_file_is_read_from_its_start_afterwards(folder: Path) -> None:
    held = OpenFile(folder / "one", file_checksums(folder)["one"])
    held.check()
    assert os.read(held.descriptor, 3) == b"ant"
    held.close()


def test_a_file_without_a_seal_is_believed(folder: Path) -> None:
    OpenFile(folder / "one").check()


def test_sealed_json_comes_back(tmp_path: Path) -> None:
    (tmp_path / "meta").write_bytes(checksummed_json(_ABOUT))
    assert read_checksummed_json(tmp_path / "meta") == _ABOUT


@given(st.data())
def test_json_with_any_byte_changed_or_cut(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(checksummed_json(_ABOUT))
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        del content[place:]
    path = tmp_path_factory.getbasetemp() / "sealed"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="another checksum"):
        read_checksummed_json(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{}", b'{"checksum": 5}', b"[" * 100_000])
def test_json_that_was_never_sealed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "meta").write_bytes(content)
    with pytest.raises(DamagedFile, match="another checksum"):
        read_checksummed_json(tmp_path / "meta")
