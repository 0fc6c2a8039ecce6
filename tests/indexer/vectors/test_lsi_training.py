import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError, VectorsError
from moverank.indexer.vectors.lsi_training import OWN_DIMENSIONS, dimensions, train_lsi
from moverank.indexer.vectors.open_vectors import verify_vectors

Counts = list[dict[str, int]]
DOCUMENTS = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 5), max_size=6), min_size=1, max_size=9
)


def _slow(documents: Counts, words: list[str], dim: int, *, own: bool = False) -> NDArray[np.float64]:
    """U S of numpy's own decomposition of the weighted matrix, with a loop for each formula.

    `own`: without the share of each row that is in the word's own direction.
    """
    documents = [document for document in documents if document]
    a = np.zeros((len(words), len(documents)))
    for j, document in enumerate(documents):
        for word, count in document.items():
            df = sum(word in other for other in documents)
            a[words.index(word), j] = (1 + math.log(count)) * (1 + math.log(len(documents) / df))
        a[:, j] /= math.sqrt(sum(x * x for x in a[:, j]))
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    rank = int((s > 1e-6 * s[0]).sum())
    rows = np.asarray((u * s)[:, : min(dim, rank)])
    if own:
        for i, word in enumerate(words):
            rows[i] *= math.sqrt(1 - 1 / (4 * sum(word in other for other in documents) ** 3))
    return rows


def _many(n: int = 60, v: int = 50, seed: int = 0) -> Counts:
    chance = np.random.default_rng(seed)
    return [dict(Counter(f"w{int(i)}" for i in chance.zipf(1.3, 30) % v)) for _ in range(n)]


def _check(documents: Counts, path: Path, dim: int) -> None:
    embedding = train_lsi(lambda: documents, path, dim=dim, normalize=False)
    words = list(embedding.words)
    expected, learned = _slow(documents, words, dim, own=True), embedding.vectors[:, :-OWN_DIMENSIONS]
    if expected.shape[1] < dim:
        assert learned.shape[1] == expected.shape[1]
    # Singular vectors of equal singular values are not unique: the spaces that they span are compared.
    gaps = np.diff(np.linalg.norm(_slow(documents, words, len(words) + len(documents)), axis=0))
    if learned.shape[1] == len(gaps) + 1 or abs(gaps[learned.shape[1] - 1]) > 1e-3:
        np.testing.assert_allclose(learned @ learned.T, expected @ expected.T, atol=1e-5)


@given(DOCUMENTS.filter(any), st.integers(1, 10))
def test_small_corpora_are_decomposed_as_numpy_does(tmp_path: Path, documents: Counts, dim: int) -> None:
    _check(documents, tmp_path / "out", dim)


@pytest.mark.parametrize(("n", "v"), [(60, 50), (40, 300), (300, 20), (8, 300)])
def test_larger_corpora_are_decomposed_as_numpy_does(tmp_path: Path, n: int, v: int) -> None:
    documents = _many(n, v)
    embedding = train_lsi(lambda: documents, tmp_path / "out", dim=12, normalize=False)
    words, learned = list(embedding.words), embedding.vectors[:, :-OWN_DIMENSIONS]
    expected = _slow(documents, words, 12, own=True)
    signs = np.sign((expected * learned).sum(axis=0))
    np.testing.assert_allclose(learned, expected * signs, atol=1e-5)
    whole = np.linalg.norm(_slow(documents, words, 12), axis=1)
    np.testing.assert_allclose(np.linalg.norm(embedding.vectors, axis=1), whole, atol=1e-5)
    verify_vectors(tmp_path / "out")


def test_words_of_one_and_the_same_document_are_apart(tmp_path: Path) -> None:
    documents = [dict.fromkeys(["shared", *(f"{number}-{i}" for i in range(30))], 1) for number in range(40)]
    embedding = train_lsi(lambda: documents, tmp_path / "out", dim=10)
    rows = {word: embedding.vectors[i].astype(float) for i, word in enumerate(embedding.words)}
    distances = [
        np.linalg.norm(rows[f"{n}-{i}"] - rows[f"{n}-{j}"]) for n in range(40) for i in range(30) for j in range(i)
    ]
    assert min(distances) > 0.3
    assert np.median(distances) == pytest.approx(math.sqrt(2 / 4), abs=0.02)


def test_the_same_corpus_gives_the_same_vectors(tmp_path: Path) -> None:
    first, second = (train_lsi(_many, tmp_path / name, dim=5) for name in ("a", "b"))
    assert first.fingerprint == second.fingerprint
    assert np.linalg.norm(first.vectors, axis=1) == pytest.approx(np.ones(len(first.words)), rel=1e-5)
    manifest = json.loads((tmp_path / "a/embedding.json").read_text())
    assert manifest["training"] == {"method": "lsi", "dim": 5, "min_count": 1, "seed": 1}
    assert manifest["source"] == "lsi"


@pytest.mark.parametrize(("words", "dim"), [(20, 200), (25, 200), (50, 100), (64, 78), (100, 50), (500, 50)])
def test_short_texts_get_more_dimensions(words: int, dim: int) -> None:
    assert dimensions(words) == dim


def test_the_number_of_dimensions_follows_the_length_of_the_texts(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    documents = [{f"w{i}": 2 for i in chance.choice(300, 50, replace=False).tolist()} for _ in range(150)]
    assert train_lsi(lambda: [*documents, {}], tmp_path / "out").dim == 100 + OWN_DIMENSIONS
    manifest = json.loads((tmp_path / "out/embedding.json").read_text())
    assert manifest["training"]["dim"] == 100


def test_rare_words_can_be_excluded(tmp_path: Path) -> None:
    documents = [{"a": 1, "b": 2}, {"a": 1, "c": 1}, {}]
    embedding = train_lsi(lambda: documents, tmp_path / "out", min_count=2)
    assert sorted(embedding.words) == ["a", "b"]


@pytest.mark.parametrize("documents", [[], [{}], [{"a": 1}]])
def test_too_small_a_corpus_is_refused_in_one_sentence(tmp_path: Path, documents: Counts) -> None:
    with pytest.raises(VectorsError, match="no word occurs 2 times"):
        train_lsi(lambda: documents, tmp_path / "out", min_count=2)
    assert not list(tmp_path.iterdir())


def test_one_word_in_one_document_is_enough(tmp_path: Path) -> None:
    vectors = train_lsi(lambda: [{"a": 3}], tmp_path / "out").vectors
    assert vectors[0, 0] ** 2 == pytest.approx(0.75)
    assert np.linalg.norm(vectors) == pytest.approx(1)


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dim=0"):
        train_lsi(_many, tmp_path / "out", dim=0)
