"""A directory with the files of the examples."""

import os
import shutil
from pathlib import Path

import pytest

from tests.contracts.example_files import Runner, write_files
from tests.indexer.commands.program import program
from tests.indexer.plugins.shards.local_shards import LocalShards


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name; copies of them are worked with."""
    place = tmp_path_factory.mktemp("examples")
    write_files(place)
    return place


@pytest.fixture
def runner(
    example_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    """Runs command lines in a copy of the directory of the examples."""
    monkeypatch.setattr("moverank.indexer.plugins.shards.cluster.RayShards", LocalShards)  # no extra, no processes
    monkeypatch.setattr("moverank.indexer.indexing.training.FEW_TEXTS", 2)  # the examples have few texts
    place = tmp_path / "examples"
    shutil.copytree(example_files, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return Runner(place, program(monkeypatch, capsys))
