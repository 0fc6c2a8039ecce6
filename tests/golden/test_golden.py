"""A collection made by an earlier release opens, answers as it did then, and goes on."""

import json
import tarfile
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.maintenance import check
from tests.golden.make import HERE, answers
from tests.indexer.world import document


@pytest.mark.parametrize("archive", sorted(HERE.glob("collection-*.tar.xz")), ids=lambda path: path.name)
def test_an_old_collection(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    told = archive.name.replace("collection-", "answers-").replace(".tar.xz", ".json")
    with Collection.open(tmp_path / "golden") as collection:
        assert answers(collection) == json.loads((HERE / told).read_text())
        assert check(collection.path).told() == ()
        collection.index([document("new", "ant bee cat")])
        assert collection.search("ant bee cat", k=1).hits[0].key == "new"
        assert collection.info()["documents"] == 30
        collection.refit()
    assert check(tmp_path / "golden").told() == ()
