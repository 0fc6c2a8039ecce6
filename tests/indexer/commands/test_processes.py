"""The program as a process of its own: its output streams."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.indexer.commands.program import Call
from tests.waiting import HUNG

pytestmark = pytest.mark.slow

_COMMAND = [sys.executable, "-c", "from moverank.cli import run; run()"]


def _process(*arguments: str | Path, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*_COMMAND, *map(str, arguments)], check=False, timeout=HUNG, **more)


def test_results_and_notes_go_to_separate_streams(collection: Path) -> None:
    done = _process("info", "-i", collection, "--json", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["documents"] == 10
    failed = _process("info", "-i", collection / "nowhere", "--json", capture_output=True)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"moverank: there is no collection in ")


_SEARCH = ("search", "cat", "-k", "2000", "--rank", "bm25")


@pytest.mark.parametrize(
    "arguments", [_SEARCH, (*_SEARCH, "--json"), ("list",), ("list", "--json"), ("export",)], ids=" ".join
)
def test_a_closed_pipe_is_no_failure(collection: Path, arguments: tuple[str, ...], call: Call) -> None:
    """`| head` ends the program early: the result, 100 KB of it or more, was wanted only in part."""
    text = (collection.parent / "cats.txt").absolute()
    text.write_text("cat\n" * 2000)
    assert call("index", text, "--format", "lines", "-i", collection).code == 0
    command = [*_COMMAND, *arguments, "-i", str(collection)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert len(process.stdout.read(10)) == 10
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_notes_into_a_closed_pipe_do_not_stop_the_work(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n' * 9 + '{"id": "y", "text": "cat"}\n')
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = _process("index", tmp_path / "bad.jsonl", "-i", collection, stdout=subprocess.PIPE, stderr=pipe)
    assert (done.returncode, done.stdout[:19]) == (1, b"1 added, 9 rejected")


def _closed(number: int, *arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
    """Run the program with a standard stream that is closed."""
    shell = ["sh", "-c", f'exec "$@" {number}<&-', "sh", *_COMMAND, *map(str, arguments)]
    return subprocess.run(shell, check=False, timeout=HUNG, capture_output=True)


@pytest.mark.parametrize("arguments", [("info",), ("info", "--json"), ("search", "cat", "--rank", "bm25")])
def test_closed_standard_output_is_one_sentence(collection: Path, arguments: tuple[str, ...]) -> None:
    done = _closed(1, *arguments, "-i", collection)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"moverank: standard output: it is closed: there is no place for the result\n"


def test_the_other_closed_streams_do_not_matter(collection: Path, documents: Path) -> None:
    for number in (0, 2):
        assert json.loads(_closed(number, "info", "-i", collection, "--json").stdout)["documents"] == 10
        assert b"10 unchanged" in _closed(number, "index", documents, "-i", collection).stdout
    done = _closed(0, "index", "-", "-i", collection)
    assert (done.returncode, done.stderr) == (1, b"moverank: standard input is closed: there is nothing to read\n")


def test_a_full_disk_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = _process("help", stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"moverank: No space left on device\n")
