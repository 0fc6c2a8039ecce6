"""The look-alike of gensim's `WmdSimilarity`: gensim's own tests, and gensim's own similarities."""

from pathlib import Path
from typing import Any

import gensim.test.test_similarities as gensim_tests
import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.similarities import WmdSimilarity as GensimSimilarity
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from moverank import RerankError
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.plugins.adapters.gensim import WmdSimilarity
from tests.rerank.problems import make_vectors

WORDS = [f"w{i}" for i in range(12)]


def _keyed(rng: np.random.Generator, kind: str = "normal", words: list[str] = WORDS) -> KeyedVectors:
    keyed = KeyedVectors(6)
    keyed.add_vectors(words, make_vectors(rng, len(words), 6, kind, 3.0))
    return keyed


# Two of the tests call functions of gensim that have nothing to do with the class; one of these uses an old name of
# scipy's.
@pytest.mark.filterwarnings("ignore:Please import `csr_matrix`:DeprecationWarning")
class TestAsGensimTestsIt(gensim_tests.TestWmdSimilarity):  # type: ignore[misc]
    """gensim skips its own tests: a mark of the base class is inherited, and one test calls another by an old name."""

    __unittest_skip__ = False

    def setUp(self) -> None:
        super().setUp()
        self.cls = WmdSimilarity

    def testFull(self, num_best: int | None = None) -> None:  # noqa: N802, PT028 - the old name, called by a test
        self.test_full(num_best)


def test_every_test_of_gensim_runs() -> None:
    """So that a test which gensim adds is not missed, and none is skipped unnoticed."""
    names = {name for name in dir(TestAsGensimTestsIt) if name.startswith("test_")}
    assert len(names) >= 15
    assert not any(getattr(getattr(TestAsGensimTestsIt, name), "__unittest_skip__", False) for name in names)


_TEXT = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=7)


@given(st.lists(_TEXT, min_size=1, max_size=8), st.lists(_TEXT, min_size=2, max_size=3), st.integers(0, 99))
def test_similarities_equal_those_of_gensim(corpus: list[list[str]], queries: list[list[str]], seed: int) -> None:
    keyed = _keyed(np.random.default_rng(seed))
    ours, theirs = WmdSimilarity(corpus, keyed), GensimSimilarity(corpus, keyed)
    assert ours[queries] == pytest.approx(theirs[queries], rel=1e-6)
    assert ours[queries[0]] == pytest.approx(theirs[queries[0]], rel=1e-6)
    assert ours[np.arange(len(corpus))] == pytest.approx(theirs[np.arange(len(corpus))], rel=1e-6)
    ours.num_best = theirs.num_best = 3
    for mine, own in zip(ours[queries], theirs[queries], strict=True):
        assert [value for _, value in mine] == pytest.approx([value for _, value in own], rel=1e-6)
        assert [value for _, value in mine] == pytest.approx([dict(own).get(row, v) for row, v in mine], rel=1e-6)


@pytest.mark.parametrize("kind", ["normal", "lattice", "offset"])  # for others see the next tests
def test_vectors_of_any_length_and_place(kind: str) -> None:
    rng = np.random.default_rng(4)
    keyed = _keyed(rng, kind)
    corpus = [rng.choice(WORDS, 5).tolist() for _ in range(20)]
    expected = GensimSimilarity(corpus, keyed)[corpus[0]]
    if np.isfinite(expected).all():
        assert WmdSimilarity(corpus, keyed)[corpus[0]] == pytest.approx(expected, rel=1e-5)


def test_words_of_equal_vectors_are_at_distance_0() -> None:
    """gensim reports such documents as infinitely far."""
    keyed = KeyedVectors(2)
    keyed.add_vectors(["hot", "warm", "cold"], np.array([[1, 0], [2, 0], [0, 1]], np.float32))
    assert WmdSimilarity([["warm"], ["cold"]], keyed)[["hot"]] == pytest.approx([1, 1 / (1 + np.sqrt(2))])
    assert GensimSimilarity([["warm"]], keyed)[["hot"]].tolist() == [0]


def test_a_vector_of_zeros_stays_zero() -> None:
    """gensim divides by its length."""
    keyed = KeyedVectors(2)
    keyed.add_vectors(["none", "one"], np.array([[0, 0], [3, 0]], np.float32))
    assert WmdSimilarity([["one"], ["none"]], keyed)[["none"]].tolist() == [0.5, 1]


def test_without_known_words_a_similarity_is_0_and_not_among_the_best() -> None:
    keyed = _keyed(np.random.default_rng(0))
    corpus = [["w1", "w2"], [], ["unknown"], ["w3"]]
    index = WmdSimilarity(corpus, keyed)
    assert (index[["w1"]] > 0).tolist() == [True, False, False, True]
    assert not index[["unknown"]].any()
    assert not index[[]].any()
    index.num_best = 4
    assert [row for row, _ in index[["w1"]]] == [0, 3]
    assert index[["unknown"]] == index[[]] == []
    assert WmdSimilarity([], keyed)[["w1"]].tolist() == []
    assert not WmdSimilarity([[], []], keyed)[["w1"]].any()


@pytest.mark.parametrize("num_best", [None, 2])
def test_iteration_takes_each_document_as_a_query(num_best: int | None) -> None:
    """gensim yields single numbers where the last chunk has one document."""
    keyed = _keyed(np.random.default_rng(1))
    corpus = [["w1", "w2"], ["w3"], ["unknown"]]
    index = WmdSimilarity(corpus, keyed, num_best, chunksize=2)
    assert len(index) == 3
    for row, found in enumerate(index):
        assert np.array_equal(found, index[corpus[row]])


def test_equal_similarities_keep_the_order_of_the_documents() -> None:
    keyed = _keyed(np.random.default_rng(1))
    index = WmdSimilarity([["w2"], ["w1"], ["w1", "w1"], ["w1"]], keyed, num_best=2)
    assert index[["w1"]] == [(1, 1.0), (2, 1.0)]
    index.num_best = 0
    assert index[["w1"]] == []


def test_words_composed_of_subwords() -> None:
    model = FastText(common_texts, vector_size=8, min_count=1, bucket=100, epochs=1, seed=3, workers=1).wv
    queries = [["computers", "interfacing"], ["treelike"]]
    assert WmdSimilarity(common_texts, model)[queries] == pytest.approx(
        GensimSimilarity(common_texts, model)[queries], rel=1e-6
    )


def test_the_best_are_found_without_solving_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, solved = np.random.default_rng(2), []
    words = [f"w{i}" for i in range(300)]
    keyed, corpus = _keyed(rng, words=words), [rng.choice(words, 12).tolist() for _ in range(200)]

    def counted(*arguments: Any) -> Any:
        solved.append(1)
        return solve_bags(*arguments)

    monkeypatch.setattr("moverank.rerank.distance.cascade.solve_bags", counted)
    index = WmdSimilarity(corpus, keyed, num_best=3)
    best = index[corpus[0]]
    assert len(solved) < 30
    index.num_best = None
    assert best == sorted(enumerate(index[corpus[0]].tolist()), key=lambda pair: -pair[1])[:3]


def test_a_saved_index_finds_the_same(tmp_path: Path) -> None:
    keyed = _keyed(np.random.default_rng(1))
    index = WmdSimilarity([["w1", "w2"], ["w3"], ["w4"]], keyed, num_best=2)
    index.save(str(tmp_path / "index"))
    loaded = WmdSimilarity.load(str(tmp_path / "index"))
    assert loaded[["w1", "w5"]] == index[["w1", "w5"]]
    assert str(loaded) == "WmdSimilarity<3 docs, 6 features>"


def test_a_text_that_is_not_split_is_an_error() -> None:
    keyed = _keyed(np.random.default_rng(1))
    with pytest.raises(RerankError, match="must be a list of words, not 'w1 w2': split it"):
        WmdSimilarity(["w1 w2"], keyed)
    with pytest.raises(RerankError, match="must be a list of words, not 'w1'"):
        WmdSimilarity([["w1"]], keyed)["w1"]
