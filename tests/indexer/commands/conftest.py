"""The program, and collections for it: each is created once for each process and copied for each test."""

from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from moverank import Collection, Settings, cli
from moverank.indexer.store import open_store
from tests.indexer.commands.program import WORDS, Call, program, write_documents
from tests.postgres_store import copied


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `moverank` with arguments."""
    return program(monkeypatch, capsys)


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word2vec text file: words on a spiral, so that neighbours in the list are near."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rows = [f"{word} {i % 5}.5 {i * 0.25} {i % 3} 1" for i, word in enumerate(WORDS)]
    path.write_text(f"{len(rows)} 4\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """The file of the documents in `collection`."""
    path = tmp_path / "documents.jsonl"
    write_documents(path)
    return path


@pytest.fixture(scope="session")
def prepared_empty(tmp_path_factory: pytest.TempPathFactory, vectors: Path) -> Path:
    """The collection that `empty` copies."""
    path = tmp_path_factory.mktemp("prepared") / "empty"
    Collection.create(path, Settings(embedding=str(vectors), rank="")).close()
    return path


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, vectors: Path) -> Path:
    """The collection that `collection` copies."""
    folder = tmp_path_factory.mktemp("prepared")
    write_documents(folder / "documents.jsonl")
    path = folder / "collection"
    command = ["index", folder / "documents.jsonl", "-i", path, "--embedding", vectors]
    result = CliRunner(env={"MOVERANK_INDEX": None}).invoke(cli.app, list(map(str, command)))
    assert result.exit_code == 0, result.output
    with closing(open_store(path)) as store, store.writing() as writer:
        writer.set_origins([{"id": id_, "source": None, "file": None} for id_ in list(writer.ids())])
    return path


@pytest.fixture
def empty(prepared_empty: Path, tmp_path: Path) -> Path:
    """A collection with word vectors but no documents."""
    return copied(prepared_empty, tmp_path / "empty_collection")


@pytest.fixture
def collection(prepared: Path, tmp_path: Path) -> Path:
    """A collection of ten documents, whose source is unknown: a program added them."""
    return copied(prepared, tmp_path / "collection")
