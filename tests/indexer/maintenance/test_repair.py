"""Repairs of word vectors, and the lock that a repair holds."""

import shutil
from pathlib import Path

import pytest

from moverank import Collection, LockedError
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.maintenance.repair import repair
from tests.indexer.maintenance.conftest import Indexed
from tests.indexer.maintenance.damage import execute
from tests.indexer.world import CollectionFactory, vectors_in

pytestmark = pytest.mark.usefixtures("always_compact")


def test_a_repair_needs_the_writers_lock(directory: Path) -> None:
    execute(directory, "UPDATE documents SET wordless = 1")
    with locked(directory), pytest.raises(LockedError, match="is writing to"):
        repair(directory)


@pytest.mark.sqlite("a shared database has the vectors itself")
@pytest.mark.parametrize("change", ["removed", "changed"])
def test_vectors_without_their_source_are_reported(
    indexed: Indexed, factory: CollectionFactory, tmp_path: Path, change: str
) -> None:
    source = tmp_path / "own.txt"
    shutil.copy(factory.vectors, source)
    directory = indexed(embedding=str(source))
    source.unlink()
    if change == "changed":
        source.write_text("ant 1 2\nbee 3 4\n")
    (vectors_in(directory) / "embedding.json").unlink()
    assert any("not repaired: " in sentence for sentence in repair(directory).sentences())
    assert not list(directory.glob(".vectors*"))


@pytest.mark.sqlite("a shared database has the vectors itself")
def test_trained_vectors_are_trained_again(indexed: Indexed) -> None:
    def keys() -> list[str]:
        with Collection.open(directory) as opened:
            return [hit.key for hit in opened.search("ant bee", k=5).hits]

    directory = indexed(embedding="lsi", train_options=("dim=2",))
    before = keys()
    shutil.rmtree(vectors_in(directory))
    assert repair(directory).sentences() == ()
    assert keys() == before
