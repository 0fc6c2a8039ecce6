"""One process writes; a second one is refused with the name of the owner, or waits; a dead process frees its lock."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.files.directory import LOCK, LOCK_OWNER
from moverank.indexer.files.writer_lock import locked

_OWNER = """
import sys
from pathlib import Path
from moverank.indexer.files.directory import LOCK, LOCK_OWNER
from moverank.indexer.files.writer_lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    input()
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that has the lock."""
    command = [sys.executable, "-c", _OWNER, str(tmp_path)]
    environment = dict(os.environ)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == b"locked"
        yield other
        if other.poll() is None:
            other.communicate(b"\n")


@pytest.mark.unix
def test_the_owner_is_named(tmp_path: Path, owner: "subprocess.Popen[bytes]") -> None:
    with pytest.raises(LockedError) as caught, locked(tmp_path):
        pass
    message = str(caught.value)
    assert message.startswith(f"process {owner.pid} on {os.uname().nodename} (`-c {tmp_path}`, since 20")
    assert message.endswith(f"is writing to {tmp_path}: try again when it is done, or give --wait")


def test_a_waiting_process_gets_the_lock(
    tmp_path: Path, owner: "subprocess.Popen[bytes]", caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Timer(0.3, lambda: owner.communicate(b"\n"))
    release.start()
    with locked(tmp_path, wait=float("inf")):
        assert json.loads((tmp_path / "lock.owner").read_text())["pid"] == os.getpid()
    release.join()
    assert f"waiting for process {owner.pid}" in caplog.text


@pytest.mark.usefixtures("owner")
def test_waiting_ends(tmp_path: Path) -> None:
    with pytest.raises(LockedError, match="is writing to"), locked(tmp_path, wait=0.1):
        pass


@pytest.mark.unix
def test_the_lock_of_a_dead_process_is_free(tmp_path: Path, owner: "subprocess.Popen[bytes]") -> None:
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert (tmp_path / "lock.owner").exists()
    with locked(tmp_path):
        assert json.loads((tmp_path / "lock.owner").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "lock.owner").exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pid": 5}'])
def test_an_unreadable_owner_record(tmp_path: Path, owner: "subprocess.Popen[bytes]", content: str) -> None:
    assert owner.pid
    (tmp_path / "lock.owner").write_text(content)
    with pytest.raises(LockedError, match=r"^another process is writing to"), locked(tmp_path):
        pass


def test_a_directory_without_write_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(CollectionError, match="cannot be written to: permission denied"), locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_the_lock_is_released_even_if_its_owner_cannot_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "lock.owner").mkdir()
    for _ in range(2):
        with locked(tmp_path):
            assert (tmp_path / "lock").exists()


def test_temporary_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    (tmp_path / "removed-snapshot-1").mkdir()
    with locked(tmp_path):
        assert not (tmp_path / "removed-snapshot-1").exists()


@pytest.mark.parametrize("name", [LOCK, LOCK_OWNER])
def test_no_link_is_followed(tmp_path: Path, name: str) -> None:
    """A collection from somebody else may have a link to any file of the user."""
    victim, collection = tmp_path / "victim", tmp_path / "collection"
    victim.write_text("precious")
    collection.mkdir()
    (collection / name).symlink_to(victim)
    with suppress(CollectionError), locked(collection):
        pass
    assert victim.read_text() == "precious"
