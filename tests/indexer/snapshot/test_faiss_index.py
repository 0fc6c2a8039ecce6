"""FAISS indexes: nearest vectors among accepted ids, and factory strings that cannot be used."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.snapshot.faiss_index import FirstStage, build, check_factory
from moverank.indexer.values.settings import FLAT_INDEX
from tests.samples import examples

EXACT = ("Flat", "IDMap,Flat", "IDMap2,Flat")
APPROXIMATE = (
    "HNSW32",
    "IDMap2,HNSW16",
    "IVF4,Flat",
    "IDMap2,IVF4,Flat",
    "IVF4_HNSW8,Flat",
    "PCA4,Flat",
    "PCA4,IVF4,Flat",
    "SQ8",
    "HR,RaBitQ",
    "PQ4x4",
    "IVF2,PQ4x4",
    "LSH",
)


def _vectors(n: int = 60, dim: int = 8, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def _ids(n: int) -> NDArray[np.int64]:
    """Return increasing ids with gaps, as the database assigns them."""
    return np.arange(n, dtype=np.int64) * 3 + 5


def _all_ids(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(len(ids), bool)


@pytest.mark.parametrize("factory", EXACT)
def test_an_exact_index_returns_the_nearest_and_their_squared_distances(tmp_path: Path, factory: str) -> None:
    vectors, query = _vectors(), _vectors(1, seed=1)[0]
    used = build(factory, _ids(60), vectors, tmp_path / "index")
    stage = FirstStage(tmp_path / "index", used)
    nearest = stage.nearest(query, 7, _all_ids)
    distances = np.array(
        [float(np.sqrt(sum((a - b) ** 2 for a, b in zip(row, query, strict=True)))) for row in vectors]
    )
    order = np.argsort(distances)[:7]
    assert (used, stage.exact) == (factory, True)
    assert nearest.ids.tolist() == _ids(60)[order].tolist()
    assert np.sqrt(nearest.costs) == pytest.approx(distances[order], rel=1e-5)


@pytest.mark.parametrize("factory", EXACT)
def test_an_exact_index_of_products_returns_the_largest(tmp_path: Path, factory: str) -> None:
    vectors, query = _vectors(), _vectors(1, seed=1)[0]
    used = build(factory, _ids(60), vectors, tmp_path / "index", products=True)
    nearest = FirstStage(tmp_path / "index", used).nearest(query, 7, _all_ids)
    products = vectors.astype(np.float64) @ query.astype(np.float64)
    order = np.argsort(-products)[:7]
    assert nearest.ids.tolist() == _ids(60)[order].tolist()
    assert nearest.costs == pytest.approx(-products[order], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("factory", [name for name in APPROXIMATE if "PCA" not in name and name != "LSH"])
def test_an_approximate_index_of_products_finds_most_of_the_largest(tmp_path: Path, factory: str) -> None:
    vectors, queries = _vectors(2000, 32), _vectors(20, 32, seed=1)
    stage = FirstStage(tmp_path / "index", build(factory, _ids(2000), vectors, tmp_path / "index", products=True))
    found = []
    for query in queries:
        nearest = stage.nearest(query, 200, _all_ids)
        assert nearest.costs.tolist() == sorted(nearest.costs.tolist())
        true = _ids(2000)[np.argsort(-(vectors @ query))[:10]]
        found.append(np.isin(true, nearest.ids).mean())
    assert np.mean(found) > 0.7


@pytest.mark.parametrize("factory", ["PCA4,Flat", "OPQ4,PCA4,Flat", "LSH"])
def test_an_index_that_changes_the_order_of_products_is_refused(factory: str) -> None:
    check_factory(factory, 8)
    with pytest.raises(UsageError, match="inner products"):
        check_factory(factory, 8, products=True)


@pytest.fixture(scope="module", params=APPROXIMATE)
def approximate(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FirstStage:
    path = tmp_path_factory.mktemp("index") / "index"
    return FirstStage(path, build(request.param, _ids(60), _vectors(), path))


@examples(0.5)
@given(m=st.integers(1, 60), chosen=st.sets(st.integers(0, 59)), seed=st.integers(0, 9))
def test_an_approximate_index_returns_as_many_accepted_ids_as_requested(
    approximate: FirstStage, m: int, chosen: set[int], seed: int
) -> None:
    accepted = _ids(60)[sorted(chosen)]
    nearest = approximate.nearest(_vectors(1, seed=seed)[0], m, lambda ids: np.isin(ids, accepted))
    assert not approximate.exact
    assert len(nearest.ids) == len(set(nearest.ids.tolist())) == min(m, len(accepted))
    assert set(nearest.ids.tolist()) <= set(accepted.tolist())
    assert nearest.costs.tolist() == sorted(nearest.costs.tolist())


@pytest.mark.parametrize("factory", ["HNSW32", "IVF4,Flat"])
def test_an_approximate_index_finds_stored_vectors(tmp_path: Path, factory: str) -> None:
    vectors = _vectors()
    stage = FirstStage(tmp_path / "index", build(factory, _ids(60), vectors, tmp_path / "index"))
    for row in range(0, 60, 7):
        assert stage.nearest(vectors[row], 1, _all_ids).ids.tolist() == [_ids(60)[row]]


@pytest.mark.parametrize("factory", ["IVF100,Flat", "PQ4", "IVF2,PQ4"])
def test_an_index_without_enough_vectors_to_train_becomes_flat(tmp_path: Path, factory: str) -> None:
    used = build(factory, _ids(60), _vectors(), tmp_path / "index")
    stage = FirstStage(tmp_path / "index", used)
    assert (used, stage.exact) == (FLAT_INDEX, True)
    assert len(stage.nearest(_vectors(1)[0], 9, _all_ids).ids) == 9


@pytest.mark.parametrize("limit", ["vectors", "bytes"])
def test_an_index_is_trained_on_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    if "bytes" in limit:
        monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._TRAINING_BYTES", 20 * _vectors(1).nbytes)
    else:
        monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._TRAINING_SAMPLE", 20)
    monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._BLOCK_BYTES", 7 * _vectors(1).nbytes)
    assert build("IVF30,Flat", _ids(60), _vectors(), tmp_path / "small") == FLAT_INDEX
    used = build("IVF10,Flat", _ids(60), _vectors(), tmp_path / "index")
    assert used == "IVF10,Flat"
    assert len(FirstStage(tmp_path / "index", used).nearest(_vectors(1)[0], 60, _all_ids).ids) == 60


@pytest.mark.parametrize("factory", [*EXACT, *APPROXIMATE])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_an_index_of_few_vectors(tmp_path: Path, factory: str, n: int) -> None:
    stage = FirstStage(tmp_path / "index", build(factory, _ids(n), _vectors(n), tmp_path / "index"))
    nearest = stage.nearest(_vectors(1, seed=1)[0], 3, _all_ids)
    assert sorted(nearest.ids.tolist()) == sorted(set(nearest.ids.tolist()))
    assert len(nearest.ids) == min(n, 3)
    assert len(nearest.costs) == len(nearest.ids)


@pytest.mark.parametrize("factory", ["nonsense", "IDMap2,Flt", "PQ7"])
def test_an_invalid_factory_string_is_a_usage_error(tmp_path: Path, factory: str) -> None:
    with pytest.raises(UsageError, match=f"FAISS cannot make an index of '{factory}': ") as caught:
        check_factory(factory)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="FAISS cannot make"):
        build(factory, _ids(3), _vectors(3), tmp_path / "index")
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("factory", [*EXACT, *APPROXIMATE])
def test_valid_factory_strings_pass(factory: str) -> None:
    check_factory(factory)


@pytest.mark.parametrize("content", [b"", b"no index at all"])
def test_a_file_without_an_index_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "index").write_bytes(content)
    with pytest.raises(CollectionError, match="cannot be read by FAISS"):
        FirstStage(tmp_path / "index", FLAT_INDEX).nearest(np.zeros(8, np.float32), 1, _all_ids)


@pytest.mark.parametrize("factory", [FLAT_INDEX, "SQ8", "HR,RaBitQ"])
@pytest.mark.parametrize("m", [1, 7, 59, 60])
def test_a_large_index_is_searched_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, m: int, factory: str
) -> None:
    whole = FirstStage(tmp_path / "index", build(factory, _ids(60), _vectors(), tmp_path / "index"))
    expected = whole.nearest(_vectors(1)[0], m, _all_ids)
    monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._LARGE", 0)
    monkeypatch.setattr("moverank.indexer.snapshot.faiss_index.core_count", lambda: 3)
    parts = FirstStage(tmp_path / "index", factory)
    nearest = parts.nearest(_vectors(1)[0], m, _all_ids)
    assert nearest.ids.tolist() == expected.ids.tolist()
    assert nearest.costs == pytest.approx(expected.costs)


def test_more_inverted_lists_are_probed_for_long_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = _vectors(640, 16), _vectors(40, 16, seed=1)
    factory = build("IVF64,Flat", _ids(640), vectors, tmp_path / "index")
    squares = np.square(queries[:, None] - vectors).sum(axis=2)
    expected = _ids(640)[np.argsort(squares, axis=1)[:, :5]]

    def recalled() -> int:
        stage = FirstStage(tmp_path / "index", factory)
        pairs = zip(queries, expected, strict=True)
        return sum(len(np.intersect1d(stage.nearest(query, 5, _all_ids).ids, best)) for query, best in pairs)

    short = recalled()
    monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._LONG", 16)
    assert short < recalled()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_full_disk_is_an_os_error() -> None:
    """FAISS itself raises RuntimeError without the reason."""
    with pytest.raises(OSError, match="No space left on device"):
        build(FLAT_INDEX, _ids(640), _vectors(640, 64), Path("/dev/full"))
