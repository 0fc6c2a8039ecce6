"""What a run over records writes, counts, leaves alone and refuses."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from moverank import Changes, Collection, Document, Part, PruneRefused, RecordError, Rejection, UsageError
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.world import (
    PAPER_GAMMA,
    Twin,
    check_exact,
    document,
    random_documents,
    record_counting,
    store_of,
    stored_frequencies,
    stored_parts,
)

_BAD = Rejection("posts.jsonl", 7, "it has no text", "d3")


@pytest.fixture
def no_counting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, no text is read for words."""

    def refuse(_: Tokenizer, text: str) -> Any:
        pytest.fail(f"{text!r} was read again")

    return lambda: monkeypatch.setattr(Tokenizer, "words", refuse)


def _keys(collection: Collection) -> set[str]:
    store = store_of(collection)
    with store.reading() as reader:
        keys = {found.key for found in reader.shown(list(reader.ids())).values()}
    store.close()
    return keys


def _ids(collection: Collection, *keys: str) -> list[int]:
    store = store_of(collection)
    with store.reading() as reader:
        known = reader.known(keys)
    store.close()
    return [known[key].id for key in keys]


def test_unchanged_documents_cost_a_comparison_only(
    collection: Collection, no_counting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [*random_documents(9), document("none", "zorp"), document("empty")]
    assert collection.index(documents) == Changes(added=11, wordless=2, revision=1)
    no_counting()
    for name in ("add_documents", "update_documents", "add_parts", "update_ranks", "drop_parts", "count_words"):
        monkeypatch.setattr(f"moverank.indexer.store.Writer.{name}", lambda *_: pytest.fail("it was written"))
    assert collection.index(documents) == Changes(unchanged=11, wordless=2, revision=1)
    assert collection.index(documents[:3], prune=False) == Changes(unchanged=3, revision=1)


def test_a_changed_vote_updates_ranks_only(collection: Collection, no_counting: Callable[[], None]) -> None:
    before = document("t", "ant bee", "cat dog", "elk", ranks=[0, 1, 2])
    collection.index([before, document("other", "fox")])
    old = stored_parts(collection, "t")
    no_counting()
    after = document("t", "ant bee", "cat dog", "elk", ranks=[0, 2, 1])
    assert collection.index([after]) == Changes(updated=1, revision=2)
    new = stored_parts(collection, "t")
    # (document, id, position, rank, digest, words, counts)
    assert [row[3] for row in new] == [0, 2, 1]
    assert [(*row[:3], *row[4:]) for row in new] == [(*row[:3], *row[4:]) for row in old]
    twin = Twin()
    twin.add([after, document("other", "fox")])
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
def test_what_is_stored_already_is_not_read_again(
    collection: Collection, no_counting: Callable[[], None], change: dict[str, Any]
) -> None:
    before = document("t", "ant bee", "cat dog", title="old", label="old", metadata={"year": 1999})
    collection.index([before])
    no_counting()
    after = replace(before, **change)
    changes = collection.index([after])
    assert (changes.updated, changes.revision) == (1, 2)
    assert collection.index([after]).unchanged == 1
    assert collection.info()["parts"] == len(after.parts)
    assert stored_frequencies(collection) == dict.fromkeys(
        {word for part in after.parts for word in part.text.split()}, 1
    )


def test_only_the_new_text_of_a_document_is_read(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection.index([document("t", "ant", "bee")])
    read = record_counting(monkeypatch)
    collection.index([document("t", "ant", "cat", "bee")])
    assert read == ["cat"]
    assert stored_frequencies(collection) == {"ant": 1, "bee": 1, "cat": 1}


def test_the_last_document_of_a_key_counts(collection: Collection) -> None:
    changes = collection.index([document("a", "ant"), document("b", "bee"), document("a", "cat")])
    assert (changes.added, changes.documents) == (2, 2)
    assert stored_frequencies(collection) == {"bee": 1, "cat": 1}


def test_a_run_of_many_batches(make: Callable[..., Collection], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 4)
    collection, whole = make(), make()
    documents = [*random_documents(10), document("d1", "ant"), document("none", "of")]
    changes = collection.index(iter(documents))
    assert changes == Changes(added=11, updated=1, wordless=1, revision=3)
    monkeypatch.undo()
    whole.index(documents)
    assert stored_frequencies(collection) == stored_frequencies(whole)
    hits, others = collection.search("ant bee", k=20).hits, whole.search("ant bee", k=20).hits
    assert [hit.distance for hit in hits] == pytest.approx([hit.distance for hit in others])
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 4)
    keys = [f"d{i}" for i in range(10)]
    assert collection.remove(keys).removed == 10
    assert stored_frequencies(collection) == {}


def test_ids_are_never_used_again(collection: Collection) -> None:
    collection.index([document("a", "ant"), document("b", "bee")])
    ids = _ids(collection, "a", "b")
    collection.remove(["a", "b"])
    collection.index([document("b", "bee")])
    assert _ids(collection, "b")[0] > max(ids)


def test_removing_names_what_is_not_there_and_removes_nothing(collection: Collection) -> None:
    collection.index(random_documents(3))
    with pytest.raises(KeyError, match="nothing was removed: no document has the key 'x', 'y'"):
        collection.remove(["d0", "x", "y"])
    assert _keys(collection) == {"d0", "d1", "d2"}
    assert collection.remove([]) == Changes(revision=1)
    assert collection.remove(["d0", "d0"]) == Changes(removed=1, revision=2)


def test_rejected_records_are_told_and_counted(collection: Collection) -> None:
    told: list[Rejection] = []
    changes = collection.index([document("a", "ant"), _BAD, document("b", "bee"), _BAD], rejected=told.append)
    assert (changes.added, changes.rejected, told) == (2, 2, [_BAD, _BAD])
    assert collection.index([_BAD]).rejected == 1


def _state(collection: Collection) -> tuple[Any, ...]:
    store = store_of(collection)
    with store.reading() as reader:
        words = list(reader.all_words())
    store.close()
    info = collection.info()
    # The write-ahead log may have grown: it is no content.
    del info["bytes"]
    return info, words, sorted(_keys(collection)), sorted(path.name for path in collection.path.glob("snapshot-*"))


@pytest.mark.usefixtures("always_compact")
def test_a_strict_run_writes_all_or_nothing(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 2)
    collection.index(random_documents(3))
    before = _state(collection)
    records: list[Document | Rejection] = [document("d0", "fox"), *random_documents(9)[3:], document("x", "zorp"), _BAD]
    with pytest.raises(RecordError, match=r"^posts.jsonl:7: it has no text; nothing was written: the run is strict$"):
        collection.index(records, strict=True, rejected=lambda _: pytest.fail("told twice"))
    assert _state(collection) == before
    assert collection.search("fox").hits[0].distance > 0
    changes = collection.index(records[:-1], strict=True, prune=True)
    assert (changes.added, changes.updated, changes.removed, changes.revision) == (7, 1, 2, 7)


def test_a_strict_first_run_that_fails_trains_nothing(make: Callable[..., Collection]) -> None:
    collection = make(embedding="auto")
    with pytest.raises(RecordError):
        collection.index([document("a", "ant bee"), _BAD], strict=True)
    assert collection.info()["documents"] == collection.info()["revision"] == 0
    assert not (collection.path / "vectors").exists()


def test_prune_removes_only_what_is_not_named(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 3)
    documents = random_documents(8)
    collection.index([*documents, document("none", "zorp")])
    named = [documents[1], replace(documents[4], title="new"), document("new", "ant"), documents[7], documents[2]]
    assert collection.index(named, prune=True) == Changes(added=1, updated=1, removed=5, unchanged=3, revision=5)
    assert _keys(collection) == {"d1", "d2", "d4", "d7", "new"}
    twin = Twin()
    twin.add(named)
    assert stored_frequencies(collection) == twin.frequencies()
    assert collection.index(named, prune=True) == Changes(unchanged=5, revision=5)


def test_nothing_is_pruned_after_a_rejection(collection: Collection) -> None:
    collection.index(random_documents(3))
    with pytest.raises(PruneRefused, match="nothing was pruned: 1 record was rejected") as refused:
        collection.index([document("new", "ant"), _BAD], prune=True)
    assert (refused.value.changes.added, refused.value.changes.rejected) == (1, 1)
    assert _keys(collection) == {"d0", "d1", "d2", "new"}


def test_nothing_is_pruned_by_sources_without_documents(collection: Collection) -> None:
    collection.index(random_documents(3))
    with pytest.raises(PruneRefused, match="the sources hold no document, and the collection would be emptied"):
        collection.index([], prune=True)
    assert len(_keys(collection)) == 3


def test_wordless_documents_are_kept_counted_and_never_ranked(collection: Collection) -> None:
    wordless = [document("empty"), document("blank", " "), document("stop", "of the"), document("zorp", "zorp", "quux")]
    changes = collection.index([*wordless, document("a", "ant zorp")])
    assert (changes.added, changes.wordless) == (5, 4)
    assert (collection.info()["documents"], collection.info()["wordless"]) == (5, 4)
    assert [hit.key for hit in collection.search("ant zorp", k=9).hits] == ["a"]
    assert collection.search("ant", k=9, distance="wcd").hits[0].key == "a"
    # Words may come and go.
    assert collection.index([document("empty", "bee"), document("a", "zorp")]).wordless == 1
    assert [hit.key for hit in collection.search("ant", k=9).hits] == ["empty"]
    assert collection.info()["wordless"] == 4


def test_a_source_that_fails_midway_leaves_whole_batches(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 2)

    def records() -> Iterator[Document]:
        yield from random_documents(5)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        collection.index(records())
    assert _keys(collection) == {"d0", "d1", "d2", "d3"}
    assert collection.index(random_documents(5)) == Changes(added=1, unchanged=4, revision=3)
    twin = Twin()
    twin.add(random_documents(5))
    check_exact(collection.search("ant bee", k=9), twin.distances("ant bee"), 9)


def test_another_stop_list_is_another_reading(make: Callable[..., Collection]) -> None:
    documents = [document("a", "ant of bee")]
    one, two = make(), make(stop_words=("ant",))
    one.index(documents)
    two.index(documents)
    assert stored_frequencies(one) == {"ant": 1, "bee": 1}
    assert stored_frequencies(two) == {"bee": 1}


@pytest.mark.parametrize(
    "bad",
    [document("surrogate", "ant \ud800"), document("negative", "ant", "bee", ranks=[-1, 0])],
    ids=["lone surrogate", "negative rank"],
)
def test_a_document_that_cannot_be_meant_is_refused_or_harmless(collection: Collection, bad: Document) -> None:
    """A program may hand over what no reader would."""
    collection.index([document("a", "ant")])
    with suppress(UsageError):
        collection.index([bad])
    assert "a" in {hit.key for hit in collection.search("ant bee", gamma=0.5).hits}
