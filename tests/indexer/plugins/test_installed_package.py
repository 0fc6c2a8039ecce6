"""The package of the manual's page `plugins`, installed: an operation, and a store beside the scorer of another."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.indexer.world import CollectionFactory, document
from tests.rerank.encoders.packages import install, write_example

pytestmark = pytest.mark.slow
Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run `moverank` in a process in which this package and that of `encoders` are installed; return what it prints."""
    directory = tmp_path_factory.mktemp("package")
    installed = install(write_example(directory, "extras", "plugins"), directory / "installed")
    methods = install(write_example(directory), directory / "methods-installed")
    path = os.pathsep.join([str(installed), str(methods), os.environ.get("PYTHONPATH", "")])

    def run(*arguments: object, code: int = 0) -> str:
        command = [sys.executable, "-m", "moverank", *map(str, arguments)]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    texts = {"a": "ant bee", "b": "ant bee", "c": "cat dog cow", "unknown": "zorp"}
    with CollectionFactory(tmp_path).empty() as opened:
        opened.index([document(key, text) for key, text in texts.items()])
        return opened.path


def test_its_operation_is_a_command(run: Run, collection: Path) -> None:
    assert "Find the documents that have no other document within a distance." in " ".join(run("--help").split())
    assert "WITHIN" in run("lonely", "--help")
    assert json.loads(run("lonely", "0.001", "-i", collection, "--json")) == {"keys": ["c", "unknown"]}
    assert run("lonely", "0.001", "-i", collection).split() == ["keys:", "c", "unknown"]


def test_its_store_is_searched_by_the_scorer_of_another_package(run: Run, collection: Path, tmp_path: Path) -> None:
    link = tmp_path / "latest.link"
    link.write_text(f"{collection}\n")
    found = json.loads(run("search", "ant bee", "-i", link, "--rank", "jaccard", "--json"))
    assert [(hit["key"], hit["score"]) for hit in found["hits"]] == [("a", 1), ("b", 1)]
    assert json.loads(run("info", "-i", link, "--json"))["documents"] == 4
    assert len(run("list", "-i", link).splitlines()) == 4
    assert json.loads(run("lonely", "0.001", "-i", link, "--json")) == {"keys": ["c", "unknown"]}


def test_a_server_refuses_its_store_by_a_sentence(run: Run, collection: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `server` is not installed")
    pytest.importorskip("uvicorn", reason="the extra `server` is not installed")
    link = tmp_path / "latest.link"
    link.write_text(f"{collection}\n")
    said = run("serve", "-i", link, "--port", "0", code=2)
    assert said == f"moverank: {link} cannot be served: collections of the store 'link' lack 'searcher'\n"
