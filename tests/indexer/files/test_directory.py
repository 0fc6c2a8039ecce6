"""One process writes; who else wants to is told who it is, may wait, and needs nobody's help when it has died."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.files.directory import locked

_HOLDER = """
import sys
from pathlib import Path
from moverank.indexer.files.directory import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that has the lock."""
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    environment = dict(os.environ)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == b"held"
        yield other
        if other.poll() is None:
            other.communicate(b"\n")


def test_the_owner_is_named(tmp_path: Path, holder: "subprocess.Popen[bytes]") -> None:
    with pytest.raises(LockedError) as caught, locked(tmp_path):
        pass
    told = str(caught.value)
    assert told.startswith(f"process {holder.pid} on {os.uname().nodename} (`-c {tmp_path}`, since 20")
    assert told.endswith(f"is writing to {tmp_path}: try again when it is done, or give --wait")


def test_who_waits_gets_it(tmp_path: Path, holder: "subprocess.Popen[bytes]", caplog: pytest.LogCaptureFixture) -> None:
    letting_go = threading.Timer(0.3, lambda: holder.communicate(b"\n"))
    letting_go.start()
    with locked(tmp_path, wait=float("inf")):
        assert json.loads((tmp_path / "lock.owner").read_text())["pid"] == os.getpid()
    letting_go.join()
    assert f"waiting for process {holder.pid}" in caplog.text


@pytest.mark.usefixtures("holder")
def test_waiting_ends(tmp_path: Path) -> None:
    with pytest.raises(LockedError, match="is writing to"), locked(tmp_path, wait=0.1):
        pass


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path, holder: "subprocess.Popen[bytes]") -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "lock.owner").exists()
    with locked(tmp_path):
        assert json.loads((tmp_path / "lock.owner").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "lock.owner").exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pid": 5}'])
def test_an_owner_that_cannot_be_read(tmp_path: Path, holder: "subprocess.Popen[bytes]", content: str) -> None:
    assert holder.pid
    (tmp_path / "lock.owner").write_text(content)
    with pytest.raises(LockedError, match=r"^another process is writing to"), locked(tmp_path):
        pass


def test_a_place_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(CollectionError, match="cannot be written to: permission denied"), locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_the_lock_is_given_back_where_its_owner_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "lock.owner").mkdir()
    for _ in range(2):
        with locked(tmp_path):
            assert (tmp_path / "lock").exists()
