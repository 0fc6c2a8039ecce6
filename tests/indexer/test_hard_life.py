"""A seeded, smaller form of the scripts about crashes, damage, full disks and hostile input."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import hostile

_SCRIPTS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("kills.py", ["--kills", "6", "--seed", "3"]),
        ("readers.py", ["--seconds", "3"]),
        ("damage.py", ["--samples", "12", "--seed", "4"]),
        ("full_disk.py", ["--limit", "--step", "60000", "--work", "index"]),
    ],
)
def test_a_script_finds_nothing_wrong(script: str, arguments: list[str]) -> None:
    command = [sys.executable, str(_SCRIPTS / script), *arguments]
    done = subprocess.run(command, capture_output=True, check=False, env=os.environ, timeout=600)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("kind", ["jsonl", "threads", "csv", "mbox"])
def test_malformed_records_are_refused_and_the_rest_is_read(kind: str, tmp_path: Path) -> None:
    row = hostile.records(kind, 1000, random.Random(7), tmp_path)  # noqa: S311 - a sample, no secret
    assert row[-1] == "ok", row


@pytest.mark.parametrize("what", hostile.samples())
def test_malformed_vectors_are_refused(what: str, tmp_path: Path) -> None:
    row = hostile.vector_files(what, hostile.samples()[what], 30, random.Random(8), tmp_path)  # noqa: S311
    assert row[-1] == "ok", row
