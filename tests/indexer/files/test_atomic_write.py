"""Success means durable, and a failure changes nothing: a file or a directory has its old content or its new one."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from moverank.indexer.files.atomic_write import atomic_directory, atomic_file, durable_file, named_file
from moverank.indexer.files.systems import sync_path

_Writer = Callable[[Path], AbstractContextManager[Any]]


def _names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths that are synced to disk, in order."""
    paths: list[Path] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    return paths


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing fails, as it does on a full disk."""

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.unix
def test_a_durable_file_is_synced_once_it_is_complete(tmp_path: Path, synced: list[Path]) -> None:
    with durable_file(tmp_path / "a") as file:
        file.write(b"ant")
        assert not synced
    assert synced == [tmp_path / "a"]
    assert (tmp_path / "a").read_bytes() == b"ant"
    with pytest.raises(FileExistsError), durable_file(tmp_path / "a", "xb"):
        pass


@pytest.mark.unix
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_file_is_replaced_at_the_end(tmp_path: Path, synced: list[Path], old: bytes | None) -> None:
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)
    with atomic_file(path) as file:
        file.write(b"new")
        assert (path.read_bytes() if path.exists() else None) == old
    assert path.read_bytes() == b"new"
    assert [name.name[:3] for name in synced] == [".a.", tmp_path.name[:3]]
    assert _names(tmp_path) == ["a"]


@pytest.mark.unix
def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for mode in (0o600, 0o644):
        path.touch()
        path.chmod(mode)
        with atomic_file(path) as file:
            file.write(b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.unix
def test_links_and_pipes_that_the_user_names_are_written_in_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for name in ("link", "pipe"):
        with named_file(tmp_path / name) as file:
            file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert [(tmp_path / "target").read_bytes(), os.read(reader, 9)] == [b"new", b"new"]
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_links_among_our_own_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_file(tmp_path / "link") as file:
        file.write(b"new")
    assert not (tmp_path / "link").is_symlink()
    assert [(tmp_path / name).read_text() for name in ("target", "link")] == ["precious", "new"]


@pytest.mark.parametrize("write", [atomic_file, atomic_directory])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_after_an_error_nothing_has_changed(tmp_path: Path, write: _Writer, error: type[BaseException]) -> None:
    for name in ("a", "b"):
        with pytest.raises(error), write(tmp_path / name):
            raise error
    assert not _names(tmp_path)


@pytest.mark.unix
@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("write", [atomic_file, atomic_directory])
def test_on_a_full_disk_the_reason_reaches_the_caller(tmp_path: Path, write: _Writer) -> None:
    with pytest.raises(OSError, match="No space left on device"), write(tmp_path / "a"):
        pass
    assert not _names(tmp_path)


@pytest.mark.unix
def test_a_directory_is_created_with_its_parents(tmp_path: Path, synced: list[Path]) -> None:
    with atomic_directory(tmp_path / "deep" / "d") as temporary:
        (temporary / "new").touch()
        assert not (tmp_path / "deep" / "d").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["deep", "d", "new"]
    assert synced == [temporary, tmp_path / "deep"]


def test_a_directory_is_replaced_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    with atomic_directory(tmp_path / "d") as temporary:
        (temporary / "new").touch()
        assert _names(tmp_path / "d") == ["old"]
    assert [path.name for path in tmp_path.rglob("*")] == ["d", "new"]


def test_an_existing_directory_can_be_protected(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "d", replace=False) as temporary:
        (temporary / "one").touch()
    with pytest.raises(OSError, match="not empty"), atomic_directory(tmp_path / "d", replace=False) as temporary:
        (temporary / "two").touch()
    assert _names(tmp_path) == ["d"]
    assert _names(tmp_path / "d") == ["one"]


def test_the_old_directory_returns_if_the_new_one_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    rename, results = Path.rename, iter([True, False, True])

    def sometimes(self: Path, target: Path) -> Path:
        if next(results):
            return rename(self, target)
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", sometimes)
    with pytest.raises(PermissionError), atomic_directory(tmp_path / "d"):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["d", "old"]


@pytest.mark.unix
def test_the_names_in_a_directory_are_synced(tmp_path: Path, synced: list[Path]) -> None:
    sync_path(tmp_path)
    assert synced == [tmp_path]
