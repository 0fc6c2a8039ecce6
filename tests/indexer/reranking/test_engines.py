"""Six vector engines, end to end: filled with documents and vectors, their candidates ranked by exact distance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Embedding, Part, Ranking, Reranker
from tests.engines.vector_engines import ENGINES, Found, Item, Nearest, Vectors
from tests.indexer.world import NO_VECTOR, STOP_WORDS, VECTORS, WORDS, CollectionFactory, Twin

COUNT, CANDIDATES, K = 60, 30, 10
QUERY = "cat dog gnu lark lark zorp"


def _documents() -> list[Document]:
    """Return documents whose keys, texts and metadata an engine may spoil."""
    rng = np.random.default_rng(5)
    made = []
    for i in range(COUNT):
        words = " ".join([*rng.choice(WORDS, rng.integers(1, 7)), NO_VECTOR[i % 2]])
        metadata: dict[str, Any] = {"page": i, "price": i / 4, "open": i % 3 == 0, "site": 'l\'été "a", \\ 50%'}
        made.append(Document(f"d/{i} ü'\"%", parts=(Part(f"{words}\n\t— “日本” {{}} $1 \\"),), metadata=metadata))
    return made


@dataclass(frozen=True)
class World:
    """An engine and a collection of the same documents, their brute force, and the vector of the query."""

    nearest: Nearest
    collection: Collection
    twin: Twin
    vector: Vectors

    @property
    def candidates(self) -> list[Found]:
        return self.nearest(self.vector, CANDIDATES)


def _vector(twin: Twin, parts: tuple[Part, ...]) -> Vectors:
    """Return the centroid (d,) of the words, of unit length; it stands for the vector of any encoder."""
    bag = twin.bag(parts, 0.0)
    assert bag
    return (bag.centroid / np.linalg.norm(bag.centroid)).astype(np.float32)


@pytest.fixture(scope="module", params=ENGINES)
def world(
    request: pytest.FixtureRequest, factory: CollectionFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    if request.param == "pgvector":
        request.getfixturevalue("postgres")
    documents = _documents()
    twin = Twin.of(documents)
    items = [Item(one.key, one.parts[0].text, one.metadata) for one in documents]
    vectors = np.array([_vector(twin, one.parts) for one in documents])
    with (
        engine.filled(items, vectors, tmp_path_factory.mktemp("engine")) as nearest,
        factory.empty() as collection,
    ):
        collection.index(documents)
        yield World(nearest, collection, twin, _vector(twin, (Part(QUERY),)))


def test_candidates_are_the_nearest_and_come_back_as_they_were_stored(world: World) -> None:
    stored = {document.key: document for document in world.twin.documents.values()}
    cosines = {key: float(_vector(world.twin, one.parts) @ world.vector) for key, one in stored.items()}
    found = world.candidates
    assert len({one.item.key for one in found}) == CANDIDATES
    for one, expected in zip(found, sorted(cosines.values(), reverse=True), strict=False):
        document = stored[one.item.key]
        assert one.item == Item(document.key, document.parts[0].text, document.metadata)
        assert one.score == pytest.approx(cosines[document.key], abs=1e-5)
        assert one.score == pytest.approx(expected, abs=1e-5)  # the indexes here are exact, or nearly so
    assert len(world.nearest(world.vector, 2 * COUNT)) == COUNT


def _check_brute_force(ranking: Ranking, world: World, keys: list[str]) -> None:
    """Check that all candidates are ranked, the first `K` of them by their distances as POT computes them."""
    expected = {key: distance for key, distance in world.twin.distances(QUERY).items() if key in keys}
    assert len(expected) == len(keys) == CANDIDATES
    assert {hit.key for hit in ranking.hits} == set(keys)
    assert ranking.certified
    assert ranking.scope == "candidates"
    for hit, nearest in zip(ranking.hits[:K], sorted(expected.values()), strict=False):
        assert hit.exact
        assert keys[hit.candidate or 0] == hit.key
        assert hit.distance == pytest.approx(expected[hit.key], rel=1e-6)
        assert hit.distance == pytest.approx(nearest, rel=1e-6)
    assert all(hit.metadata == world.twin.documents[hit.key].metadata for hit in ranking.hits)


def test_keys_of_candidates_are_ranked_as_brute_force_ranks_them(world: World) -> None:
    keys = [one.item.key for one in world.candidates]
    _check_brute_force(world.collection.rerank(QUERY, keys, k=K), world, keys)


def test_texts_of_candidates_are_ranked_as_brute_force_ranks_them(world: World) -> None:
    found = [one.item for one in world.candidates]
    documents = [Document(one.key, parts=(Part(one.text),), metadata=one.metadata) for one in found]
    reranker = Reranker(Embedding.of(WORDS, VECTORS), frozenset(STOP_WORDS), rank="wmd")
    _check_brute_force(reranker.rank(QUERY, documents, k=K), world, [one.key for one in found])


def test_scores_of_the_engine_are_the_term_vector(world: World) -> None:
    found = world.candidates
    scores = {one.item.key: one.score for one in found}
    ranking = world.collection.rerank(QUERY, list(scores), scores=scores, rank="vector")
    in_order = [scores[hit.key] for hit in ranking.hits]
    assert in_order == sorted(scores.values(), reverse=True)
    once, twice = (
        world.collection.rerank(QUERY, list(scores), scores=scores, rank=f"wmd+{weight}*vector").hits
        for weight in (1, 2)
    )
    totals = {hit.key: hit.total for hit in once}
    low, high = min(scores.values()), max(scores.values())
    for hit in twice:
        assert dict(hit.parts)["vector"] == pytest.approx(scores[hit.key])
        cost = (high - scores[hit.key]) / (high - low)
        assert (hit.total or 0) - (totals[hit.key] or 0) == pytest.approx(cost, abs=1e-9)
