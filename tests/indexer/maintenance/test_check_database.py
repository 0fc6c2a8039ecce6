"""Rows that contradict each other are reported; derived ones are repaired."""

from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from tests.indexer.maintenance.damage import DOCUMENTS, check_results, execute

pytestmark = pytest.mark.usefixtures("always_compact")

_DERIVED = {
    "UPDATE words SET frequency = frequency + 1 WHERE word = 'ant'": "'ant' is a word with a wrong number of documents",
    "UPDATE words SET row = 0 WHERE word = 'zorp'": "'zorp' is a word with a wrong vector, or wrongly without one",
    "UPDATE words SET row = -1 WHERE word = 'bee'": "'bee' is a word with a wrong vector, or wrongly without one",
    "UPDATE documents SET wordless = 1 WHERE key = 'd5'": "'d5' is wrongly marked as having known words, or none",
    "UPDATE parts SET counts = x'00' WHERE document_id = 2": "'d1' has impossible word counts",
}
_ORIGINAL = {
    "UPDATE parts SET text = 'other' WHERE document_id = 2": "'d1' has a part that is not what was indexed",
    "UPDATE documents SET title = 'other' WHERE key = 'd1'": "'d1' has a text, title, metadata or vector that is not",
    "UPDATE documents SET metadata = 'null' WHERE key = 'd1'": "'d1' has a text, title, metadata or vector that is not",
    "UPDATE documents SET metadata = '[1]' WHERE key = 'd1'": "'d1' has a text, title, metadata or vector that is not",
    "UPDATE fields SET value = 'y' WHERE document_id = 2 AND name = 'label'": "'d1' has filter fields other than its",
    "DELETE FROM parts WHERE document_id = 2": "'d1' has no text",
}


@pytest.mark.parametrize(("statement", "message"), _DERIVED.items())
def test_rows_that_follow_from_the_texts_are_repaired(directory: Path, statement: str, message: str) -> None:
    execute(directory, statement)
    assert any(sentence.startswith(message) for sentence in check_collection(directory).sentences())
    assert repair(directory).sentences() == ()
    check_results(directory)


@pytest.mark.parametrize(("statement", "message"), _ORIGINAL.items())
def test_a_damaged_document_is_written_again_by_the_next_run(directory: Path, statement: str, message: str) -> None:
    execute(directory, statement)
    assert any(sentence.startswith(message) for sentence in check_collection(directory).sentences())
    assert repair(directory).sentences()
    with Collection.open(directory) as opened:
        assert opened.index(DOCUMENTS).updated == 1
    assert check_collection(directory).sentences() == ()
    check_results(directory)


def test_faults_of_one_kind_are_one_sentence(directory: Path) -> None:
    execute(directory, "UPDATE documents SET wordless = 1")
    assert check_collection(directory).sentences() == (
        "'d0' is wrongly marked as having known words, or none, and 29 more",
    )


@pytest.mark.sqlite("PostgreSQL enforces foreign keys")
def test_orphaned_rows_are_reported(directory: Path) -> None:
    execute(directory, "INSERT INTO fields VALUES (999, 'a', 'b')")
    assert any("belongs to no document" in sentence for sentence in check_collection(directory).sentences())


def test_a_revision_of_the_future_is_reported(directory: Path) -> None:
    execute(directory, "UPDATE documents SET revision = 99 WHERE key = 'd1'")
    assert "'d1' was changed by a revision that does not exist" in check_collection(directory).sentences()
