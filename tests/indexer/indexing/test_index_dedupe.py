"""`index` with `dedupe`: what is left out, by brute force through POT, also after interruptions."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from moverank import Changes, Collection, CollectionError, Document, PruneRefused, RecordError, Rejection, UsageError
from moverank.indexer.indexing import sync
from moverank.indexer.indexing.uncompared import UNCOMPARED
from moverank.indexer.maintenance.check import check_collection
from tests.indexer.world import TABLE, WORDS, CollectionFactory, MakeCollection, document

WITHIN = 0.7

Distances = Mapping[frozenset[str], float]


def _batches() -> list[list[Document]]:
    """Return runs of 20 documents; the later ones have also documents of before, changed and unchanged ones."""
    rng, runs, texts = np.random.default_rng(4), list[list[Document]](), dict[str, str]()
    for run in range(3):
        changed = [str(key) for key in rng.choice([*texts], 6, replace=False)] if texts else []
        unchanged = [str(key) for key in rng.choice([*texts], 4, replace=False)] if texts else []
        keys = [f"d{20 * run + i}" for i in range(20)]
        texts |= {key: " ".join(rng.choice(WORDS, rng.integers(2, 5))) for key in [*changed, *keys]}
        runs.append([document(key, texts[key]) for key in dict.fromkeys([*keys, *changed, *unchanged])])
    return runs


def _distances(documents: Iterable[Document]) -> Distances:
    """Return the distances of all pairs by POT."""
    vectors = np.array([TABLE[word] for word in WORDS])
    costs, bags = cdist(vectors, vectors), dict[str, Any]()
    for each in documents:
        counts = np.array([each.parts[0].text.split().count(word) for word in WORDS], float)
        bags[each.key] = counts / counts.sum()
    return {frozenset(pair): float(ot.emd2(bags[pair[0]], bags[pair[1]], costs)) for pair in combinations(bags, 2)}


def _left_out(before: Sequence[str], new: Sequence[str], distances: Distances) -> list[str]:
    """Return which new keys, visited in this order, are near a key that is kept already."""
    kept, left_out = [*before], list[str]()
    for key in new:
        near = any(distances[frozenset((key, other))] <= WITHIN for other in kept)
        (left_out if near else kept).append(key)
    return left_out


def _check_guarantees(new: Iterable[str], left_out: Iterable[str], kept: Sequence[str], distances: Distances) -> None:
    """Check that no new document is near a kept one, and that each document left out is."""
    for key in set(new) - set(left_out):
        assert all(distances[frozenset((key, other))] > WITHIN for other in kept if other != key)
    for key in left_out:
        assert key not in kept
        assert any(distances[frozenset((key, other))] <= WITHIN for other in kept)


class _Run:
    """One run with `dedupe`, whose duplicates it records."""

    def __init__(self, collection: Collection, documents: Sequence[Document | Rejection], **options: Any) -> None:
        self.listed: list[tuple[str, str]] = []
        more: dict[str, Any] = {"dedupe": WITHIN} | options
        self.changes = collection.index(documents, changed=lambda *each: self.listed.append(each), **more)
        self.left_out = [key for change, key in self.listed if change == "duplicate"]


@pytest.mark.slow
def test_runs_leave_out_what_brute_force_does(make_collection: MakeCollection) -> None:
    collection, stored = make_collection(rank="wmd", weights="tf"), dict[str, Document]()
    total = 0
    for documents in _batches():
        now = {each.key: each for each in documents}
        unchanged = {key for key, each in now.items() if stored.get(key) == each}
        new = [key for key in stored if key in now and key not in unchanged]  # visited first: they keep their ids
        new += [key for key in now if key not in stored]
        before = [key for key in stored if key not in new]
        distances = _distances([*({**stored, **now}).values()])
        assert min(abs(distance - WITHIN) for distance in distances.values()) > 1e-6
        run = _Run(collection, documents)
        expected = _left_out(before, new, distances)
        assert sorted(run.left_out) == sorted(expected)
        kept = list(collection.keys())
        assert set(kept) == {*before, *new} - set(expected)
        _check_guarantees(new, run.left_out, kept, distances)
        updated = [key for key in new if key in stored and key not in expected]
        assert run.changes == Changes(
            added=sum(key not in stored for key in new if key not in expected),
            updated=len(updated),
            unchanged=len(unchanged),
            duplicates=len(expected),
            revision=collection.revision,
        )
        assert run.changes.documents == len(documents)
        stored = {key: each for key, each in {**stored, **now}.items() if key in kept}
        total += len(expected)
    assert total > 15
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.parametrize("settings", [{"rank": "wmd"}, {"gamma": 0.75}, {"weights": "tfidf"}], ids=str)
def test_a_run_on_the_same_records_ends_in_the_same_collection(
    make_collection: MakeCollection, settings: dict[str, Any]
) -> None:
    collection = make_collection(**settings)
    documents = [document(each.key, each.parts[0].text, "kiwi ant", title="lark") for each in _batches()[0]]
    first = _Run(collection, documents)
    kept = [*collection]
    again = _Run(collection, documents)
    assert first.left_out
    assert sorted(again.left_out) == sorted(first.left_out)
    assert [*collection] == kept
    assert (again.changes.unchanged, again.changes.added) == (len(kept), 0)
    assert not collection.dedupe(WITHIN).removed or settings == {"weights": "tfidf"}


def test_documents_that_were_there_before_stay(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("a", "ant bee"), document("b", "ant bee"), document("c", "fox")])
    run = _Run(collection, [document("n", "bee ant"), document("c", "ant bee"), document("m", "fox")])
    assert sorted(run.left_out) == ["c", "n"]  # the changed document goes, with its new text
    assert list(collection.keys()) == ["a", "b", "m"]
    assert (run.changes.added, run.changes.updated, run.changes.duplicates) == (1, 0, 2)
    assert _Run(collection, []).changes == Changes(revision=run.changes.revision)


@pytest.mark.slow
def test_of_many_copies_one_stays(make_collection: MakeCollection) -> None:
    """None, if their text is near a document that was there before."""
    collection, texts = make_collection(), ["ant bee", "kiwi", "ant ant ant bee bee bee elk"]
    copies = [document(f"d{i}", texts[i % 3]) for i in range(6000)]
    collection.index([document("old", "ant bee bee bee bee bee")])
    limit = collection.explain("ant bee", "old").distance + 1e-6
    assert collection.explain("ant ant ant bee bee bee elk", "old").distance > limit
    run = _Run(collection, copies, dedupe=limit)
    assert list(collection.keys()) == ["old", "d1", "d2"]
    assert (run.changes.added, run.changes.duplicates, len(set(run.left_out))) == (2, 5998, 5998)
    assert not collection.dedupe(limit).removed


def test_words_without_a_vector_are_far_and_documents_without_words_are_not_compared(
    make_collection: MakeCollection,
) -> None:
    collection = make_collection()
    texts = {"a": "zorp", "b": "zorp", "c": "", "d": "ant zorp", "e": "ant quux", "f": "ant 5", "g": "ant 6"}
    run = _Run(collection, [document(key, text) for key, text in texts.items()])
    assert (run.changes.added, run.left_out) == (6, ["b"])


def test_runs_that_prune_or_are_strict(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("a", "ant"), document("b", "bee"), document("c", "cat")])
    documents = [document("a", "ant"), document("b", "bee"), document("n", "ant")]
    run = _Run(collection, documents, prune=True, strict=True)
    assert (run.changes.removed, run.changes.unchanged, run.left_out) == (1, 2, ["n"])
    with pytest.raises(RecordError):
        _Run(collection, [document("m", "ant"), Rejection("f", 1, "bad")], strict=True)
    with pytest.raises(PruneRefused):
        _Run(collection, [document("m", "ant")], prune=True)
    assert list(collection.keys()) == ["a", "b"]
    assert _Run(collection, []).changes.duplicates == 0


def _interrupt(task: str, done: int, total: int | None, unit: str) -> None:
    _ = done, total, unit
    if task == "Comparing":
        raise KeyboardInterrupt


def test_what_an_interrupted_run_has_not_compared_is_compared_by_the_next(make_collection: MakeCollection) -> None:
    """Not by a run without `dedupe`, whose own documents stay."""
    collection, documents = make_collection(), _batches()[0]
    expected = make_collection()
    assert _Run(expected, documents).left_out
    with pytest.raises(KeyboardInterrupt):
        _Run(collection, documents, progress=_interrupt)
    assert len(collection) == len(documents)
    collection.index([document("plain", "gnu gnu gnu gnu hen"), document("copy", "gnu gnu gnu gnu hen")])
    run = _Run(collection, [])
    assert {*collection.keys()} == {*expected.keys(), "plain", "copy"}
    assert (run.changes.added, run.changes.duplicates) == (0, len(run.left_out))
    with collection.reading() as reader:
        assert reader.settings()[UNCOMPARED] == []


def test_the_same_records_after_an_interrupted_run_are_counted_once(make_collection: MakeCollection) -> None:
    collection, documents = make_collection(), [document(f"d{i}", "ant bee") for i in range(9)]
    with pytest.raises(KeyboardInterrupt):
        _Run(collection, documents, progress=_interrupt)
    changes = _Run(collection, documents).changes
    assert (changes.added, changes.unchanged, changes.duplicates, changes.documents) == (0, 1, 8, 9)


def test_what_a_run_without_it_has_changed_stays(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("a", "ant bee"), document("far", "kiwi")])
    documents = [document(key, "ant bee") for key in ("changed", "same", "removed", "pruned")]
    with pytest.raises(KeyboardInterrupt):
        _Run(collection, documents, progress=_interrupt)
    collection.remove(["removed"])
    collection.index([document("changed", "kiwi"), document("same", "ant bee"), document("removed", "kiwi")])
    rest = [each for each in collection if each.key != "pruned"]
    collection.index([*rest, document("pruned", "ant bee")], dry_run=True)
    collection.index(rest, prune=True)
    run = _Run(collection, [document("new", "kiwi")])
    assert sorted(run.left_out) == ["new", "same"]
    assert (run.changes.added, run.changes.duplicates) == (0, 2)
    assert list(collection.keys()) == ["a", "far", "changed", "removed"]


def _events(collection: Collection) -> list[tuple[str, str]]:
    return [(event.watch, event.document) for event in collection.events()]


@pytest.mark.plugin("watching")
def test_documents_yield_events_when_they_are_stored(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("a", "ant bee")])
    collection.watch("all", "ant", 1000)
    documents = [document("b", "ant bee"), document("c", "elk fox"), document("d", "elk fox"), document("e", "gnu")]
    with pytest.raises(KeyboardInterrupt):
        _Run(collection, documents, dedupe=0.1, progress=_interrupt)
    assert _events(collection) == [("all", key) for key in "bcde"]
    runs = [_Run(collection, documents, dedupe=0.1).changes for _ in range(3)]
    assert [(run.duplicates, run.events) for run in runs] == [(2, 0), (2, 2), (2, 2)]
    assert _events(collection)[4:] == [("all", key) for key in "bdbd"]


@pytest.mark.plugin("watching")
def test_later_runs_neither_repeat_nor_add_events_of_an_interrupted_one(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("a", "ant bee")])
    collection.watch("all", "ant", 1000)
    with pytest.raises(KeyboardInterrupt):
        _Run(collection, [document("x", "elk"), document("y", "fox")], progress=_interrupt)
    collection.index([document("x", "elk"), document("y", "gnu")])
    collection.watch("late", "ant", 1000)
    assert _Run(collection, [document("q", "kiwi")], dedupe=0.1).changes.events == 2
    expected = [("all", "x"), ("all", "y"), ("all", "y"), ("all", "q"), ("late", "q")]
    assert _events(collection) == expected
    revisions = [event.revision for event in collection.events()]
    assert revisions == sorted(revisions)
    assert revisions[0] == revisions[1] < revisions[2] < revisions[3] == revisions[4]


@pytest.mark.plugin("watching")
def test_events_have_the_revision_that_stored_their_documents(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="lsi")
    collection.index([document(f"a{i}", " ".join(pair)) for i, pair in enumerate(combinations(WORDS, 2))])
    collection.watch("all", "ant", 1000)
    before = collection.revision
    later = [document(f"b{i}", " ".join([*some, f"own{i % 30}"])) for i, some in enumerate(combinations(WORDS, 3))]
    run = _Run(collection, later, dedupe=1e-6)
    assert run.changes.trained_seconds is not None
    assert run.changes.revision > before + 1
    assert {event.revision for event in collection.events()} == {before + 1}


def _fail(documents: Sequence[Document]) -> Iterator[Document]:
    yield from documents
    raise OSError("the disk is gone")


def test_documents_before_an_error_of_reading_are_compared_by_the_next_run(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "BATCH", 5)
    collection = make_collection()
    with pytest.raises(OSError, match="gone"):
        collection.index(_fail([document(f"d{i}", "ant bee") for i in range(12)]), dedupe=0.1)
    assert len(collection) == 10
    assert collection.index([], dedupe=0.1).duplicates == 9
    assert list(collection.keys()) == ["d0"]


_KILLED = """
import os, signal, sys
from moverank import Collection, Document, Part

def kill(task, done, total, unit):
    if task == "Comparing":
        os.kill(os.getpid(), signal.SIGKILL)

with Collection.open(sys.argv[1]) as collection:
    collection.index([Document(f"d{i}", parts=(Part("ant bee"),)) for i in range(9)], dedupe=0.1, progress=kill)
"""


@pytest.mark.slow
def test_a_killed_run_is_completed_by_the_next(factory: CollectionFactory) -> None:
    with factory.empty() as collection:
        path = collection.path
    process = subprocess.run([sys.executable, "-c", _KILLED, path], check=False, env=os.environ)
    assert process.returncode == -signal.SIGKILL
    with Collection.open(path) as collection:
        assert len(collection) == 9
        assert collection.index([], dedupe=0.1).duplicates == 8
        assert list(collection.keys()) == ["d0"]


def test_the_first_training_of_a_run_comes_before_the_comparison(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="lsi")
    texts = [f"{one} {other} own{i % 30}" for i, (one, other) in enumerate(zip(WORDS * 5, WORDS[1:] * 6, strict=False))]
    run = _Run(collection, [document(f"d{i}", text) for i, text in enumerate([*texts, *texts])], dedupe=1e-6)
    assert run.changes.trained_seconds is not None
    assert {f"d{i + len(texts)}" for i in range(len(texts))} <= set(run.left_out)
    assert run.changes.coverage == collection.coverage


def test_without_word_vectors_the_comparison_is_left_to_a_later_run(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="lsi")
    texts = [" ".join(pair) for pair in combinations(WORDS, 2)]
    with pytest.raises(CollectionError, match="no word vectors yet to compare them by"):
        collection.index([document("a", "ant bee"), document("b", "ant bee")], dedupe=1e-6, upkeep=False)
    run = _Run(collection, [document(f"d{i}", text) for i, text in enumerate(texts)], dedupe=1e-6)
    assert "b" in run.left_out
    assert "d0" in run.left_out  # it is "ant bee"
    assert "a" in collection


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dedupe": -1}, "must be a number of 0 or more, not -1"),
        ({"dedupe": float("nan")}, "must be a number of 0 or more, not nan"),
        ({"dedupe": float("inf")}, "must be a number of 0 or more, not inf"),
        ({"dedupe": "0.3"}, "must be a number of 0 or more, not '0.3'"),
        ({"dedupe": True}, "must be a number of 0 or more, not True"),
        ({"dedupe": 0.3, "dry_run": True}, "a dry run stores no documents to compare"),
    ],
    ids=str,
)
def test_invalid_choices_are_refused(make_collection: MakeCollection, options: dict[str, Any], message: str) -> None:
    collection = make_collection()
    with pytest.raises(UsageError, match=message):
        collection.index([document("a", "ant")], **options)
    assert not len(collection)


@pytest.mark.plugin("shards")
def test_shards_refuse_it() -> None:
    from moverank.indexer.plugins.shards.cluster import Cluster

    index: Callable[..., Changes] = Cluster.index
    with pytest.raises(UsageError, match="shards leave out no near duplicates"):
        index(object(), [], dedupe=0.3)
