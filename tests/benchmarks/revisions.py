"""Runs the same script with the package as it is now and as it was in a git revision."""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.common import ROOT, Run, run_process
from tests.golden.unpacking import SAFELY

NOW = "now"


@contextmanager
def versions(revision: str) -> Iterator[dict[str, Path]]:
    """Yield the root folders of `revision` and of the working tree, by name; exit if there is no such revision."""
    command = ["git", "archive", revision]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        sys.exit(archive.stderr.decode())
    with TemporaryDirectory() as directory:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(directory, **SAFELY)  # noqa: S202 - of our own repository
        yield {revision: Path(directory), NOW: ROOT}


def run_version(root: Path, command: Sequence[str | Path]) -> Run:
    """Run Python with the package below `root`, and measure the process."""
    found = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(root / ".src")
    try:
        return run_process([sys.executable, *command])
    finally:
        if found is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = found
