"""The share of running words with a vector, compared with a count of the texts."""

from pathlib import Path

import pytest

from moverank import Collection, Document
from moverank.indexer.files.directory import CACHED
from moverank.indexer.maintenance.check import check_collection
from tests.indexer.stored_state import change_last_byte, only_snapshot
from tests.indexer.world import STOP_WORDS, TABLE, MakeCollection, document, random_documents, snapshot_above


def _counted(documents: list[Document]) -> float:
    words = [word for one in documents for part in one.parts for word in part.text.split() if word not in STOP_WORDS]
    return sum(word in TABLE for word in words) / len(words)


@pytest.fixture
def documents() -> list[Document]:
    return [*random_documents(8, "of the zorp zorp ant"), document("none", "quux the quux"), document("empty")]


def test_it_is_that_of_the_snapshot_and_later_changes(
    collection: Collection, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_above(monkeypatch, 0)
    assert collection.index(documents).coverage == collection.coverage == _counted(documents)
    snapshot_above(monkeypatch, 99)
    documents[0] = document("d0", "quux quux quux ant")
    documents += random_documents(12, "zorp ant quux")[8:]
    assert collection.index(documents).coverage == pytest.approx(_counted(documents))
    collection.remove(["d1", "d11", "none"])
    left = [one for one in documents if one.key not in ("d1", "d11", "none")]
    assert collection.coverage == collection.info()["coverage"] == pytest.approx(_counted(left))


@pytest.mark.usefixtures("always_compact")
def test_a_damaged_snapshot_is_not_used(collection: Collection, documents: list[Document]) -> None:
    collection.index(documents)
    change_last_byte(only_snapshot(collection) / "term_counts")
    with Collection.open(collection.path) as opened:
        assert opened.coverage == _counted(documents)


def test_titles_count_once(make_collection: MakeCollection) -> None:
    collection = make_collection([Document("a", "ant zorp quux", document("a", "bee").parts)], title_weight=3)
    assert collection.coverage == 0.5


def test_it_is_also_counted_by_the_step_of_the_look_up(make_collection: MakeCollection, tmp_path: Path) -> None:
    file = tmp_path / "cased.txt"
    entries = ("Apfel", "Kuchen", "kaputt", "Über")
    file.write_text("".join(f"{word} {i} 1\n" for i, word in enumerate(entries)))
    collection = make_collection(embedding=str(file), language="de")
    collection.index([document("a", "Apfel apfel Apfelkuchen kaputt ueber xyz xyz xyz xyz xyz")])
    expected = {"exact": 0.1, "case": 0.2, "marks": 0.1, "compound": 0.1}
    for _ in range(2):  # the second one is read from the cache
        info = collection.info()
        assert (info["coverage"], info["coverage_by"]) == (0.5, expected)
    collection.index([document("b", "xyz Kuchen")])
    assert collection.info()["coverage_by"] == {step: share * 10 / 12 for step, share in expected.items()} | {
        "case": 3 / 12
    }
    assert [hit.key for hit in collection.search("Apfelkuchen", rank="wmd").hits] == ["b", "a"]


@pytest.mark.usefixtures("always_compact")
def test_words_that_are_newer_than_the_snapshot_are_counted(
    make_collection: MakeCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cased.txt"
    file.write_text("Apfel 1 2\nKuchen 2 1\nBirne 3 3\n")
    collection = make_collection(embedding=str(file), language="de")
    collection.index([document("a", "Apfel"), document("b", "Kuchen Apfel")])
    snapshot_above(monkeypatch, 99)
    collection.index([document("b", "Kuchen Birne xyz")])
    assert collection.info()["coverage_by"] == {"case": 0.75}
    collection.remove(["a", "b"])
    collection.index([document("c", "Birne")])
    assert collection.info()["coverage_by"] == {"case": 1.0}


def test_trained_words_are_found_as_they_are(collection: Collection, documents: list[Document]) -> None:
    collection.index(documents)
    assert collection.info()["coverage_by"] == {"exact": _counted(documents)}


def test_without_words_or_vectors(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="auto")
    assert (collection.coverage, collection.info()["coverage"]) == (None, None)
    assert collection.index([document("stop", "of the")]).coverage is None
    assert collection.coverage is None


@pytest.mark.sqlite("its directory is checked")
def test_a_damaged_cache_is_reported_and_counted_again(collection: Collection, documents: list[Document]) -> None:
    collection.index(documents)
    path = collection.path / f"{CACHED}coverage.json"
    path.write_bytes(path.read_bytes().replace(b'"known"', b'"Known"'))
    problem = f"{path} does not match its checksum"
    assert problem in check_collection(collection.path).sentences()
    assert collection.coverage == _counted(documents)
    assert problem not in check_collection(collection.path).sentences()
