"""A server of small collections, shared by the tests that do not change them."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")

from moverank import Collection, Document, Part
from tests.indexer.plugins.serving.running import RunningServer
from tests.postgres_store import copied, new_place

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

WORDS = "cat dog bird fish train bus car plane apple bread cheese wine red green blue river".split()  # noqa: SIM905

THREADS = [
    {
        "id": "t1",
        "title": "Dog and cat",
        "body": "the dog sleeps near the cat",
        "comments": [{"text": "my bird sings", "rank": 1}, {"text": "wine and cheese", "rank": 2}],
        "label": "pets",
        "year": 2020,
    },
    {
        "id": "t2",
        "title": "Late train",
        "body": "the train was late again",
        "comments": [{"text": "take the bus"}],
        "year": 2021,
    },
    {"id": "a/b", "title": "<script>alert(1)</script>", "body": "red wine & green apple", "comments": [], "year": 2022},
    {"id": "t4", "title": "Nothing", "body": "zzz qqq", "comments": []},
]


_prepared: list[Path] = []
"""The directory of the collection of which the tests of this process get copies, once it is made."""


def make_collection(directory: Path, name: str = "pets") -> Path:
    """Return the directory of a new collection of the threads; `vectors.txt` beside it has its word vectors."""
    index = directory / f"{name}.index"
    if index.exists():  # it names a schema of PostgreSQL
        return _indexed(index)
    if not _prepared:
        _prepared.append(_indexed(new_place(Path(tempfile.mkdtemp(dir=directory.parent)) / "prepared.index")))
    shutil.copy(_prepared[0].parent / "vectors.txt", directory)
    return copied(_prepared[0], index)


def _indexed(index: Path) -> Path:
    """Index the threads in a new collection by the command line, and return its directory."""
    vectors, file = index.with_name("vectors.txt"), index.with_name("threads.jsonl")
    rows = [f"{word} {i % 5}.5 {i * 0.25} {i % 3} 1" for i, word in enumerate(WORDS)]
    vectors.write_text(f"{len(rows)} 4\n" + "\n".join(rows) + "\n")
    file.write_text("".join(json.dumps(thread) + "\n" for thread in THREADS))
    command = [sys.executable, "-m", "moverank", "threads", file, "-i", index, "--embedding", vectors]
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    return index


def index_planes(directory: Path, *keys: str) -> None:
    """Add documents of known words to a collection, by another process than the server."""
    with Collection.open(directory, wait=30) as pets:
        pets.index([Document(key, "", (Part("a plane"),)) for key in keys])


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """Return a collection with a watch that every document of known words matches."""
    directory = make_collection(tmp_path)
    with Collection.open(directory) as pets:
        pets.watch("all", "dog", 1000.0)
    return directory


@pytest.fixture(scope="session")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_collection(tmp_path_factory.mktemp("pets"))


@pytest.fixture(scope="session")
def server(pets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer("-i", pets, "--read-only", log=tmp_path_factory.mktemp("server") / "log")
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def writable(tmp_path: Path) -> Iterator[RunningServer]:
    running = RunningServer("-i", make_collection(tmp_path), log=tmp_path / "log")
    yield running
    running.stop()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium; tests are skipped without it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    if _CHROMIUM is None:
        pytest.skip("needs Chromium, as Debian's package `chromium`")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield chromium
        chromium.close()
