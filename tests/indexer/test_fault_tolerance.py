"""Smaller, seeded runs of the benchmarks of crashes, concurrent access, damage, full disks and malformed input."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import mutation_fuzzing

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
_COMMANDS = (
    f"crash_recovery --kills 7 --seed {sys.version_info.minor}",  # one of each operation, others on another Python
    "concurrent_access --seconds 2",
    f"damage --samples 8 --seed {sys.version_info.minor}",
    "full_disk --limit --step 90000 --work index",
)


def test_benchmarks_find_no_fault() -> None:
    command = [sys.executable, "-m", "tests.indexer.side_by_side", *_COMMANDS]
    process = subprocess.run(command, cwd=_ROOT, capture_output=True, check=False, env=os.environ, timeout=600)
    assert process.returncode == 0, process.stdout.decode() + process.stderr.decode()


@pytest.mark.parametrize("kind", ["jsonl", "threads", "csv", "mbox"])
def test_mutated_records_are_rejected_and_intact_ones_read(kind: str, tmp_path: Path) -> None:
    row = mutation_fuzzing.fuzz_records(kind, 1000, random.Random(7), tmp_path)  # noqa: S311 - a sample, no secret
    assert row[-1] == "ok", row


@pytest.mark.parametrize("name", mutation_fuzzing.vector_samples())
def test_mutated_vectors_are_imported_or_refused(name: str, tmp_path: Path) -> None:
    sample = mutation_fuzzing.vector_samples()[name]
    row = mutation_fuzzing.fuzz_vectors(name, sample, 30, random.Random(8), tmp_path)  # noqa: S311
    assert row[-1] == "ok", row
