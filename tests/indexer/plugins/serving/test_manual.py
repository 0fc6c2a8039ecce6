"""The lines of the manual's page `server` run against a running server."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.documentation import PAGES, examples
from tests.contracts.example_files import write_files
from tests.indexer.plugins.serving.running import RunningServer

ADDRESS = "http://127.0.0.1:8080"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_lines_of_the_manual_run(tmp_path: Path) -> None:
    write_files(tmp_path)
    moverank = [sys.executable, "-m", "moverank"]
    vectors = ["--embedding", "glove.6B.300d.txt.gz"]
    command = [*moverank, "index", "docs.jsonl.gz", "-i", "docs.index", *vectors]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    server = RunningServer("-i", tmp_path / "docs.index", log=tmp_path / "log")
    (block,) = [one.text for one in examples(PAGES["server"]) if one.info == "shell server"]
    lines = [line.replace(ADDRESS, server.url) for line in block.splitlines()]
    assert lines[0] == "moverank serve -i docs.index"
    try:
        _run(lines[1:], tmp_path, " ".join(moverank))
    finally:
        assert server.stop() == 0


def _run(lines: list[str], directory: Path, moverank: str) -> None:
    for line in lines:
        line = line.replace("curl ", "curl -sS --fail-with-body ").replace("moverank ", f"{moverank} ")
        found = subprocess.run(line, shell=True, cwd=directory, capture_output=True, text=True, check=False)  # noqa: S602
        assert found.returncode == 0, f"{line}\n{found.stdout}{found.stderr}"
        assert found.stdout
