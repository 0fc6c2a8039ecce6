"""Any sequence of edits gives the results of indexing the final state from scratch, and those of brute force."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank import Collection, Document, Part
from moverank.rerank.ranking import Distance
from tests.indexer.stored_state import stored_frequencies
from tests.indexer.world import (
    NO_VECTOR,
    STOP_WORDS,
    WORDS,
    CollectionFactory,
    Twin,
    check_exact,
    check_sound,
    document,
    snapshot_above,
)
from tests.samples import examples

pytestmark = pytest.mark.store

KEYS = ("a", "b", "c", "d", "e")
# Stop words, words without a vector, and words of many documents.
_WORD = st.sampled_from([*WORDS, *WORDS[:3], *NO_VECTOR, *STOP_WORDS])
_TEXT = st.lists(_WORD, max_size=4).map(" ".join)
_METADATA = st.fixed_dictionaries(
    {}, optional={"year": st.integers(1999, 2001), "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2)}
)
_DOCUMENT = st.builds(
    Document,
    key=st.sampled_from(KEYS),
    title=st.sampled_from(["", "one", "two"]),
    parts=st.lists(st.builds(Part, _TEXT, st.integers(0, 3)), max_size=3).map(tuple),
    label=st.sampled_from([None, "red", "blue"]),
    metadata=_METADATA,
)
_BATCH = st.lists(_DOCUMENT, max_size=4)


@dataclass(frozen=True)
class Edit:
    """One run over a collection: it indexes the `batch`, or edits or removes the documents of `keys`.

    A snapshot is written after more than `small_tail` changes.
    """

    kind: str
    batch: Sequence[Document]
    keys: Sequence[str]
    small_tail: int

    def apply(self, collection: Collection, twin: Twin) -> None:
        """Edit a collection and its twin, and check the reported changes."""
        present = [key for key in dict.fromkeys(self.keys) if key in twin.documents]
        if self.kind == "remove":
            changes = collection.remove(present)
            assert changes.removed == len(present)
            for key in present:
                del twin.documents[key]
            return
        before = dict(twin.documents)
        batch = {"index": self.batch, "prune": self.batch}.get(self.kind) or [
            _edited(twin.documents[key], self.kind) for key in present
        ]
        latest = {one.key: one for one in batch}
        prune = self.kind == "prune" and bool(batch)
        changes = collection.index(batch, prune=prune, confirmed=True)
        if prune:
            twin.documents = {key: twin.documents[key] for key in twin.documents if key in latest}
        twin.add(batch)
        assert changes.added == len(latest.keys() - before.keys())
        assert changes.removed == (len(before.keys() - latest.keys()) if prune else 0)
        assert changes.unchanged == sum(before.get(key) == one for key, one in latest.items())
        assert changes.documents == len(latest)
        assert changes.wordless == sum(twin.bag(one.parts, 0) is None for one in latest.values())


def _edited(one: Document, kind: str) -> Document:
    if kind == "rank":
        return replace(one, parts=tuple(replace(part, rank=(part.rank + 2) % 4) for part in one.parts))
    if kind == "text":
        return replace(one, parts=(*one.parts[1:], Part("elk fox zorp", 1)))
    if kind == "order":
        return replace(one, parts=one.parts[::-1])
    return replace(one, title=one.title + "!", label="green", metadata={"year": 2002})


_KINDS = ("index", "index", "prune", "remove", "rank", "text", "order", "shown", "again")
_EDIT = st.builds(
    Edit,
    st.sampled_from(_KINDS),
    _BATCH,
    st.lists(st.sampled_from(KEYS), min_size=1, max_size=3),
    st.integers(0, 3),
)
_CHOICES = st.fixed_dictionaries(
    {
        "weights": st.sampled_from(["tf", "tfidf"]),
        "gamma": st.sampled_from([0.0, 0.75]),
        "faiss": st.sampled_from(["IDMap2,Flat", "HNSW32", "SQ8", "IVF2,Flat", "PCA2,Flat"]),
    }
)
_ALL_KINDS = [
    Edit("index", [document("a", "ant bee", "cat"), document("b", "dog zorp"), document("c", "of")], KEYS, 0),
    Edit("rank", [], ["a"], 3),
    Edit("remove", [], ["b"], 3),
    Edit("index", [document("b", "elk"), document("d", "ant ant", label="red")], KEYS, 3),
    Edit("text", [], ["a", "d"], 0),
    Edit("prune", [document("a", "ant bee", "cat")], KEYS, 0),
    Edit("remove", [], ["a"], 0),
    Edit("index", [document("e", "fox")], KEYS, 3),
]


def _sizes(collection: Collection) -> dict[str, Any]:
    info = collection.info()
    return {name: info[name] for name in ("documents", "parts", "wordless", "words", "known_words", "fields")}


def _check(collection: Collection, twin: Twin, gamma: float) -> None:
    """Check the content and the results of a collection against its twin."""
    assert collection.info()["documents"] == len(twin.documents)
    assert stored_frequencies(collection) == twin.frequencies()
    for used in (gamma, 0.5):
        distance: Distance = "pwmd" if used else "wmd"
        expected = twin.distances("ant bee elk zorp", gamma=used)
        check_exact(collection.search("ant bee elk zorp", k=99, exact=True, gamma=used), expected, 99)
        check_exact(collection.search("ant bee elk", k=2, gamma=used), twin.distances("ant bee elk", gamma=used), 2)
        ranking = collection.search("dog", k=1, depth=2, gamma=used, distance=distance)
        check_sound(ranking, twin.distances("dog", gamma=used), 1)
        assert len(ranking.hits) == min(1, len(expected))
    red = {key for key, one in twin.documents.items() if one.label == "red"}
    if red:
        ranking = collection.search("cat", k=2, depth=max(2, len(red)), gamma=gamma, where={"label": ["red"]})
        expected = twin.distances("cat", gamma=gamma)
        check_exact(ranking, {key: expected[key] for key in red & expected.keys()}, 2)


@examples(0.3)
@example(_ALL_KINDS, {"weights": "tf", "gamma": 0.75, "faiss": "IDMap2,Flat"})
@example(_ALL_KINDS, {"weights": "tfidf", "gamma": 0.0, "faiss": "HNSW32"})
@given(st.lists(_EDIT, min_size=1, max_size=6), _CHOICES)
def test_any_sequence_of_edits_equals_indexing_from_scratch(
    factory: CollectionFactory, edits: list[Edit], choices: dict[str, Any]
) -> None:
    twin = Twin(weights=choices["weights"])
    with (
        factory.empty(**choices) as edited,
        factory.empty(**choices) as scratch,
        pytest.MonkeyPatch.context() as patch,
    ):
        for edit in edits:
            snapshot_above(patch, edit.small_tail)
            edit.apply(edited, twin)
            _check(edited, twin, choices["gamma"])
        scratch.index(twin.documents.values())
        assert _sizes(edited) == _sizes(scratch)
        assert stored_frequencies(edited) == stored_frequencies(scratch)
        with Collection.open(edited.path) as reopened:
            _check(reopened, twin, choices["gamma"])
        for one in twin.documents.values():
            if twin.bag(one.parts, 0) is None:
                continue
            ranking = edited.similar(one.key, k=99)
            distances = twin.distances(one, gamma=choices["gamma"])
            check_exact(ranking, {key: distance for key, distance in distances.items() if key != one.key}, 99)
            expected = scratch.similar(one.key, k=99)
            assert [hit.distance for hit in ranking.hits] == pytest.approx([hit.distance for hit in expected.hits])
