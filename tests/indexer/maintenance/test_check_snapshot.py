"""A snapshot is compared with its checksums, and its content with the database."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.files.checksums import file_checksums
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from moverank.indexer.snapshot.faiss_index import build
from tests.indexer.maintenance.damage import DOCUMENTS, check_results
from tests.indexer.stored_state import change_last_byte

pytestmark = pytest.mark.usefixtures("always_compact")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["weights", "encoder", "first_stage.faiss", "vectors"])
def test_a_damaged_file_is_reported_and_repaired(any_directory: Path, file: str) -> None:
    (path,) = any_directory.glob(f"snapshot-*/{file}")
    change_last_byte(path)
    (sentence,) = check_collection(any_directory).sentences()
    assert f"{path} does not match its checksum" in sentence
    assert repair(any_directory).sentences() == ()
    check_results(any_directory)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("weights", "its bags are not those of the documents"),
        ("counts", "its bags are not those of the documents"),
        ("vectors", "its word vectors are not those of the collection"),
        ("ids", "holds values that no version writes"),
    ],
)
def test_wrong_content_with_valid_checksums_is_reported(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, file: str, message: str
) -> None:
    def change(directory: Path) -> Any:
        kind = {"weights": "<f8", "counts": "<i4", "vectors": "<f4", "ids": "<i8"}[file]
        array = np.fromfile(directory / file, kind)
        array[0] += 1
        array.tofile(directory / file)
        return file_checksums(directory)

    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.files.arrays.file_checksums", change)
        collection.index(DOCUMENTS)
    assert any(message in sentence for sentence in check_collection(collection.path).sentences())
    assert repair(collection.path).sentences() == ()


def test_a_first_stage_of_other_vectors_is_reported(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            "moverank.indexer.snapshot.faiss_index.build",
            lambda name, ids, vectors, path, **how: build(name, ids, -vectors, path, **how),
        )
        collection.index(DOCUMENTS)
    assert any(
        "the vectors of its first stage are not" in sentence
        for sentence in check_collection(collection.path).sentences()
    )
    assert repair(collection.path).sentences() == ()
