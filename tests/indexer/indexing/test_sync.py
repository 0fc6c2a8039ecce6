"""What a run over records writes, counts, leaves unchanged and refuses."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from moverank import Changes, Collection, Document, Part, PruneRefused, RecordError, Rejection
from moverank.indexer.maintenance.check import check_collection
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.stored_state import snapshots, stored_frequencies, stored_keys, stored_parts
from tests.indexer.world import (
    PAPER_GAMMA,
    MakeCollection,
    Twin,
    check_exact,
    document,
    random_documents,
    record_counted_texts,
)

_BAD = Rejection("posts.jsonl", 7, "it has no text", "d3")


@pytest.fixture
def forbid_counting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes reading any text for its words a failure."""

    def refuse(_: Tokenizer, text: str) -> Any:
        pytest.fail(f"{text!r} was read again")

    return lambda: monkeypatch.setattr(Tokenizer, "words", refuse)


def test_unchanged_documents_are_compared_only(
    collection: Collection, forbid_counting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [*random_documents(9), document("none", "zorp"), document("empty")]
    assert collection.index(documents) == Changes(added=11, wordless=2, revision=1)
    forbid_counting()
    for name in ("add_documents", "update_documents", "add_parts", "update_ranks", "drop_parts", "count_words"):
        monkeypatch.setattr(f"moverank.indexer.store.Writer.{name}", lambda *_: pytest.fail("it was written"))
    assert collection.index(documents) == Changes(unchanged=11, wordless=2, revision=1)
    assert collection.index(documents[:3], prune=False) == Changes(unchanged=3, revision=1)


def test_a_changed_rank_updates_ranks_only(collection: Collection, forbid_counting: Callable[[], None]) -> None:
    before = document("t", "ant bee", "cat dog", "elk", ranks=[0, 1, 2])
    collection.index([before, document("other", "fox")])
    old = stored_parts(collection, "t")
    forbid_counting()
    after = document("t", "ant bee", "cat dog", "elk", ranks=[0, 2, 1])
    assert collection.index([after]) == Changes(updated=1, revision=2)
    new = stored_parts(collection, "t")
    assert [row[3] for row in new] == [0, 2, 1]
    assert [(*row[:3], *row[4:]) for row in new] == [(*row[:3], *row[4:]) for row in old]
    twin = Twin.of([after, document("other", "fox")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tokenizer, "words", lambda _, text: text.split())
        ranking = collection.search("cat elk", gamma=PAPER_GAMMA)
    check_exact(ranking, twin.distances("cat elk", gamma=PAPER_GAMMA), 10)


@pytest.mark.parametrize(
    "change",
    [
        {"title": "new"},
        {"label": "new"},
        {"label": None},
        {"metadata": {"year": 2000}},
        {"metadata": {}},
        {"parts": (Part("cat dog", 0), Part("ant bee", 1))},
        {"parts": (Part("ant bee", 0),)},
        {"parts": ()},
    ],
)
def test_stored_texts_are_not_counted_again(
    collection: Collection, forbid_counting: Callable[[], None], change: dict[str, Any]
) -> None:
    before = document("t", "ant bee", "cat dog", title="old", label="old", metadata={"year": 1999})
    collection.index([before])
    forbid_counting()
    after = replace(before, **change)
    changes = collection.index([after])
    assert (changes.updated, changes.revision) == (1, 2)
    assert collection.index([after]).unchanged == 1
    assert collection.info()["parts"] == len(after.parts)
    assert stored_frequencies(collection) == dict.fromkeys(
        {word for part in after.parts for word in part.text.split()}, 1
    )


def test_only_the_new_part_of_a_document_is_counted(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection.index([document("t", "ant", "bee")])
    counted = record_counted_texts(monkeypatch)
    collection.index([document("t", "ant", "cat", "bee")])
    assert counted == ["cat"]
    assert stored_frequencies(collection) == {"ant": 1, "bee": 1, "cat": 1}


def test_the_last_document_of_a_key_counts(collection: Collection) -> None:
    changes = collection.index([document("a", "ant"), document("b", "bee"), document("a", "cat")])
    assert (changes.added, changes.documents) == (2, 2)
    assert stored_frequencies(collection) == {"bee": 1, "cat": 1}


def test_many_batches_equal_one(make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection, whole = make_collection(), make_collection()
    documents = [*random_documents(10), document("d1", "ant"), document("none", "of")]
    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.indexing.sync.BATCH", 4)
        changes = collection.index(iter(documents))
    assert changes == Changes(added=11, updated=1, wordless=1, revision=3)
    whole.index(documents)
    assert stored_frequencies(collection) == stored_frequencies(whole)
    hits, others = collection.search("ant bee", k=20).hits, whole.search("ant bee", k=20).hits
    assert [hit.distance for hit in hits] == pytest.approx([hit.distance for hit in others])


def test_rejected_records_are_reported_and_counted(collection: Collection) -> None:
    rejected: list[Rejection] = []
    changes = collection.index([document("a", "ant"), _BAD, document("b", "bee"), _BAD], rejected=rejected.append)
    assert (changes.added, changes.rejected, rejected) == (2, 2, [_BAD, _BAD])
    assert collection.index([_BAD]).rejected == 1


def _state(collection: Collection) -> tuple[Any, ...]:
    with collection.reading() as reader:
        words = list(reader.all_words())
    info = collection.info()
    del info["bytes"]  # the write-ahead log may have grown
    return info, words, sorted(stored_keys(collection)), snapshots(collection)


@pytest.mark.usefixtures("always_compact")
def test_a_strict_run_is_atomic(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 2)
    collection.index(random_documents(3))
    before = _state(collection)
    records: list[Document | Rejection] = [document("d0", "fox"), *random_documents(9)[3:], document("x", "zorp"), _BAD]
    with pytest.raises(RecordError, match=r"^posts.jsonl:7: it has no text; nothing was written: the run is strict$"):
        collection.index(records, strict=True, rejected=lambda _: pytest.fail("reported twice"))
    assert _state(collection) == before
    assert collection.search("fox").hits[0].distance > 0
    changes = collection.index(records[:-1], strict=True, prune=True, confirmed=True)
    assert (changes.added, changes.updated, changes.removed, changes.revision) == (7, 1, 2, 7)


def test_a_strict_first_run_that_fails_trains_nothing(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="auto")
    with pytest.raises(RecordError):
        collection.index([document("a", "ant bee"), _BAD], strict=True)
    assert collection.info()["documents"] == collection.info()["revision"] == 0
    assert not (collection.path / "vectors").exists()


def test_pruning_removes_what_the_records_do_not_contain(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 3)
    documents = random_documents(8)
    collection.index([*documents, document("none", "zorp")])
    records = [documents[1], replace(documents[4], title="new"), document("new", "ant"), documents[7], documents[2]]
    changes = collection.index(records, prune=True, confirmed=True)
    assert changes == Changes(added=1, updated=1, removed=5, unchanged=3, revision=5)
    assert stored_keys(collection) == {"d1", "d2", "d4", "d7", "new"}
    assert stored_frequencies(collection) == Twin.of(records).frequencies()
    assert collection.index(records, prune=True) == Changes(unchanged=5, revision=5)


def test_a_rejection_without_a_file_or_key_protects_every_document(collection: Collection) -> None:
    collection.index(random_documents(3))
    bad = Rejection("posts.jsonl", 7, "it has no text")
    changes = collection.index([document("new", "ant"), bad], prune=True, confirmed=True)
    assert changes == Changes(added=1, rejected=1, kept=3, revision=2)


def test_a_rejection_protects_the_document_of_its_key(collection: Collection) -> None:
    collection.index(random_documents(6))
    changes = collection.index([*random_documents(3), replace(_BAD, key="d5")], prune=True)
    assert changes == Changes(removed=2, unchanged=3, rejected=1, revision=2)
    assert stored_keys(collection) == {"d0", "d1", "d2", "d5"}


def test_pruning_more_than_half_must_be_confirmed(collection: Collection) -> None:
    collection.index(random_documents(4))
    assert collection.index(random_documents(2), prune=True).removed == 2
    before = _state(collection)
    for records in ([], [document("new", "ant")]):
        with pytest.raises(PruneRefused, match="nothing was changed: 2 of 2 documents of these sources") as refused:
            collection.index([*records, _BAD], prune=True)
        assert refused.value.changes == Changes(rejected=1, revision=2)
        assert _state(collection) == before
    assert collection.index([], prune=True, confirmed=True).removed == 2


def test_a_dry_run_changes_nothing(collection: Collection) -> None:
    collection.index(random_documents(4))
    before, changed = _state(collection), list[tuple[str, str]]()
    records = [document("new", "hen of zorp"), document("d0", "fox"), *random_documents(4)[2:]]
    arguments: dict[str, Any] = {"prune": True, "dry_run": True, "changed": lambda *change: changed.append(change)}
    assert collection.index(records, **arguments) == Changes(added=1, updated=1, removed=1, unchanged=2, revision=1)
    assert changed == [("added", "new"), ("updated", "d0"), ("removed", "d1")]
    assert _state(collection) == before
    assert collection.index(records, prune=True) == Changes(added=1, updated=1, removed=1, unchanged=2, revision=3)


def test_wordless_documents_are_stored_and_never_ranked(collection: Collection) -> None:
    wordless = [document("empty"), document("blank", " "), document("stop", "of the"), document("zorp", "zorp", "quux")]
    changes = collection.index([*wordless, document("a", "ant zorp")])
    assert (changes.added, changes.wordless) == (5, 4)
    assert (collection.info()["documents"], collection.info()["wordless"]) == (5, 4)
    assert [hit.key for hit in collection.search("ant zorp", k=9).hits] == ["a"]
    assert collection.search("ant", k=9, distance="wcd").hits[0].key == "a"
    # A wordless document may get words, and another one lose its own.
    assert collection.index([document("empty", "bee"), document("a", "zorp")]).wordless == 1
    assert [hit.key for hit in collection.search("ant", k=9).hits] == ["empty"]
    assert collection.info()["wordless"] == 4


def test_a_source_that_fails_leaves_complete_batches(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 2)
    documents = random_documents(5)

    def records() -> Iterator[Document]:
        yield from documents
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        collection.index(records())
    assert stored_keys(collection) == {"d0", "d1", "d2", "d3"}
    assert collection.index(documents) == Changes(added=1, unchanged=4, revision=3)
    check_exact(collection.search("ant bee", k=9), Twin.of(documents).distances("ant bee"), 9)


def test_stop_words_are_not_counted(make_collection: MakeCollection) -> None:
    documents = [document("a", "ant of bee")]
    one, two = make_collection(), make_collection(stop_words=("ant",))
    one.index(documents)
    two.index(documents)
    assert stored_frequencies(one) == {"ant": 1, "bee": 1}
    assert stored_frequencies(two) == {"bee": 1}


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_batches_before_a_failure_of_reading_are_committed(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 3)
    monkeypatch.setattr("moverank.indexer.indexing.sync.TRANSACTION", seconds)
    documents = random_documents(11)

    def records() -> Iterator[Document]:
        yield from documents[:8]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection.index(records())
    assert [one.key for one in collection] == [one.key for one in documents[:6]]
    assert check_collection(collection.path).sentences() == ()
    assert collection.index(documents) == Changes(added=5, unchanged=6, revision=4)
    assert check_collection(collection.path).sentences() == ()
