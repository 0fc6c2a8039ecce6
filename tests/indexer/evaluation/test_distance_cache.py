from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, Document, Part
from moverank.indexer.evaluation.corpus import corpus_of
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import parse_method
from moverank.indexer.progress import silent
from moverank.indexer.reranking.counted_texts import Texts
from tests.indexer.evaluation.ranked import ranked
from tests.indexer.world import document


def test_distances_are_computed_once(pool: Texts, tmp_path: Path, solved: list[int]) -> None:
    cache = DistanceCache(tmp_path / "cache")
    first = ranked("wmd", pool, pool, cache)
    n = len(pool) - 1
    assert sum(solved) == n * (n + 1) // 2
    assert np.array_equal(first, first.T)
    again = ranked("wmd", pool, pool, DistanceCache(tmp_path / "cache"))
    assert sum(solved) == n * (n + 1) // 2
    assert np.array_equal(first, again)
    ranker = parse_method("wmd").ranker(pool, cache)
    assert np.array_equal(ranker.nearest(pool, 3, silent), ranker.nearest(pool, 3, silent))


def test_a_truncated_file_is_replaced(pool: Texts, tmp_path: Path) -> None:
    expected = ranked("rwmd", pool, pool, DistanceCache(tmp_path))
    (file,) = tmp_path.glob("rwmd*.npy")
    file.write_bytes(file.read_bytes()[:50])
    assert np.array_equal(ranked("rwmd", pool, pool, DistanceCache(tmp_path)), expected)


@pytest.mark.parametrize("method", ["wmd", "pwmd:gamma=0.75", "rwmd", "rwmd:proximity=gamma"])
def test_new_documents_cost_their_own_distances_only(
    method: str, indexed: Collection, tmp_path: Path, solved: list[int]
) -> None:
    before = corpus_of(indexed).documents
    ranked(method, before, before, DistanceCache(tmp_path / "cache"))
    first = sum(solved)
    # "aardvark" comes before all other words: every word gets another index.
    indexed.index([document("late", "aardvark bee", "cat"), document("later", "dog")])
    indexed.remove(["d5"])
    now = corpus_of(indexed).documents
    solved.clear()
    distances = ranked(method, now, now, DistanceCache(tmp_path / "cache"))
    with_bag = len(now.bags(0, None)[0])
    assert 0 < sum(solved) <= 2 * with_bag * (2 if "proximity" in method else 1) < first
    np.testing.assert_allclose(distances, ranked(method, now, now), rtol=1e-12)


def test_a_table_of_some_queries_leaves_no_gaps_among_all(pool: Texts, tmp_path: Path) -> None:
    ranked("wmd", pool, pool.take([1, 4, 7]), DistanceCache(tmp_path))
    np.testing.assert_allclose(
        ranked("wmd", pool, pool, DistanceCache(tmp_path)), ranked("wmd", pool, pool), rtol=1e-12
    )


def test_damaged_tables_are_not_copied_from(pool: Texts, tmp_path: Path) -> None:
    expected = ranked("wmd", pool.take([0, 1, 2]), pool)
    ranked("wmd", pool, pool, DistanceCache(tmp_path))
    (digests,) = tmp_path.glob("*.bags.npz")
    for content in (b"", b"nonsense", digests.read_bytes()[:100]):
        digests.write_bytes(content)
        distances = ranked("wmd", pool.take([0, 1, 2]), pool, DistanceCache(tmp_path))
        np.testing.assert_allclose(distances, expected, rtol=1e-12)
        for other in tmp_path.glob("*"):
            if other.stem.split(".")[0] != digests.name.split(".bags")[0].split(".")[0]:
                other.unlink()


def test_an_interrupted_copy_leaves_no_digests_and_is_repeated(
    pool: Texts, tmp_path: Path, solved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    ranked("wmd", pool, pool, DistanceCache(tmp_path))
    solved.clear()
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ranked("wmd", pool, pool.take([1, 2]), DistanceCache(tmp_path))
    assert len([*tmp_path.glob("*.npz*"), *tmp_path.glob(".*")]) == 1
    ranked("wmd", pool, pool.take([1, 2]), DistanceCache(tmp_path))
    assert not solved


def test_another_title_weight_has_its_own_results(indexed: Collection, tmp_path: Path) -> None:
    indexed.index([Document(f"t{i}", title, (Part("bee cat"),)) for i, title in enumerate(("ant", "lark", "kiwi fox"))])
    light, cache = corpus_of(indexed).documents, DistanceCache(tmp_path)
    heavy = replace(light, title_weight=5.0)
    for method in ("wmd", "pwmd:gamma=1"):
        distances = [ranked(method, texts, texts, cache) for texts in (light, heavy)]
        assert not np.allclose(distances[0], distances[1])
        np.testing.assert_allclose(distances[1], ranked(method, heavy, heavy), rtol=1e-12)
        nearest = [parse_method(method).ranker(texts, cache).nearest(texts, 3, silent) for texts in (light, heavy)]
        assert np.array_equal(nearest[1], parse_method(method).ranker(heavy, DistanceCache()).nearest(heavy, 3, silent))
