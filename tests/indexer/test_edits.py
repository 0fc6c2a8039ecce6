"""Any sequence of edits gives what indexing the final state from scratch gives, and what brute force gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from moverank import Collection, Document, Part
from moverank.rerank.ranking import Distance
from tests.indexer.world import (
    NO_VECTOR,
    STOP_WORDS,
    WORDS,
    Twin,
    Workshop,
    check_exact,
    check_honest,
    document,
    stored_frequencies,
)

KEYS = ("a", "b", "c", "d", "e")
# Words that are stop words, or have no vector, or are common to many documents.
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
    """One run over a collection: documents of `batch`, or `keys` for those that are edited or removed."""

    kind: str
    batch: Sequence[Document]
    keys: Sequence[str]
    small_tail: int

    def apply(self, collection: Collection, twin: Twin) -> None:
        there = [key for key in dict.fromkeys(self.keys) if key in twin.documents]
        if self.kind == "remove":
            changes = collection.remove(there)
            assert changes.removed == len(there)
            for key in there:
                del twin.documents[key]
            return
        before = dict(twin.documents)
        batch = {"index": self.batch, "prune": self.batch}.get(self.kind) or [
            _edited(twin.documents[key], self.kind) for key in there
        ]
        latest = {found.key: found for found in batch}
        prune = self.kind == "prune" and bool(batch)
        changes = collection.index(batch, prune=prune)
        if prune:
            twin.documents = {key: twin.documents[key] for key in twin.documents if key in latest}
        twin.add(batch)
        assert changes.added == len(latest.keys() - before.keys())
        assert changes.removed == (len(before.keys() - latest.keys()) if prune else 0)
        assert changes.unchanged == sum(before.get(key) == found for key, found in latest.items())
        assert changes.documents == len(latest)
        assert changes.wordless == sum(twin.bag(found.parts, 0) is None for found in latest.values())


def _edited(found: Document, kind: str) -> Document:
    if kind == "rank":
        return replace(found, parts=tuple(replace(part, rank=(part.rank + 2) % 4) for part in found.parts))
    if kind == "text":
        return replace(found, parts=(*found.parts[1:], Part("elk fox zorp", 1)))
    if kind == "order":
        return replace(found, parts=found.parts[::-1])
    return replace(found, title=found.title + "!", label="green", metadata={"year": 2002})


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
_LIFE = [
    Edit("index", [document("a", "ant bee", "cat"), document("b", "dog zorp"), document("c", "of")], KEYS, 0),
    Edit("rank", [], ["a"], 3),
    Edit("remove", [], ["b"], 3),
    Edit("index", [document("b", "elk"), document("d", "ant ant", label="red")], KEYS, 3),
    Edit("text", [], ["a", "d"], 0),
    Edit("prune", [document("a", "ant bee", "cat")], KEYS, 0),
    Edit("remove", [], ["a"], 0),
    Edit("index", [document("e", "fox")], KEYS, 3),
]


def _size(collection: Collection) -> dict[str, Any]:
    info = collection.info()
    return {name: info[name] for name in ("documents", "parts", "wordless", "words", "known_words", "fields")}


def _check(collection: Collection, twin: Twin, gamma: float) -> None:
    """Whatever is asked, nothing but what the twin holds is found, where the twin has it."""
    assert collection.info()["documents"] == len(twin.documents)
    assert stored_frequencies(collection) == twin.frequencies()
    for used in (gamma, 0.5):
        distance: Distance = "pwmd" if used else "wmd"
        expected = twin.distances("ant bee elk zorp", gamma=used)
        check_exact(collection.search("ant bee elk zorp", k=99, exact=True, gamma=used), expected, 99)
        check_exact(collection.search("ant bee elk", k=2, gamma=used), twin.distances("ant bee elk", gamma=used), 2)
        ranking = collection.search("dog", k=1, depth=2, gamma=used, distance=distance)
        check_honest(ranking, twin.distances("dog", gamma=used), 1)
        assert len(ranking.hits) == min(1, len(expected))
    red = {key for key, found in twin.documents.items() if found.label == "red"}
    if red:
        ranking = collection.search("cat", k=2, depth=max(2, len(red)), gamma=gamma, where={"label": ["red"]})
        expected = twin.distances("cat", gamma=gamma)
        check_exact(ranking, {key: expected[key] for key in red & expected.keys()}, 2)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(_LIFE, {"weights": "tf", "gamma": 0.75, "faiss": "IDMap2,Flat"})
@example(_LIFE, {"weights": "tfidf", "gamma": 0.0, "faiss": "HNSW32"})
@given(st.lists(_EDIT, min_size=1, max_size=6), _CHOICES)
def test_any_sequence_of_edits_equals_indexing_from_scratch(
    workshop: Workshop, edits: list[Edit], choices: dict[str, Any]
) -> None:
    twin = Twin(weights=choices["weights"])
    with (
        workshop.empty(**choices) as edited,
        workshop.empty(**choices) as scratch,
        pytest.MonkeyPatch.context() as patch,
    ):
        for edit in edits:
            patch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", edit.small_tail)
            edit.apply(edited, twin)
            _check(edited, twin, choices["gamma"])
        scratch.index(twin.documents.values())
        assert _size(edited) == _size(scratch)
        assert stored_frequencies(edited) == stored_frequencies(scratch)
        with Collection.open(edited.path) as reopened:
            _check(reopened, twin, choices["gamma"])
        for found in twin.documents.values():
            if twin.bag(found.parts, 0) is None:
                continue
            ranking = edited.similar(found.key, k=99)
            expected = twin.distances(found, gamma=choices["gamma"])
            check_exact(ranking, {key: far for key, far in expected.items() if key != found.key}, 99)
            again = scratch.similar(found.key, k=99)
            assert [hit.distance for hit in ranking.hits] == pytest.approx([hit.distance for hit in again.hits])
