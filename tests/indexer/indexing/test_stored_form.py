"""Documents that no reader delivers, but a program may."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from moverank import Collection, Document, Part, UsageError
from moverank.indexer.indexing.stored_form import check_document
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.reading import read_documents
from tests.indexer.world import document


@pytest.mark.parametrize(
    "invalid",
    [
        document("surrogate", "ant \ud800"),
        document("metadata", "ant", metadata={"tags": ["bee", "\ud800"]}),
        document("negative", "ant", "bee", ranks=[-1, 0]),
        document("", "ant"),
    ],
    ids=["lone surrogate", "in metadata", "negative rank", "empty key"],
)
def test_invalid_documents_are_refused_and_do_no_harm(collection: Collection, invalid: Document) -> None:
    with pytest.raises(UsageError, match=r"needs a key|half of a surrogate pair|rank that is not within"):
        check_document(invalid)
    collection.index([document("a", "ant")])
    with suppress(UsageError):
        collection.index([invalid])
    assert "a" in {hit.key for hit in collection.search("ant bee", gamma=0.5).hits}


def test_any_other_text_is_valid() -> None:
    check_document(document("schlüssel", "Füße", "\U0001f600", title="Zürich", label="größe"))


@pytest.mark.parametrize("counts", [True, False])
def test_a_blank_title_is_no_damage(collection: Collection, counts: bool) -> None:
    collection.index([Document("a", " ", (Part("ant"),), title_counts=counts)])
    assert check_collection(collection.path).sentences() == ()
    assert collection.index(list(collection)).unchanged == 1


def test_metadata_changed_after_reading_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "a", "text": "ant", "tag": "bee"}\n', encoding="utf-8")
    (read,) = read_documents([str(file)])
    assert isinstance(read, Document)
    check_document(read)
    cast("dict[str, str]", read.metadata)["tag"] = "\ud800"
    with pytest.raises(UsageError, match="half of a surrogate pair"):
        check_document(read)
    with pytest.raises(UsageError, match="NUL"):
        check_document(replace(read, metadata={}, title="a\0b"))
