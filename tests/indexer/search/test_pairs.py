"""Pairs of documents: those of brute force, whatever the snapshot, filters and interruptions."""

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import ot
import pytest
from numpy.typing import NDArray

from moverank import Collection, Document, Part, UsageError
from moverank.indexer.files.arrays import read_arrays, write_arrays
from moverank.indexer.operations.operation import Work
from moverank.indexer.operations.pairs import FindPairs
from moverank.indexer.search.near_documents import Deduplication, Pairs
from moverank.indexer.values.pair_options import PairOptions
from moverank.rerank.distance.near_pairs import Limit, NearPairs, PairsOfRow
from moverank.rerank.distance.near_words import NearWords
from moverank.rerank.errors import OutOfTime, TooLarge
from tests.indexer.world import (
    TABLE,
    WORDS,
    CollectionFactory,
    Twin,
    document,
    interrupt_at,
    pair_distances,
    random_documents,
)


def _documents() -> list[Document]:
    first = random_documents(30, seed=4, words=4)
    same = [document(f"same{i}", first[i].parts[0].text, label="copy") for i in range(3)]
    return [*first, *same, document("none", "zorp")]


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection that is partly in a snapshot, partly in the tail."""
    with factory.partly_stored(_documents()[:20], _documents(), weights="tfidf") as collection:
        yield collection


@pytest.fixture(scope="module")
def distances() -> dict[frozenset[str], float]:
    """Return the distances of all pairs."""
    return pair_distances(Twin.of(_documents(), "tfidf"))


def check_pairs(found: Pairs, within: float | None, k: int | None, expected: dict[frozenset[str], float]) -> None:
    """Check that the pairs are the `k` nearest ones of those `expected`, within a distance."""
    limit = math.inf if within is None else within
    wanted = sorted(distance for distance in expected.values() if distance <= limit)[:k]
    assert [pair.distance for pair in found.pairs] == pytest.approx(wanted, abs=1e-7)
    assert all(expected[frozenset(pair.keys)] == pytest.approx(pair.distance, abs=1e-7) for pair in found.pairs)
    assert len({frozenset(pair.keys) for pair in found.pairs}) == len(found.pairs)


def test_pairs_are_those_of_brute_force(filled: Collection, distances: dict[frozenset[str], float]) -> None:
    ordered = sorted(distances.values())
    for within, k in ((0.0, None), (ordered[40] + 1e-9, None), (None, 25), (ordered[40] + 1e-9, 10), (None, 9999)):
        found = filled.pairs(within, k, rank="wmd")
        check_pairs(found, None if within is None else within + 1e-9, k, distances)
        assert found.compared == len(distances)
    assert not list(filled.path.glob("pairs-*"))
    recent, forgotten = filled.path / "pairs-recent", filled.path / "pairs-forgotten"
    for file in (recent, forgotten):
        file.touch()
    os.utime(forgotten, (1, 1))
    assert filled.pairs(k=1).pairs
    assert list(filled.path.glob("pairs-*")) == [recent]
    recent.unlink()


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("normalize", [False, True])
def test_words_without_a_vector_are_far(factory: CollectionFactory, weights: str, *, normalize: bool) -> None:
    """Costs by the manual's formula, transport by POT, all pairs; some documents have only unknown words."""
    rng = np.random.default_rng(7)
    texts = [" ".join(rng.choice([*WORDS[:7], "zorp", "quux", "2011", "2018"], 5)) for _ in range(22)]
    texts += ["2011 zorp", "2018 zorp", "2011", "ant 2011", "ant 2018"]
    with factory.empty(weights=weights, normalize=normalize) as collection:
        collection.index([document(f"d{i}", text) for i, text in enumerate(texts)])
        collection.index([document("gone", "quux hen")])
        collection.remove(["gone"])
        every = collection.pairs(k=9999, rank=f"wmd:weights={weights}", unknown="far")
        expected = _far_distances(texts, weights, normalize=normalize)
        found = {tuple(int(key[1:]) for key in pair.keys): pair.distance for pair in every.pairs}
        assert found == pytest.approx(expected, abs=1e-6)
        for within in np.quantile([*expected.values()], [0.05, 0.3]) + 1e-6:
            some = collection.pairs(float(within), rank=f"wmd:weights={weights}", unknown="far")
            assert len(some.pairs) == sum(distance <= within for distance in expected.values())
        first = collection.pairs(k=9, rank=f"wmd:weights={weights}", unknown="far", where=["key^=d"])
        assert [pair.distance for pair in first.pairs] == pytest.approx(sorted(expected.values())[:9], abs=1e-6)
        with pytest.raises(UsageError, match="ignored or far, not 'near'"):
            collection.pairs(1.0, unknown="near")


def _far_distances(texts: list[str], weights: str, *, normalize: bool) -> dict[tuple[int, int], float]:
    words = sorted({word for text in texts for word in text.split()})
    table = {word: TABLE[word] / (np.linalg.norm(TABLE[word]) if normalize else 1) for word in words if word in TABLE}
    length = np.mean([np.linalg.norm(vector) for vector in table.values()])

    def cost(one: str, other: str) -> float:
        if one == other:
            return 0.0
        if one in table and other in table:
            return float(np.linalg.norm(table[one] - table[other]))
        return float(np.linalg.norm([np.linalg.norm(table.get(word, [length])) for word in (one, other)]))

    costs = np.array([[cost(one, other) for other in words] for one in words])
    counts = np.array([[text.split().count(word) for word in words] for text in texts], float)
    if weights == "tfidf":
        counts *= np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    bags = counts / counts.sum(axis=1, keepdims=True)
    return {(i, j): float(ot.emd2(bags[i], bags[j], costs)) for i, j in combinations(range(len(texts)), 2)}


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["wmd", "wmd:mu=3+cosine"])
def test_pairs_of_equal_distances_are_in_the_order_of_documents(factory: CollectionFactory, rank: str) -> None:
    """Documents of the same words in another order have distances that differ in the last digits."""
    rng = np.random.default_rng(3)
    texts = [rng.choice(WORDS, 5) for _ in range(6)]
    with factory.empty() as collection:
        collection.index(document(f"d{i:02}", " ".join(rng.permutation(texts[i % 6]))) for i in range(30))
        every = collection.pairs(k=999, rank=rank).pairs
        distances = [pair.distance for pair in every]
        assert distances == sorted(distances)
        assert [pair.keys for pair in every] == [
            pair.keys for pair in sorted(every, key=lambda pair: (round(pair.distance, 9), pair.keys))
        ]
        for k in range(60, 200, 28):
            assert [pair.keys for pair in collection.pairs(k=k, rank=rank).pairs] == [pair.keys for pair in every[:k]]


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
    with pytest.raises(KeyboardInterrupt):
        filled.pairs(**options, progress=interrupt_at(20, "Comparing", 33, "documents"))  # type: ignore[arg-type]
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


def test_words_are_compared_once(filled: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on the same documents share the near words; another filter has its own."""
    compared, of = list[int](), NearWords.of

    def counted(vectors: NDArray[np.float32], *others: Any) -> NearWords:
        compared.append(len(vectors))
        return of(vectors, *others)

    monkeypatch.setattr(NearWords, "of", counted)
    filled.refresh()
    rank = "wmd:weights=tf"
    expected = filled.pairs(k=30, rank=rank).pairs
    assert len(compared) == 1
    assert filled.pairs(within=expected[-1].distance, rank=rank).pairs[:29] == expected[:29]
    assert len(compared) == 1
    filled.pairs(k=3, rank=rank, where="label=copy")
    filled.pairs(k=3, rank=rank, unknown="far")
    assert len(compared) == 3


def test_a_run_with_another_title_weight_begins_again(factory: CollectionFactory) -> None:
    with factory.empty() as collection:
        texts = [each.parts[0].text for each in random_documents(30, seed=4, words=4)]
        collection.index([Document(f"d{i}", text[:9], (Part(text),)) for i, text in enumerate(texts)])
        with pytest.raises(KeyboardInterrupt):
            collection.pairs(1.0, progress=interrupt_at(20))
        collection.change_settings(title_weight=9)
        assert collection.pairs(1.0).pairs == collection.pairs(1.0).pairs


@pytest.mark.parametrize("unknown", ["ignored", "far"])
def test_a_run_on_other_documents_of_the_same_revision_begins_again(factory: CollectionFactory, unknown: str) -> None:
    """A database that is restored from a backup has other documents with the ids and the revision of lost ones."""
    with factory.empty() as lost, factory.empty() as restored:
        for collection, more in ((lost, ("ant dog", "dog ant")), (restored, ("kiwi zorp", "bee"))):
            collection.index([document("a", "ant"), document("b", "bee"), document("c", "cat")])
            collection.index([document("a", more[0]), document("d", more[1])])
        assert lost.revision == restored.revision
        with pytest.raises(KeyboardInterrupt):
            lost.pairs(0.1, unknown=unknown, progress=interrupt_at(2))
        (file,) = lost.path.glob("pairs-*")
        shutil.copy(file, restored.path)
        assert [pair.keys for pair in restored.pairs(0.1, unknown=unknown).pairs] == [("b", "d")]


def _with(name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> "_Forge":
    return lambda arrays: arrays | {name: change(arrays[name])}


_Forge = Callable[[dict[str, Any]], dict[str, Any]]
FORGED: list[_Forge] = [
    _with("rows", lambda rows: rows + 2**30),
    _with("rows", lambda rows: rows - 2**30),
    _with("rows", lambda rows: rows[:, ::-1]),
    _with("rows", lambda rows: rows[:, :1]),
    _with("rows", lambda rows: rows.astype(float)),
    _with("rows", lambda rows: np.broadcast_to(rows[:1], rows.shape)),
    _with("rows", lambda rows: rows[:-1]),
    _with("distances", lambda distances: distances[:-1]),
    _with("distances", lambda distances: distances * np.nan),
    _with("distances", lambda distances: -1 - distances),
    _with("distances", lambda distances: distances.astype(str)),
    _with("numbers", lambda numbers: numbers[:0]),
    _with("numbers", lambda numbers: numbers * np.nan),
    _with("numbers", lambda numbers: np.append(1e9, numbers[1:])),
    _with("numbers", lambda numbers: np.append(-1e9, numbers[1:])),
    _with("numbers", lambda numbers: np.append(numbers[0] + 0.5, numbers[1:])),
    _with("numbers", lambda numbers: np.append(numbers[0] - 9, numbers[1:])),
    _with("numbers", lambda numbers: np.append(numbers[:1], -numbers[1:])),
    lambda arrays: {name: arrays[name] for name in ("rows", "numbers")},
    lambda arrays: arrays | {"more": arrays["rows"]},
]


@pytest.mark.slow
def test_a_forged_file_of_an_interrupted_run_is_not_continued(filled: Collection) -> None:
    """Its checksum is right: the list is that of all pairs."""
    expected = filled.pairs(k=30).pairs
    with pytest.raises(KeyboardInterrupt):
        filled.pairs(k=30, progress=interrupt_at(20))
    (file,) = filled.path.glob("pairs-*")
    arrays = read_arrays(file)
    assert arrays
    for number, forge in enumerate(FORGED):
        write_arrays(file, forge(arrays))
        assert filled.pairs(k=30).pairs == expected, number


@pytest.mark.parametrize(("size", "kept"), [(1, 7), (100 * 2**20, 2)])
def test_files_of_interrupted_runs_are_few_and_small(filled: Collection, size: int, kept: int) -> None:
    """The oldest ones go: at most 8, and 256 MiB of them, remain; this run's is one."""
    for age in range(20):
        with (filled.path / f"pairs-{age:02}").open("wb") as file:
            file.truncate(size)
        os.utime(file.name, (time.time() - 60 * (age + 1),) * 2)
    with pytest.raises(KeyboardInterrupt):
        filled.pairs(within=0.123, progress=interrupt_at(1))
    left = sorted(path.name for path in filled.path.glob("pairs-*"))
    assert left[:kept] == [f"pairs-{age:02}" for age in range(kept)]
    assert len(left) == kept + 1
    for path in filled.path.glob("pairs-*"):
        path.unlink()


def test_invalid_arguments_are_refused(filled: Collection) -> None:
    with pytest.raises(UsageError, match="the largest distance of a pair"):
        filled.pairs()
    with pytest.raises(UsageError, match="must be a number of 0 or more"):
        filled.pairs(-1.0)
    with pytest.raises(UsageError, match="k must be a whole number of 1 or more"):
        filled.pairs(k=0)
    with pytest.raises(UsageError, match="a score is no distance"):
        filled.pairs(1.0, rank="bm25")
    with pytest.raises(UsageError, match="compared by wmd or pwmd, not by"):
        filled.pairs(1.0, rank="wmd+bm25", unknown="far")


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["wmd:mu=20+0.5*cover+2*bm25", "rwmd", "wmd:mu=3+cosine"])
def test_pairs_by_a_sum_have_the_larger_of_both_totals(filled: Collection, rank: str) -> None:
    keys = [one.key for one in _documents() if one.key != "none"]
    totals = {
        (key, hit.key): hit.distance if hit.total is None else hit.total
        for key in keys
        for hit in filled.similar(key, k=99, exact=True, rank=rank).hits
    }
    expected = {
        frozenset(pair): max(totals[pair], totals[pair[::-1]])
        for pair in combinations(keys, 2)
        if pair in totals and pair[::-1] in totals
    }
    assert len(expected) == len(keys) * (len(keys) - 1) // 2
    ordered = sorted(expected.values())
    for within, k in ((ordered[50] + 1e-9, None), (None, 7), (ordered[20] + 1e-9, 40), (None, 9999)):
        check_pairs(filled.pairs(within, k, rank=rank), within, k, expected)
    copies = filled.pairs(k=99, rank=rank, where=["label=copy"])
    assert {frozenset(pair.keys) for pair in copies.pairs} == {
        frozenset(pair) for pair in combinations(("same0", "same1", "same2"), 2)
    }


@pytest.mark.parametrize("rank", [None, "wmd+bm25"])
def test_limited_work_ends_in_time_and_leaves_no_file(filled: Collection, rank: str | None) -> None:
    ended = Work(stop=lambda: True)
    for options in (PairOptions(k=3, rank=rank), PairOptions(k=3, within=1.0, rank=rank)):
        search = FindPairs(search=options)
        with pytest.raises(OutOfTime):
            filled._states.run(lambda state: search.run(state, ended))  # noqa: SLF001, B023 - of a server
    assert not [*filled.path.glob("pairs-*")]


def test_limited_work_has_a_number_of_pairs_and_of_characters(filled: Collection) -> None:
    def found(most: int, **options: Any) -> Pairs:
        work = Work(stop=lambda: False, answer=most)
        return filled._states.run(lambda state: FindPairs(search=PairOptions(**options)).run(state, work))  # noqa: SLF001 - of a server

    with pytest.raises(UsageError, match="give k, the number of pairs: a server"):
        found(1_000_000, within=0.5)
    assert found(1_000_000, k=30) == filled.pairs(k=30)
    texts = sum(len(one.parts[0].text) for one in _documents())
    for most in (1, texts):  # of the texts that are read, and of what the pairs show of them
        with pytest.raises(TooLarge, match="request fewer hits"):
            found(most, k=500)


def test_answers_are_json_objects(filled: Collection) -> None:
    pairs, copies = filled.pairs(k=9), filled.dedupe(0.7, explained=True, differing=True)
    assert pairs.pairs
    assert copies.removed
    assert Pairs.from_dict(pairs.to_dict()) == pairs
    assert Deduplication.from_dict(copies.to_dict()) == copies
    assert list(pairs.to_dict()["pairs"][0])[:2] == ["key", "other"]
    assert list(copies.to_dict()["removed"][0])[2:4] == ["duplicate_of", "duplicate_of_title"]
