import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from moverank.rerank.bags.bag import Bag
from moverank.rerank.encoders import lsi
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.lsi import Lsi, decomposed
from moverank.rerank.errors import EncoderError
from tests import naive_encoders
from tests.rerank.encoders.worlds import documents, make_documents, random_documents, strangers
from tests.rerank.problems import make_bag


def matrix_of(learned_from: Documents) -> NDArray[np.float64]:
    """Return the twin's tf-idf matrix (n, v)."""
    bags = [dict(zip(bag.words.tolist(), bag.weights.tolist(), strict=True)) for bag in learned_from.bags]
    found = np.zeros((len(bags), len(learned_from.word_ids)))
    for row, weights in enumerate(naive_encoders.tfidf_rows(bags)):
        found[row, list(weights)] = list(weights.values())
    return found


def test_singular_values_are_those_of_the_lecture() -> None:
    lecture = np.array([[1.0, 1], [2, -2], [-2, 2], [-1, -1]])
    words, values = decomposed(csr_array(lecture.T), 2, 0)
    np.testing.assert_allclose(values, [4, 2])
    # Both eigenvectors of A'A come with A v / s as theirs, the largest entry positive.
    np.testing.assert_allclose(np.abs(words[:, 0]), [0, 0.5**0.5, 0.5**0.5, 0], atol=1e-12)
    np.testing.assert_allclose(words[:, 1] * np.sign(words[0, 1]), [0.5**0.5, 0, 0, -(0.5**0.5)], atol=1e-12)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_a_decomposition_is_that_of_a_dense_one(seed: int, n: int, v: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (n, v)) * rng.uniform(0.5, 1, (n, v))
    matrix[0, 0] += 1
    words, values = decomposed(csr_array(matrix), dim, 0)
    right = np.linalg.svd(matrix, compute_uv=False)
    rank = int((right > 1e-6 * right[0]).sum())
    assert words.shape == (v, min(dim, rank))
    np.testing.assert_allclose(values, right[: len(values)], rtol=1e-6)
    np.testing.assert_allclose(words.T @ words, np.eye(len(values)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(matrix @ words, axis=0), values, rtol=1e-6)


@pytest.mark.parametrize("shape", [(40, 70), (70, 40)])
def test_lanczos_finds_what_a_dense_decomposition_finds(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    matrix = csr_array(rng.uniform(0, 1, shape) * (rng.random(shape) < 0.3))
    words, values = decomposed(matrix, 6, 0)
    monkeypatch.setattr(lsi, "_SMALL", 5)
    others, also = decomposed(matrix, 6, 0)
    np.testing.assert_allclose(also, values, rtol=1e-9)
    np.testing.assert_allclose(others, words, atol=1e-7)
    assert others.tobytes() == decomposed(matrix, 6, 0)[0].tobytes()


def test_it_is_the_decomposition_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    models = pytest.importorskip("sklearn.decomposition", reason="scikit-learn is the oracle")
    texts = pytest.importorskip("sklearn.feature_extraction.text")
    monkeypatch.setattr(lsi, "_SMALL", 20)
    learned_from, later = random_documents(2, n=60, v=50), random_documents(3, n=20, v=50)
    counts = [np.zeros((len(some), 50)) for some in (learned_from, later)]
    for some, rows in zip((learned_from, later), counts, strict=True):
        for row, bag in enumerate(some.bags):
            rows[row, bag.words] = bag.weights
    used = np.flatnonzero(counts[0].sum(axis=0))
    weigher = texts.TfidfTransformer(smooth_idf=True).fit(csr_array(counts[0][:, used]))
    model = models.TruncatedSVD(8, algorithm="arpack", random_state=0)
    model.fit(weigher.transform(csr_array(counts[0][:, used])))
    later = Documents(later.bags, later.lengths, learned_from.word_ids, later.vectors)
    encoder = Lsi.fit(learned_from, {"dim": "8"})
    plain = Lsi.fit(learned_from, {"dim": "8", "inverse": "no"})
    theirs = model.transform(weigher.transform(csr_array(counts[1][:, used])))
    # scikit-learn's rows are U' d.
    for folded, rows in ((plain, theirs), (encoder, theirs / model.singular_values_)):
        expected, found = rows / np.linalg.norm(rows, axis=1, keepdims=True), folded.encode(later)
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found, expected * signs, atol=1e-5)


@settings(max_examples=50)
@given(documents(), st.integers(1, 9))
def test_fitted_documents_fold_into_their_own_rows(learned_from: Documents, dim: int) -> None:
    matrix = matrix_of(learned_from)
    encoder = Lsi.fit(learned_from, {"dim": str(dim)})
    rows, values, _ = np.linalg.svd(matrix, full_matrices=False)
    k = encoder.dim
    found = encoder.encode(learned_from).astype(np.float64)
    lengths = np.linalg.norm(rows[:, :k], axis=1)
    # Cosines of rows of V_k, whatever the basis of equal singular values: where the next one is well below.
    if (k == len(values) or values[k] < 0.999 * values[k - 1]) and values[k - 1] > 1e-3 and lengths.min() > 1e-3:
        expected = (rows[:, :k] @ rows[:, :k].T) / np.outer(lengths, lengths)
        np.testing.assert_allclose(found @ found.T, expected, atol=1e-3)


def test_equal_documents_span_one_dimension() -> None:
    alike = make_documents([Bag.of([0, 1], [1, 2])] * 4, np.ones((2, 3), np.float32))
    encoder = Lsi.fit(alike, {})
    assert encoder.dim == 1
    np.testing.assert_allclose(encoder.encode(alike), 1)


def test_unknown_words_are_left_out() -> None:
    learned_from = random_documents(4)
    encoder = Lsi.fit(learned_from, {"dim": "5"})
    assert not encoder.encode(strangers(learned_from)).any()
    known, beyond = learned_from.bags[0], learned_from.word_ids[-1] + 1
    wider = Documents(
        make_documents(
            [Bag.of([*known.words, 60], [*known.weights / 2, 0.5])], np.zeros((61, 6), np.float32)
        ).bags,
        np.ones(1),
        np.append(learned_from.word_ids, beyond),
        np.zeros((61, 6), np.float32),
    )  # fmt: skip
    np.testing.assert_allclose(encoder.encode(wider)[0], encoder.encode(learned_from)[0], atol=1e-6)


def test_words_and_documents_may_be_sampled() -> None:
    learned_from = random_documents(5, n=100)
    encoder = Lsi.fit(learned_from, {"words": "10", "dim": "4"})
    assert len(encoder.word_ids) == 10
    assert Lsi.fit(learned_from, {"sample": "3"}).dim <= 3
    rng = np.random.default_rng(0)
    rare = make_documents([make_bag(rng, 5, "normal", 3)] * 5 + [Bag.of([9], [1])], np.ones((10, 2), np.float32))
    # The last document has none of the words that are kept.
    assert not Lsi.fit(rare, {"words": "1"}).encode(rare)[-1].any()


def test_states_and_documents_that_no_fit_leaves_are_refused() -> None:
    state = Lsi.fit(random_documents(6), {"dim": "3"}).state()
    with pytest.raises(EncoderError, match="words that increase"):
        Lsi.restore(state | {"word_ids": state["word_ids"][::-1].copy()})
    with pytest.raises(EncoderError, match="give it one at least"):
        Lsi.fit(random_documents(6).take(np.empty(0, np.int64)), {})
