"""Vectors trained on the collection's own texts follow the texts; imported ones never change by themselves."""

from collections.abc import Sequence

import pytest

from moverank import Collection, Document
from moverank.indexer.indexing import automatic_training, training
from moverank.indexer.indexing.automatic_training import needs_training
from moverank.indexer.indexing.vectors_change import Training
from moverank.indexer.snapshot.cached_coverage import Coverage
from tests.indexer.stored_state import snapshots
from tests.indexer.world import WORDS, MakeCollection, document, random_documents, snapshot_above


@pytest.fixture(autouse=True)
def few_texts_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "FEW_TEXTS", 2)


def _numbered(numbers: Sequence[int]) -> list[Document]:
    """Return a document of four words for each number, two of which no other document has."""
    return [document(f"n{i}", f"own{i} {WORDS[i % 12]} other{i} {WORDS[i % 5]}") for i in numbers]


@pytest.mark.parametrize(
    ("now", "last", "due"),
    [
        (Coverage(200, 190, {}), Training(100, 100, "lsi"), True),  # doubled
        (Coverage(199, 190, {}), Training(100, 100, "lsi"), False),
        (Coverage(4_000_000, 3_900_000, {}), Training(1_000_000, 1_000_000, "lsi"), False),  # doubled, but large
        (Coverage(4_000_000, 3_100_000, {}), Training(3_000_000, 3_000_000, "lsi"), True),  # under 80 %
        (Coverage(100, 79, {}), Training(100, 100, "lsi"), True),  # other texts have replaced those
        (Coverage(100, 80, {}), Training(100, 100, "lsi"), False),
        (Coverage(100, 69, {}), Training(90, 63, "lsi"), False),  # low by choice
        (Coverage(100, 62, {}), Training(90, 63, "lsi"), True),
        (Coverage(100, 0, {}), Training(90, 0, "lsi"), False),  # training again would not help
        (Coverage(0, 0, {}), Training(90, 90, "lsi"), False),
    ],
)
def test_training_is_due_when_the_texts_have_doubled_or_too_few_words_are_known(
    now: Coverage, last: Training, due: bool
) -> None:
    assert needs_training(now, last) is due


def test_vectors_are_trained_again_while_a_collection_grows(make_collection: MakeCollection) -> None:
    collection, fresh = make_collection(embedding="auto"), make_collection(embedding="auto")
    trainings = [
        changes.trained_seconds is not None
        for end in (3, 40, 45, 60, 90, 110)
        for changes in [collection.index(_numbered(range(end)))]
    ]
    assert trainings == [True, True, False, False, True, False]
    collection.remove([f"n{i}" for i in range(90, 110)])
    fresh.index(_numbered(range(90)))
    assert (collection.coverage, collection.settings) == (1.0, fresh.settings)
    for query in ("own1 ant", "own39 bee cat"):
        found, expected = (
            {hit.key: round(hit.distance, 6) for hit in each.search(query, k=99).hits} for each in (collection, fresh)
        )
        assert found == expected


def test_an_unchanged_collection_is_not_trained_again(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="train", train_options=("dim=3", "min_count=3", "epochs=1"))
    before = collection.index(_numbered(range(20))).coverage
    assert before == 0.375  # by choice: the rare words have no vectors
    for _ in range(2):
        changes = collection.index(_numbered(range(21)))
        assert changes.trained_seconds is None
        assert changes.coverage == pytest.approx(before, abs=0.02)


def test_large_collections_are_trained_again_only_if_words_are_unknown(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic_training, "LARGE", 10)
    collection = make_collection(random_documents(30), embedding="auto")
    assert collection.index(random_documents(90)).trained_seconds is None
    changes = collection.index(_numbered(range(99)))
    assert (changes.trained_seconds is None, changes.coverage) == (False, 1.0)


def test_no_snapshot_of_replaced_vectors_is_left(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = make_collection(embedding="auto")
    snapshot_above(monkeypatch, 0)
    collection.index(_numbered(range(4)))
    assert len(snapshots(collection)) == 1
    snapshot_above(monkeypatch, 99)
    assert collection.index(_numbered(range(20))).trained_seconds is not None
    assert snapshots(collection) == []
    assert collection.search("own19", k=1).hits[0].key == "n19"


def test_imported_vectors_are_never_replaced(collection: Collection) -> None:
    collection.index(random_documents(3))
    changes = collection.index(_numbered(range(50)))
    assert (changes.trained_seconds, changes.coverage) == (None, (15 + 100) / (15 + 200))


def test_too_few_words_leave_the_old_vectors(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="lsi", train_options=("min_count=3",))
    collection.index([document("a", "ant ant ant bee bee bee")])
    changes = collection.index([document("a", "cat dog elk fox gnu hen")])
    assert (changes.trained_seconds, changes.coverage, changes.wordless) == (None, 0.0, 1)
    assert len(collection.embedding.words) == 2
