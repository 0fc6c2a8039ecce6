"""What another system lacks or does otherwise, on this one: names are removed, or stand-ins are put in their place."""

import errno
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace

import pytest

from moverank.indexer.files import systems
from moverank.indexer.files.checksums import file_checksums
from moverank.indexer.store.rows import connect_file


def test_addresses_of_sqlite() -> None:
    address = systems.sqlite_address
    assert address(PurePosixPath("/a b/50%?#ä.db"), "rw") == "file:///a%20b/50%25%3F%23%C3%A4.db?mode=rw"
    assert address(PureWindowsPath(r"C:\a b\x.db"), "ro") == "file:///C:/a%20b/x.db?mode=ro"
    assert address(PureWindowsPath(r"\\host\share\x.db"), "ro") == "file:////host/share/x.db?mode=ro"


def test_a_database_of_any_name_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "50%?#& ä.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE a (b)")
    with closing(connect_file(path, "ro")) as opened:
        assert opened.execute("SELECT name FROM sqlite_master").fetchall() == [("a",)]


def test_files_are_read_in_pieces_without_readv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(os.urandom(3_000_000))
    expected = file_checksums(tmp_path)
    monkeypatch.delattr(os, "readv", raising=False)
    assert file_checksums(tmp_path) == expected


def test_without_directories_to_open_their_files_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(systems, "sync", synced.append)
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    (tmp_path / "a").touch()
    systems.sync_path(tmp_path)
    assert not synced
    systems.sync_path(tmp_path / "a")
    assert len(synced) == 1


@pytest.mark.parametrize("supported", [True, False])
def test_a_full_sync_is_preferred_where_the_file_system_has_it(
    monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    calls: list[tuple[str, int]] = []

    def full(descriptor: int, command: int) -> None:
        assert command == 51
        calls.append(("full", descriptor))
        if not supported:
            raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(systems, "_FULL_SYNC", 51)
    monkeypatch.setattr(systems, "fcntl", SimpleNamespace(fcntl=full))
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append(("plain", descriptor)))
    systems.sync(7)
    assert calls == [("full", 7), *([] if supported else [("plain", 7)])]


@pytest.mark.unix
def test_users_and_their_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert systems.user_caches() == tmp_path / ".cache"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert systems.user_caches() == tmp_path / "Library" / "Caches"
    monkeypatch.setenv("USERNAME", "ada")
    assert systems.user_id() == os.geteuid()
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert systems.user_id() == "ada"


@pytest.mark.unix
def test_permissions_are_set_where_there_are_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a").open("wb") as file:
        systems.set_mode(file.fileno(), 0o600)
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
        monkeypatch.delattr(os, "fchmod", raising=False)
        systems.set_mode(file.fileno(), 0o644)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_access_is_that_of_the_effective_user_only_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert systems.has_access(tmp_path, os.W_OK)
    monkeypatch.setattr(os, "supports_effective_ids", set())
    monkeypatch.setattr(os, "access", lambda _path, _mode, *, effective_ids: not effective_ids)
    assert systems.has_access(tmp_path, os.W_OK)


def test_a_pipe_without_a_reader() -> None:
    assert systems.is_reader_gone(BrokenPipeError(errno.EPIPE, "gone"))
    assert not systems.is_reader_gone(OSError(errno.ENOSPC, "full"))
