from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Collection
from moverank.indexer.search import sized_cache
from moverank.indexer.search.sized_cache import SizedCache, size_of
from tests.indexer.world import CollectionFactory, document
from tests.installed import installed

KIB = 1024

RANKINGS = installed(
    [
        "wmd+0.5*cover+bm25:stem=english+cosine",
        "bm25:k1=2",
        "bm25:ngrams=2",
        "pl2:gamma=0.5",
        "lsi:dim=2",
        "pwmd:gamma=0.5,proximity=gamma",
        "translation",
        "vector",
    ]
)


@dataclass
class Filled:
    """A value that is filled later."""

    array: NDArray[np.uint8] | None = None
    others: dict[str, object] = field(default_factory=dict)


def _array(size: int) -> NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> SizedCache:
    """A cache of 10 KiB that keeps two values whatever their size."""
    monkeypatch.setattr(sized_cache, "MOST_BYTES", 10 * KIB)
    monkeypatch.setattr(sized_cache, "_ALWAYS", 2)
    return SizedCache()


def _known(cache: SizedCache, keys: str) -> str:
    return "".join(key for key in keys if key in cache)


def test_the_least_recently_used_is_dropped(small: SizedCache) -> None:
    for key in "abc":
        small.get(key, lambda: _array(3 * KIB))
    small.get("a", list)  # is there: not computed
    small.get("d", lambda: _array(3 * KIB))
    assert _known(small, "abcd") == "acd"
    small.get("e", lambda: _array(100 * KIB))
    assert _known(small, "abcde") == "de"  # the newest are in use
    assert len(small.get("d", list)) == 3 * KIB


def test_values_that_are_filled_later_are_measured_again(small: SizedCache) -> None:
    value = small.get("a", Filled)
    small.get("b", lambda: 1)
    small.get("c", lambda: 2)
    assert _known(small, "abc") == "abc"
    value.array = _array(20 * KIB)
    small.get("d", lambda: 3)
    assert _known(small, "abcd") == "bcd"


def test_there_are_not_many_values_however_small(small: SizedCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sized_cache, "MOST_BYTES", 2**40)
    for number in range(1000):
        small.get(number, lambda: None)
    assert 936 in small
    assert 935 not in small


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda _: _array(9999), 9999),
        (lambda _: _array(9999)[:5], 9999),  # a part keeps the whole
        (lambda _: Filled(_array(9999), {"x": [_array(100 * KIB)] * 5}), 9999 + 100 * KIB),  # once
        (lambda _: [_array(KIB) for _ in range(5000)], 5000 * KIB),
        (lambda _: {i: str(i) * 100 for i in range(50_000)}, 50_000 * 500),
        (lambda path: np.memmap(path, np.uint8, "c")[3:], 0),
        (lambda _: (Filled, len), 0),
    ],
)
def test_sizes_are_about_right(make: Callable[[Path], object], expected: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100 * KIB))
    assert size_of(make(tmp_path / "file")) == pytest.approx(expected, rel=0.35, abs=1500)


def test_what_belongs_to_others_is_not_measured() -> None:
    assert size_of([Filled(_array(50 * KIB))], (Filled,)) < KIB


@pytest.fixture
def searched(tmp_path: Path) -> Iterator[Collection]:
    texts = ["ant bee", "ant bee cat", "dog", "ants bee bee bee", "cat hen", "hen dog dog", "ant hen"]
    with CollectionFactory(tmp_path).empty() as collection:
        collection.index([document(f"d{i}", text) for i, text in enumerate(texts)])
        yield collection


def test_searches_find_the_same_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, searched: Collection
) -> None:
    expected = {rank: searched.search("ant cat", rank=rank, k=5) for rank in RANKINGS}
    monkeypatch.setattr(sized_cache, "MOST_BYTES", 0)
    monkeypatch.setattr(sized_cache, "_ALWAYS", 0)
    with Collection.open(searched.path) as opened:
        for rank in [*RANKINGS, *reversed(RANKINGS)]:
            found = opened.search("ant cat", rank=rank, k=5)
            assert [(hit.key, hit.score) for hit in found.hits] == [(h.key, h.score) for h in expected[rank].hits], rank


@pytest.mark.slow
def test_few_files_are_kept_for_endless_values_of_gamma(searched: Collection) -> None:
    searched.refit()
    for number in range(30):
        searched.search("ant", rank="wmd+bm25+cosine", k=1)
        searched.search("ant", rank=f"pwmd:gamma=0.{number}1+bm25:gamma=0.{number}1+cosine", k=1)
    files = list(searched.path.glob("cached-*"))
    assert 3 <= len(files) <= 16
