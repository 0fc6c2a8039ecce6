"""Ctrl-C and SIGTERM end a run with one sentence; committed changes are kept, and no temporary file is left behind."""

import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from termios import FIONREAD
from typing import IO

import pytest

from moverank import Collection
from tests.indexer.world import CollectionFactory, MakeCollection, Twin, check_exact, random_documents

_COMMAND = [sys.executable, "-c", "from moverank import cli; cli.run()"]


def _unread(pipe: IO[bytes]) -> int:
    """Return how many bytes of a pipe its reader has not read yet."""
    count = array("i", [0])
    ioctl(pipe, FIONREAD, count)
    return count[0]


def _stopped(number: int, path: Path, *options: str) -> "subprocess.CompletedProcess[bytes]":
    """Run `index` on a pipe without an end, and send a signal once it holds the lock and waits for more input."""
    command = [*_COMMAND, "index", "-", "-i", str(path), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(b"ant bee\n" * 10)
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


def test_a_new_collection_that_stays_empty_is_removed(tmp_path: Path, factory: CollectionFactory) -> None:
    vectors = str(factory.vectors)
    done = _stopped(signal.SIGTERM, tmp_path / "new", "--embedding", vectors)
    assert done.returncode == 1
    assert done.stderr.startswith(b"moverank: interrupted")
    assert not (tmp_path / "new").exists()
