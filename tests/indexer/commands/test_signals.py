"""Ctrl-C and SIGTERM end a run with one sentence; what was committed is kept, and no temporary file is left behind."""

import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from moverank import Collection
from tests.indexer.world import CollectionFactory, MakeCollection, Twin, check_exact, random_documents

pytestmark = pytest.mark.slow

_COMPILING = b"moverank: compiling for this machine: this takes some seconds, once for each part that is used\n"
_COMMAND = [sys.executable, "-c", "from moverank import cli; cli.run()"]


def _unread(pipe: IO[bytes]) -> int:
    """Return how many bytes of a pipe its reader has not read yet."""
    from fcntl import ioctl  # Unix alone has it
    from termios import FIONREAD

    count = array("i", [0])
    ioctl(pipe, FIONREAD, count)
    return count[0]


def _stopped(
    number: int, path: Path, *options: str, text: bytes = b"ant bee\n" * 10
) -> "subprocess.CompletedProcess[bytes]":
    """Run `index` on a pipe without an end, and send a signal once it holds the lock and waits for more input."""
    command = [*_COMMAND, "index", "-", "-i", str(path), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(text)
        process.stdin.flush()
        while _unread(process.stdin) or not (path / "lock.owner").exists():
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.1)  # until it has processed what it read
        process.send_signal(number)
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture(autouse=True)
def _signals_arrive() -> Iterator[None]:
    """A background process may ignore Ctrl-C, and its children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_is_stopped(number: int, make_collection: MakeCollection) -> None:
    twin, collection = Twin(), make_collection()
    twin.add(random_documents(20))
    collection.index(twin.documents.values())
    collection.close()
    before = sorted(path.name for path in collection.path.iterdir())
    done = _stopped(number, collection.path)
    sentence = b"moverank: interrupted: nothing was changed\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", sentence)
    assert sorted(path.name for path in collection.path.iterdir()) == before
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant bee", k=20), twin.distances("ant bee"), 20)


def test_changes_that_were_committed_are_reported(make_collection: MakeCollection) -> None:
    """Batches of 2,000 documents are committed while the run waits for more lines."""
    collection = make_collection()
    collection.close()
    done = _stopped(signal.SIGINT, collection.path, text=b"".join(b"ant bee %d\n" % i for i in range(20_000)))
    sentence = b"moverank: interrupted: committed changes are kept; run the same command again to continue\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", sentence)
    with Collection.open(collection.path) as opened:
        documents = opened.info()["documents"]
    assert documents > 0
    assert documents % 2000 == 0


def test_an_evaluation_ends_at_the_first_of_two_signals(make_collection: MakeCollection) -> None:
    """`timeout` sends two."""
    collection = make_collection(random_documents(600))
    collection.close()
    command = [*_COMMAND, "evaluate", "bounds", "-i", str(collection.path), "--sample", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        while line in _COMPILING:
            line = process.stderr.readline()
        assert b"distances by WMD are to be computed" in line
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    sentence = b"moverank: interrupted: cached distances are kept, and not computed again\n"
    assert (process.returncode, out, err.replace(_COMPILING, b"")) == (1, b"", sentence)


def test_ctrl_c_stops_the_command_that_converts_a_file(tmp_path: Path, factory: CollectionFactory) -> None:
    script, pid = tmp_path / "script.sh", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\nsleep 300 & echo $! > {pid}.new; mv {pid}.new {pid}; wait\n")
    script.chmod(0o755)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    command = [*_COMMAND, "index", str(tmp_path / "a.pdf"), "-i", str(tmp_path / "new"), "--pre", str(script)]
    with subprocess.Popen([*command, "--embedding", str(factory.vectors)], stderr=subprocess.PIPE) as process:
        while not pid.exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 1
    assert err.startswith(b"moverank: interrupted")
    status = Path(f"/proc/{pid.read_text().strip()}/stat")
    while status.exists() and status.read_text().split()[2] != "Z":
        time.sleep(0.02)


def test_a_new_collection_that_stays_empty_is_removed(tmp_path: Path, factory: CollectionFactory) -> None:
    vectors = str(factory.vectors)
    done = _stopped(signal.SIGTERM, tmp_path / "new", "--embedding", vectors)
    assert done.returncode == 1
    assert done.stderr.startswith(b"moverank: interrupted")
    assert not (tmp_path / "new").exists()
