"""Words weighted by the lengths of their vectors: brute force over the raw file, and the texts' vectors of a model."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moverank import Collection, Document, Embedding, Part, Reranker
from moverank.indexer.errors import UsageError
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.vectors.importing import import_vectors
from tests.indexer.vectors.static_models import write_model
from tests.indexer.world import (
    NO_VECTOR,
    WORDS,
    CollectionFactory,
    MakeCollection,
    random_documents,
    snapshot_above,
)

Weighted = dict[str, float]
RANKINGS = ("wmd:weights=norm", "pwmd:gamma=0.5,weights=norm", "chamfer:weights=norm", "rwmd:weights=norm")


def _raw(file: Path) -> dict[str, list[float]]:
    """Read the words and numbers of a text file of vectors."""
    lines = [line.split() for line in file.read_text().splitlines()[1:]]
    return {word: [float(number) for number in numbers] for word, *numbers in lines}


def _length(row: Sequence[float]) -> float:
    return math.sqrt(sum(number * number for number in row))


def _weighted(parts: Sequence[tuple[str, int]], raw: Mapping[str, Sequence[float]], gamma: float) -> Weighted:
    """Return the share of each word: its count in parts of each rank, times the length of its vector."""
    amounts: Weighted = {}
    for text, rank in parts:
        for word in text.split():
            if word in raw:
                amounts[word] = amounts.get(word, 0.0) + (1 / (1 + rank)) ** gamma * _length(raw[word])
    total = sum(amounts.values())
    return {word: amount / total for word, amount in amounts.items()}


def _distance(kind: str, one: Weighted, other: Weighted, raw: Mapping[str, Sequence[float]]) -> float:
    """Return the distance of two bags; the cost is the chord between unit vectors."""

    def unit(word: str) -> list[float]:
        return [number / _length(raw[word]) for number in raw[word]]

    cost = np.array([[math.dist(unit(first), unit(second)) for second in other] for first in one])
    left, right = np.array(list(one.values())), np.array(list(other.values()))
    sides = float(left @ cost.min(axis=1)), float(right @ cost.min(axis=0))
    if kind in ("rwmd", "chamfer"):
        return max(sides) if kind == "rwmd" else sum(sides)
    return float(ot.emd2(left, right, cost))


def _expected(
    rank: str, query: Sequence[tuple[str, int]], documents: Sequence[Document], raw: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    kind, gamma = rank.partition(":")[0], 0.5 if "gamma=0.5" in rank else 0.0
    bag = _weighted(query, raw, gamma)
    found = {one.key: _weighted([(part.text, part.rank) for part in one.parts], raw, gamma) for one in documents}
    return {key: _distance(kind, bag, own, raw) for key, own in found.items() if own}


def _check(hits: Sequence[Any], expected: Mapping[str, float]) -> None:
    """Check that the hits are the nearest documents, at their distances."""
    best = sorted(expected.values())[: len(hits)]
    assert [hit.distance for hit in hits] == pytest.approx(best, rel=1e-6, abs=1e-9)
    for hit in hits:
        assert hit.distance == pytest.approx(expected[hit.key], rel=1e-6, abs=1e-9)


def _documents(count: int) -> list[Document]:
    return random_documents(count, "dog fox fox", "zorp hen", seed=3)


@pytest.mark.parametrize("own", ["tf", "norm"])
@pytest.mark.parametrize("rank", RANKINGS)
@pytest.mark.parametrize("changes", [0, 1000])
def test_search_is_brute_force_over_the_file(
    rank: str, own: str, changes: int, factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, documents = _raw(factory.vectors), _documents(40)
    snapshot_above(monkeypatch, changes)
    with factory.filled(documents[:30], normalize=True, weights=own) as collection:
        snapshot_above(monkeypatch, 1000)
        collection.index(documents[30:])
        found = collection.search("ant bee gnu zorp", k=7, exact=True, rank=rank)
        assert found.certified
        _check(found.hits, _expected(rank, [("ant bee gnu", 0)], documents, raw))
        alike = collection.similar("d3", k=7, exact=True, rank=rank)
        parts = [(part.text, part.rank) for part in documents[3].parts]
        others = [one for one in documents if one.key != "d3"]
        _check(alike.hits, _expected(rank, parts, others, raw))
        assert alike.certified
        some = collection.search("ant bee gnu", k=3, depth=12, rank=rank)
        every = _expected(rank, [("ant bee gnu", 0)], documents, raw)
        assert all(hit.distance == pytest.approx(every[hit.key]) for hit in some.hits)
        if some.certified:
            _check(some.hits, every)
        assert check_collection(collection.path).sentences() == ()


def test_explain_shows_the_masses(factory: CollectionFactory) -> None:
    raw = _raw(factory.vectors)
    with factory.filled([Document("d", "", (Part("cat cat dog"),))], normalize=True) as collection:
        found = collection.explain("ant bee", "d", rank="wmd:weights=norm")
    left, right = _weighted([("ant bee", 0)], raw, 0.0), _weighted([("cat cat dog", 0)], raw, 0.0)
    for side, expected in (("source", left), ("target", right)):
        sums = dict.fromkeys(expected, 0.0)
        for flow in found.flows:
            sums[getattr(flow, side)] += flow.mass
        assert sums == pytest.approx(expected)
    assert found.distance == pytest.approx(_distance("wmd", left, right, raw))


TEXTS = st.lists(st.sampled_from([*WORDS, *NO_VECTOR]), min_size=1, max_size=8).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=12), TEXTS, st.integers(1, 6))
def test_reranker_is_brute_force(factory: CollectionFactory, texts: list[str], query: str, k: int) -> None:
    raw = _raw(factory.vectors)
    embedding = Embedding.of(list(raw), np.array(list(raw.values())), normalize=True)
    reranker = Reranker(embedding, "none", rank="wmd", weights="norm", language="none")
    assume(any(word in raw for word in query.split()))
    expected = _expected("wmd", [(query, 0)], [Document(str(i), "", (Part(one),)) for i, one in enumerate(texts)], raw)
    found = reranker.rank(query, texts, k=k)
    nearest = [hit for hit in found.hits[:k] if not hit.wordless]
    assert len(nearest) == min(k, len(expected))
    assert all(hit.exact for hit in nearest)
    _check(nearest, expected)


@pytest.mark.parametrize("weights", ["tf", "norm"])
def test_every_home_has_the_same_distances(weights: str, factory: CollectionFactory) -> None:
    """A search, its stored candidates, and a reranker of the collection, of a file and of vectors in memory."""
    documents, rank, raw = _documents(12), "wmd:weights=norm", _raw(factory.vectors)
    with factory.filled(documents, normalize=True, weights=weights) as collection:
        hits = {hit.key: hit.distance for hit in collection.search("ant bee", k=12, exact=True, rank=rank).hits}
        stored = collection.rerank("ant bee", list(hits), rank=rank)
        assert {hit.key: hit.distance for hit in stored.hits} == pytest.approx(hits)
        texts = {one.key: one for one in documents}
        rerankers = [
            Reranker.load(collection.path),
            Reranker.load(factory.vectors, normalize=True),
            Reranker(Embedding.of(list(raw), np.array(list(raw.values())), normalize=True)),
        ]
    for reranker in rerankers:
        found = reranker.rank("ant bee", texts, rank=rank)
        assert {hit.key: hit.distance for hit in found.hits} == pytest.approx(hits)


def test_a_sum_has_both(factory: CollectionFactory) -> None:
    documents = _documents(20)
    with factory.filled(documents, normalize=True) as collection:
        alone = collection.search("ant bee", k=20, exact=True, rank="wmd:weights=norm")
        both = collection.search("ant bee", k=5, exact=True, rank="wmd:weights=norm+0.5*bm25+cosine")
    expected = {hit.key: hit.distance for hit in alone.hits}
    assert both.certified
    assert {hit.key: hit.distance for hit in both.hits} == pytest.approx(
        {hit.key: expected[hit.key] for hit in both.hits}
    )


def test_words_with_a_zero_vector_keep_some_mass(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("3 2\nant 3 4\nbee 0 1\nnil 0 0\n")
    reranker = Reranker.load(tmp_path / "v.txt", normalize=True, weights="norm", rank="wmd")
    found = reranker.rank("ant", ["nil", "bee nil", "ant nil"])
    assert [(hit.key, round(hit.distance, 6)) for hit in found.hits] == [
        ("2", 0.0),
        ("1", round(math.dist((0.6, 0.8), (0, 1)), 6)),
        ("0", 1.0),
    ]


def test_a_compound_has_the_mean_length_of_its_parts() -> None:
    embedding = Embedding.of(["apfel", "Kuchen"], [[3.0, 4.0], [0.0, 2.0]], "de", normalize=True)
    words = ["apfelkuchen", "kuchen", "apfel", "zorp"]
    assert embedding.lengths_of(words) == pytest.approx([3.5, 2.0, 5.0, 0.0])


# Refusals


def test_vectors_that_are_not_scaled_are_refused(make_collection: MakeCollection, factory: CollectionFactory) -> None:
    remedy = "refit --embedding FILE --setting normalize=yes"
    collection = make_collection(_documents(3))
    with pytest.raises(UsageError, match=remedy):
        collection.search("ant", rank="wmd:weights=norm")
    with pytest.raises(UsageError, match=remedy):
        collection.change_settings(weights="norm")
    with pytest.raises(UsageError, match=remedy):
        make_collection(weights="norm")
    with pytest.raises(UsageError, match=remedy):
        make_collection(rank="wmd:weights=norm+bm25")
    with pytest.raises(UsageError, match="normalize=True"):
        Reranker.load(factory.vectors, weights="norm")
    with pytest.raises(UsageError, match=remedy):
        Reranker.load(factory.vectors).rank("ant", ["bee"], rank="wmd:weights=norm")
    with pytest.raises(UsageError, match=remedy):
        make_collection(embedding="lsi", normalize=False, weights="norm")
    with pytest.raises(UsageError, match="static embedding model"):
        make_collection(embedding="lsi", weights="model")
    with pytest.raises(UsageError, match="static embedding model"):
        make_collection(normalize=True, weights="model")
    with pytest.raises(UsageError, match="must be tf, tfidf, norm or model, not 'length'"):
        make_collection(weights="length")


def test_vectors_of_a_collection_with_such_weights_are_not_replaced_by_others(
    make_collection: MakeCollection, factory: CollectionFactory
) -> None:
    collection = make_collection(_documents(3), normalize=True, weights="norm")
    with pytest.raises(UsageError, match="length 1"):
        collection.refit(embedding=str(factory.vectors), normalize=False)
    assert collection.search("ant", rank="wmd").certified


def test_pairs_with_far_words_have_no_lengths(make_collection: MakeCollection) -> None:
    collection = make_collection(_documents(5), normalize=True)
    assert len(collection.pairs(k=3, rank="wmd:weights=norm").pairs) == 3
    with pytest.raises(UsageError, match="ignore them"):
        collection.pairs(k=3, rank="wmd:weights=norm", unknown="far")


# Static embedding models


@pytest.mark.parametrize("kind", ["model2vec", "weights", "mapping"])
def test_a_text_has_the_vector_that_the_model_gives_it(kind: str, tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec, an oracle, is not installed")
    source = write_model(tmp_path / "m", kind)
    embedding = import_vectors(str(source), tmp_path / "out")
    for text in ("the mains plug gets hot", "unplug plugs hotly abba abba", "plug plug replugs", "socket"):
        counts = Counter(text.split())
        weights = np.array(list(counts.values())) * embedding.lengths_of(list(counts), summed=True)
        mean = weights @ embedding.known(list(counts))[1].astype(np.float64)
        expected = model2vec.StaticModel.from_pretrained(source).encode(text).astype(np.float64)
        assert mean / np.linalg.norm(mean) == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


def test_the_weights_of_a_model_make_its_cosine(tmp_path: Path) -> None:
    """The cosine of two texts by the model itself, found by the centroids of a reranker."""
    model2vec = pytest.importorskip("model2vec", reason="model2vec, an oracle, is not installed")
    source = write_model(tmp_path / "m", "weights")
    texts = ["the mains plug gets hot", "warm socket", "unplug plugs hotly", "cat sleeps", "abba replugs the cat"]
    reranker = Reranker.load(source, stop_words="none", language="none")
    query, *others = model2vec.StaticModel.from_pretrained(source).encode(["the hot plugs", *texts])
    expected = [1 - float(query @ one) / float(np.linalg.norm(query) * np.linalg.norm(one)) for one in others]
    found = reranker.rank("the hot plugs", texts, rank="cosine:weights=model")
    cosines = {hit.candidate: dict(hit.parts)["cosine"] for hit in found.hits}
    assert cosines == pytest.approx(dict(enumerate(expected)), abs=1e-5)


def test_composed_words_have_the_length_of_their_mean_and_their_sum(tmp_path: Path) -> None:
    source = write_model(tmp_path / "m", "weights")
    raw = import_vectors(str(source), tmp_path / "raw", normalize=False)
    unit = import_vectors(str(source), tmp_path / "unit")
    words = ["plug", "plugs", "replugs", "zebra"]
    means = np.linalg.norm(raw.spread(words)[0].astype(np.float64), axis=1)
    assert unit.lengths_of(words) == pytest.approx(means, rel=1e-6)
    assert unit.lengths_of(words, summed=True) == pytest.approx(means * [1, 2, 3, 0], rel=1e-6)


def test_a_collection_of_a_model_is_weighted_by_it(tmp_path: Path, factory: CollectionFactory) -> None:
    source = write_model(tmp_path / "m", "weights")
    texts = ["the mains plug gets hot", "warm socket", "unplug plugs hotly", "cat sleeps"]
    documents = [Document(f"d{i}", "", (Part(text),)) for i, text in enumerate(texts)]
    with Collection.create(tmp_path / "c", factory.settings(embedding=str(source), weights="model")) as collection:
        collection.index(documents)
        found = collection.search("hot plugs", k=4, exact=True, rank="wmd")
        reranked = Reranker.load(tmp_path / "c").rank("hot plugs", texts, rank="wmd")
        norm = collection.search("hot plugs", k=4, exact=True, rank="wmd:weights=norm")
    assert found.certified
    distances = {hit.key: hit.distance for hit in found.hits}
    assert {f"d{hit.candidate}": hit.distance for hit in reranked.hits} == pytest.approx(distances)
    assert {hit.key: hit.distance for hit in norm.hits} != pytest.approx(distances)
