"""Mutual proximity: its distances from a sample are exact, kept in a file, and computed once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from moverank import Collection, Document
from moverank.rerank.distance.nearest import all_distances
from moverank.rerank.ranking import Ranking
from tests.indexer.world import CollectionFactory, MakeCollection, Twin, document, random_documents

RANK = "wmd:proximity=gaussian"
QUERY = "ant bee fox"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return random_documents(40, seed=5)


@pytest.fixture
def collection(factory: CollectionFactory, documents: list[Document]) -> Iterator[Collection]:
    """Return a collection that is partly in a snapshot, partly in the tail."""
    with factory.partly_stored(documents[:30], documents) as collection:
        yield collection


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of distances computed from now on."""
    counts, solve = list[int](), all_distances

    def counting(query: Any, bags: Any, vectors: Any) -> Any:
        counts.append(len(bags))
        return solve(query, bags, vectors)

    monkeypatch.setattr("moverank.indexer.search.sampled_distances.all_distances", counting)
    return counts


def _totals(ranking: Ranking) -> dict[str, float]:
    assert ranking.certified
    return {hit.key: hit.total or 0.0 for hit in ranking.hits}


def _file(collection: Collection) -> Path:
    (file,) = collection.path.glob("sample-*")
    return file


@pytest.mark.slow
def test_totals_are_those_of_all_distances(collection: Collection, documents: list[Document]) -> None:
    """With fewer documents than the sample has, it is all of them."""
    twin = Twin.of(documents)
    own = twin.distances(QUERY)
    among = {one.key: twin.distances(one.parts[0].text) for one in documents if one.key in own}
    found = _totals(collection.search(QUERY, k=50, exact=True, rank=RANK))
    assert found.keys() == own.keys()
    for key, distance in own.items():
        above = 1.0
        for distances in (own, {other: value for other, value in among[key].items() if value > 1e-12}):
            values = np.array([*distances.values()])
            above *= norm(values.mean(), values.std(ddof=1)).sf(distance)
        assert found[key] == pytest.approx(1 - above, abs=1e-6)


@pytest.mark.slow
def test_distances_are_computed_once_and_for_new_documents(
    collection: Collection, documents: list[Document], solved: list[int]
) -> None:
    before = _totals(collection.search(QUERY, k=50, exact=True, rank=RANK))
    assert sum(solved) > 40 * 39
    for again in (collection, Collection.open(collection.path)):
        solved.clear()
        assert _totals(again.search(QUERY, k=50, exact=True, rank=RANK)) == before
        assert sum(solved) <= 40 * 2  # those of the query, once for each segment
    again.close()
    solved.clear()
    collection.index([*documents, document("new", "ant gnu hen")])
    collection.remove(["d3"])
    after = _totals(collection.search(QUERY, k=50, exact=True, rank=RANK))
    assert sum(solved) <= 40 * 3
    assert after.keys() == before.keys() - {"d3"} | {"new"}
    unchanged = after.keys() & before.keys()
    # The sample still has the removed document: nothing else changes.
    assert {key: after[key] for key in unchanged} == pytest.approx({key: before[key] for key in unchanged})


@pytest.mark.slow
def test_the_sample_is_chosen_again_when_the_collection_has_grown(collection: Collection, solved: list[int]) -> None:
    collection.search(QUERY, rank=RANK)
    collection.index([document(f"more{one.key}", one.parts[0].text) for one in random_documents(60, seed=9)])
    solved.clear()
    collection.search(QUERY, rank=RANK)
    assert sum(solved) > 95 * 95


@pytest.mark.slow
def test_a_damaged_or_unwritable_file_is_computed_again(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _totals(collection.search(QUERY, k=50, exact=True, rank=RANK))
    content = _file(collection).read_bytes()
    for damaged in (content[:-9], content[:200] + b"x" + content[201:], b""):
        _file(collection).write_bytes(damaged)
        with Collection.open(collection.path) as again:
            assert _totals(again.search(QUERY, k=50, exact=True, rank=RANK)) == pytest.approx(expected)
        assert _file(collection).read_bytes() != damaged
    _file(collection).unlink()

    def fail(*_: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr("moverank.indexer.files.arrays.atomic_file", fail)
    with Collection.open(collection.path) as again:
        assert _totals(again.search(QUERY, k=50, exact=True, rank=RANK)) == pytest.approx(expected)


@pytest.mark.slow
def test_an_interrupted_run_continues(collection: Collection, solved: list[int]) -> None:
    def interrupt(task: str, done: int, total: int | None, unit: str) -> None:
        assert (task, unit) == ("Computing mutual proximity", "distances")
        if total and done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection.prepare(rank=RANK, progress=interrupt)
    first = sum(solved)
    solved.clear()
    collection.prepare(rank=RANK)
    assert 0 < sum(solved) < 0.75 * (first + sum(solved))
    solved.clear()
    collection.prepare(rank=RANK)
    assert not solved


@pytest.mark.slow
def test_many_queries_and_similar_documents(collection: Collection) -> None:
    texts = [QUERY, "elk", "gnu hen"]
    for text, ranking in zip(texts, collection.search_many(texts, rank=RANK), strict=True):
        assert _totals(ranking) == _totals(collection.search(text, rank=RANK))
    keys = ["d1", "d35"]
    for key, ranking in zip(keys, collection.similar_many(keys, rank=RANK), strict=True):
        assert _totals(ranking) == _totals(collection.similar(key, rank=RANK))
        explained = collection.explain(QUERY, key, rank=RANK)
        total = _totals(collection.search(QUERY, k=50, exact=True, rank=RANK))[key]
        assert explained.total == pytest.approx(total)
        why = collection.why_not(QUERY, key, k=1, rank=RANK)
        assert why.distance == pytest.approx(total)


def test_words_of_one_vector_are_one_word(make_collection: MakeCollection, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("ant 1 0\nbee 1 0\ncat 0 1\ndog 0 1\nelk 1 1\n")
    collection = make_collection(embedding=str(vectors))
    texts = ["ant bee cat", "bee dog dog", "elk cat", "ant ant elk", "dog elk"]
    collection.index([document(f"d{i}", text) for i, text in enumerate(texts)])
    found, renamed = (_totals(collection.search(text, rank=RANK)) for text in ("ant cat elk", "bee dog elk"))
    assert found == renamed
    assert len(found) == 5
