"""The program as a process of its own: its output streams."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def _process(*arguments: str | Path, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", "from moverank.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, check=False, timeout=120, **more)


def test_results_and_notes_go_to_separate_streams(collection: Path) -> None:
    done = _process("info", "-i", collection, "--json", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["documents"] == 10
    failed = _process("info", "-i", collection / "nowhere", "--json", capture_output=True)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"moverank: there is no collection in ")


def test_a_closed_pipe_prints_no_message(collection: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = _process("info", "-i", collection, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_full_disk_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = _process("help", stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"moverank: No space left on device\n")
