"""Smaller, seeded runs of the benchmarks on PostgreSQL: lost connections, many writers and readers, kills."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[4]
_COMMANDS = (
    "lost_connections --samples 2 --seed 5",
    "postgres_load --seconds 4 --seed 1",
    "crash_recovery --kills 6 --seed 2 --store postgresql",
)


@pytest.mark.usefixtures("postgres")  # skips where no server can be run
def test_benchmarks_find_no_fault() -> None:
    command = [sys.executable, "-m", "tests.indexer.side_by_side", *_COMMANDS]
    process = subprocess.run(command, cwd=_ROOT, capture_output=True, check=False, env=os.environ, timeout=600)
    assert process.returncode == 0, process.stdout.decode() + process.stderr.decode()
