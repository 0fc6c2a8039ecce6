"""Ctrl-C and SIGTERM end a run with one sentence; what was committed is kept, and nothing is left lying about."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank import Collection
from tests.indexer.world import Twin, Workshop, check_exact, random_documents

_COMMAND = [sys.executable, "-c", "from moverank import cli; cli.run()"]


def _stopped(number: int, place: Path, *options: str) -> "subprocess.CompletedProcess[bytes]":
    """Let a run read from a pipe that never ends, stop it when it has the lock, and return what it said."""
    environment = dict(os.environ)
    command = [*_COMMAND, "index", "-", "-i", str(place), *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin
        process.stdin.write(b"ant bee\n" * 10)
        process.stdin.flush()
        while not (place / "lock.owner").exists():
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.3)  # until it reads
        process.send_signal(number)
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture(autouse=True)
def _signals_arrive() -> Iterator[None]:
    """Whoever is started in the background may ignore Ctrl-C, and hand that on to the runs that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_is_stopped(number: int, collection: Collection) -> None:
    twin = Twin()
    twin.add(random_documents(20))
    collection.index(twin.documents.values())
    collection.close()
    before = sorted(path.name for path in collection.path.iterdir())
    done = _stopped(number, collection.path)
    told = b"moverank: interrupted: what was committed is kept; run the same command again to go on\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", told)
    assert sorted(path.name for path in collection.path.iterdir()) == before
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant bee", k=20), twin.distances("ant bee"), 20)


def test_a_collection_that_nothing_got_into_is_gone(tmp_path: Path, workshop: Workshop) -> None:
    vectors = str(workshop.vectors)
    done = _stopped(signal.SIGTERM, tmp_path / "new", "--embedding", vectors)
    assert done.returncode == 1
    assert done.stderr.startswith(b"moverank: interrupted")
    assert not (tmp_path / "new").exists()
