import copy
import pickle
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.fasttext import ft_ngram_hashes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.errors import EmbeddingError
from moverank.rerank.words.embedding import COMPOSED, Embedding, fingerprint, unit_rows
from moverank.rerank.words.subwords import NGrams, Subwords
from moverank.rerank.words.vocabulary import UNKNOWN, Vocabulary


def _matrix(n: int, d: int = 3, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def _subwords(min_n: int = 3, max_n: int = 6) -> Subwords:
    return Subwords(_matrix(1009, 3, 7), NGrams(min_n, max_n))


@given(st.text(max_size=12), st.integers(0, 4), st.integers(0, 6))
def test_hashes_equal_those_of_fasttext(word: str, min_n: int, max_n: int) -> None:
    assert sorted(_subwords(min_n, max_n).rows(word)) == sorted(ft_ngram_hashes(word, min_n, max_n, 1009))


def test_a_vector_is_composed_of_the_ngrams() -> None:
    subwords = _subwords(3, 3)
    composed = subwords.compose(["ab"])[0]  # <ab and ab>
    assert composed == pytest.approx(subwords.buckets[subwords.rows("ab")].astype(float).mean(axis=0), rel=1e-6)
    assert composed.dtype == np.float32
    assert subwords.compose([]).shape == (0, 3)
    for other, word in ((subwords, ""), (Subwords(np.zeros((0, 3), np.float32), NGrams(3, 6)), "abc")):
        assert other.rows(word) == []  # <> has two characters
        with pytest.raises(EmbeddingError, match=f"the word {word!r} has no subwords"):
            other.compose([word])


@pytest.mark.parametrize("buckets", [np.zeros(3, np.float32), np.zeros((3, 3))])
def test_buckets_must_be_a_float32_matrix(buckets: Any) -> None:
    with pytest.raises(EmbeddingError, match="float32 matrix"):
        Subwords(buckets, NGrams(3, 6))


@given(st.lists(st.text(max_size=5), unique=True, min_size=1, max_size=20))
def test_gather_returns_the_vectors_of_find(words: list[str]) -> None:
    vectors = _matrix(len(words))
    embedding = Embedding.of(words, vectors)
    queries = list(reversed(words))
    assert embedding.gather(queries, embedding.find(queries)) == pytest.approx(vectors[::-1])
    assert embedding.dim == 3


def test_known_words_keep_their_order() -> None:
    embedding = Embedding.of(("a", "b"), [[1.0, 0.0], [0.0, 1.0]])
    words, vectors = embedding.known(["x", "b", "a"])
    assert (words, vectors.tolist()) == (["b", "a"], [[0, 1], [1, 0]])
    words, vectors = embedding.known(["x"])
    assert (words, vectors.shape) == ([], (0, 2))


def test_a_deep_copy_is_the_embedding_itself() -> None:
    embedding = Embedding.of(("a", "b"), [[1.0, 0.0], [0.0, 1.0]])
    assert copy.deepcopy({"embedding": embedding})["embedding"] is embedding


def test_unknown_words_have_no_vector() -> None:
    embedding = Embedding.of(("a", "b"), [[1.0, 0.0], [0.0, 1.0]])
    assert embedding.find(["b", "x"]).tolist() == [1, UNKNOWN]
    with pytest.raises(EmbeddingError, match="'x' has no vector"):
        embedding.gather(["b", "x"], embedding.find(["b", "x"]))
    with pytest.raises(EmbeddingError, match="'x' has no vector"):
        embedding.gather(["x"], np.array([2], np.int32))
    with pytest.raises(EmbeddingError, match="no subwords"):
        embedding.gather(["x"], np.array([COMPOSED], np.int32))


@pytest.mark.parametrize("unit", [False, True])
def test_the_vector_of_a_word_without_a_row_is_composed(unit: bool) -> None:
    vectors = unit_rows(_matrix(2)).astype(np.float32) if unit else _matrix(2)
    embedding = Embedding(["one", "two"], vectors, subwords=_subwords(), unit=unit)
    queries = ["three", "two", "", "three"]
    assert embedding.find(queries).tolist() == [COMPOSED, 1, UNKNOWN, COMPOSED]
    gathered = embedding.gather(queries[:2], embedding.find(queries[:2]))
    expected = _subwords().compose(["three"])[0]
    if unit:
        expected = expected / np.linalg.norm(expected)
    assert gathered == pytest.approx(np.array([expected, vectors[1]]), rel=1e-5)


def test_gathered_vectors_are_a_copy() -> None:
    embedding = Embedding.of(["a"], [[1.0]])
    embedding.gather(["a"], np.array([0]))[:] = 5
    assert embedding.vectors[0, 0] == 1


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1.0]], "2 words but 1 vectors"),
        (["a"], [1.0], "float32 matrix, not 1-dimensional"),
        ([], np.zeros((0, 3)), "at least one word"),
        (["a"], np.zeros((1, 0)), "at least one word"),
        (["a", "b"], [[1.0], [1.0, 2.0]], "must be a matrix of numbers"),
        (["a"], [["x"]], "must be a matrix of numbers"),
        (["a", "b", "a"], np.zeros((3, 2)), "'a' occurs twice: in rows 0 and 2"),
        (["a", "b"], [[1.0], [np.nan]], r"'b' \(row 1\)"),
        (["a"], [[1e300]], "not finite"),
    ],
)
def test_invalid_embeddings_are_rejected(words: list[str], vectors: Any, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        Embedding.of(words, vectors)


def test_an_empty_embedding_knows_no_word() -> None:
    for empty in (Embedding.empty(), Embedding.empty().in_memory(), pickle.loads(pickle.dumps(Embedding.empty()))):  # noqa: S301 - made here
        assert empty.fingerprint == Embedding.empty().fingerprint
        assert empty.find(["cat", ""]).tolist() == [UNKNOWN, UNKNOWN]
        assert empty.spread(["cat", "dog"])[0].tolist() == [[0.0], [0.0]]
        assert (empty.known(["cat"])[0], empty.phrases("en")) == ([], "")


def test_vectors_are_not_converted_implicitly() -> None:
    with pytest.raises(EmbeddingError, match="2-dimensional float64"):
        Embedding(["a"], np.zeros((1, 1)))  # type: ignore[arg-type]
    with pytest.raises(EmbeddingError, match="subwords have 3 dimensions, words 2"):
        Embedding(["a"], np.zeros((1, 2), np.float32), subwords=_subwords())


def test_vectors_of_gensim_can_be_used() -> None:
    vectors = KeyedVectors(3)
    vectors.add_vectors(["a", "b"], _matrix(2))
    embedding = Embedding.of(vectors.index_to_key, vectors.vectors)
    assert embedding.gather(["b"], embedding.find(["b"]))[0] == pytest.approx(vectors["b"])


def test_the_fingerprint_identifies_the_content() -> None:
    vectors = _matrix(2)
    base = Embedding.of(["a", "b"], vectors)
    assert (
        base.fingerprint == Embedding(["a", "b"], vectors).fingerprint == Embedding.of(["a", "b"], vectors).fingerprint
    )
    others = [
        Embedding.of(["a", "c"], vectors),
        Embedding.of(["ab", ""], vectors),
        Embedding.of(["a", "b"], vectors * 2),
        Embedding.of(["a", "b"], vectors[:, :2]),
        Embedding(["a", "b"], vectors, unit=True),
        Embedding(["a", "b"], vectors, subwords=_subwords()),
        Embedding(["a", "b"], vectors, subwords=_subwords(2)),
        Embedding(["a", "b"], vectors[:, ::-1]),
    ]
    assert len({embedding.fingerprint for embedding in [base, *others]}) == len(others) + 1
    assert Embedding(["a"], vectors[:1], "given").fingerprint == "given"
    assert len(fingerprint(Vocabulary.of([""]), [], None, unit=False)) == 64
