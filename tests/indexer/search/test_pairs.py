"""Pairs of documents: those of brute force, whatever the snapshot, filters and interruptions."""

import os
from collections.abc import Iterator
from itertools import combinations

import pytest

from moverank import Collection, Document, UsageError
from moverank.rerank.distance.near_pairs import Limit, NearPairs, PairsOfRow
from tests.indexer.world import CollectionFactory, Twin, document, random_documents, snapshot_above


def _documents() -> list[Document]:
    first = random_documents(30, seed=4, words=4)
    same = [document(f"same{i}", first[i].parts[0].text, label="copy") for i in range(3)]
    return [*first, *same, document("none", "zorp")]


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection that is partly in a snapshot, partly in the tail."""
    with factory.empty(weights="tfidf") as collection, pytest.MonkeyPatch.context() as patch:
        snapshot_above(patch, 0)
        collection.index([*_documents()[:20], document("gone", "ant bee")])
        snapshot_above(patch, 99)
        collection.index(_documents())
        collection.remove(["gone"])
        yield collection


@pytest.fixture(scope="module")
def distances() -> dict[frozenset[str], float]:
    """Return the distances of all pairs."""
    twin = Twin.of(_documents(), "tfidf")
    texts = {key: one.parts[0].text for key, one in twin.documents.items() if key != "none"}
    rows = {key: twin.distances(text) for key, text in texts.items()}
    return {frozenset(pair): rows[pair[0]][pair[1]] for pair in combinations(texts, 2)}


def test_pairs_are_those_of_brute_force(filled: Collection, distances: dict[frozenset[str], float]) -> None:
    ordered = sorted(distances.values())
    for within, k in ((0.0, None), (ordered[40] + 1e-9, None), (None, 25), (ordered[40] + 1e-9, 10), (None, 9999)):
        found = filled.pairs(within, k, rank="wmd")
        limit = float("inf") if within is None else within + 1e-9
        expected = [distance for distance in ordered if distance <= limit][:k]
        assert [pair.distance for pair in found.pairs] == pytest.approx(expected, abs=1e-7)
        assert all(distances[frozenset(pair.keys)] == pytest.approx(pair.distance, abs=1e-7) for pair in found.pairs)
        assert len({frozenset(pair.keys) for pair in found.pairs}) == len(found.pairs)
        assert found.compared == len(distances)
    assert not list(filled.path.glob("pairs-*"))
    recent, forgotten = filled.path / "pairs-recent", filled.path / "pairs-forgotten"
    for file in (recent, forgotten):
        file.touch()
    os.utime(forgotten, (1, 1))
    assert filled.pairs(k=1).pairs
    assert list(filled.path.glob("pairs-*")) == [recent]
    recent.unlink()


def test_filters_and_clusters(filled: Collection) -> None:
    found = filled.pairs(0.0)
    assert {pair.keys for pair in found.pairs} >= {("d0", "same0"), ("d1", "same1"), ("d2", "same2")}
    assert {"d0", "same0"} <= set(next(group for group in found.clusters if "d0" in group))
    sizes = [len(group) for group in found.clusters]
    assert sizes == sorted(sizes, reverse=True)
    assert len(filled.pairs(k=99, where=["label=copy"]).pairs) == 3
    assert not filled.pairs(k=9, where=["label=nothing"]).pairs


@pytest.mark.parametrize("options", [{"within": 2.0}, {"k": 30}])
def test_an_interrupted_run_continues(
    filled: Collection, options: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = filled.pairs(**options)  # type: ignore[arg-type]

    def interrupt(task: str, done: int, total: int | None, unit: str) -> None:
        assert (task, total, unit) == ("Comparing", 33, "documents")
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.pairs(**options, progress=interrupt)  # type: ignore[arg-type]
    (file,) = filled.path.glob("pairs-*")
    rows, run = list[int](), NearPairs.run

    def counted(self: NearPairs, first: int, limit: Limit) -> Iterator[PairsOfRow]:
        rows.append(first)
        return run(self, first, limit)

    monkeypatch.setattr(NearPairs, "run", counted)
    assert filled.pairs(**options).pairs == expected.pairs  # type: ignore[arg-type]
    assert rows == [20]
    file.write_bytes(b"damaged")
    assert filled.pairs(**options).pairs == expected.pairs  # type: ignore[arg-type]
    assert rows == [20, 0]


def test_invalid_arguments_are_refused(filled: Collection) -> None:
    with pytest.raises(UsageError, match="the largest distance of a pair"):
        filled.pairs()
    with pytest.raises(UsageError, match="must be a number of 0 or more"):
        filled.pairs(-1.0)
    with pytest.raises(UsageError, match="k must be a whole number of 1 or more"):
        filled.pairs(k=0)
    for rank in ("bm25", "rwmd", "wmd+bm25", "wmd:mu=3"):
        with pytest.raises(UsageError, match="compared by wmd or pwmd"):
            filled.pairs(1.0, rank=rank)
