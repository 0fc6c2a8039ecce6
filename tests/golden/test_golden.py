"""A collection of an earlier release opens, gives the same results, and can be changed."""

import json
import tarfile
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.maintenance import check
from tests.golden.make import DIRECTORY, results
from tests.indexer.world import document


@pytest.mark.parametrize("archive", sorted(DIRECTORY.glob("collection-*.tar.xz")), ids=lambda path: path.name)
def test_a_collection_of_an_earlier_release_is_usable(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    expected = DIRECTORY / archive.name.replace("collection-", "answers-").replace(".tar.xz", ".json")
    with Collection.open(tmp_path / "golden") as collection:
        assert results(collection) == json.loads(expected.read_text())
        assert check(collection.path).sentences() == ()
        collection.index([document("new", "ant bee cat")])
        assert collection.search("ant bee cat", k=1).hits[0].key == "new"
        assert collection.info()["documents"] == 30
        collection.refit()
    assert check(tmp_path / "golden").sentences() == ()
