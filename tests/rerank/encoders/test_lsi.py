import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from moverank.rerank.bags.bag import Bag
from moverank.rerank.encoders import lsi
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.lsi import Lsi
from moverank.rerank.errors import EncoderError
from moverank.rerank.testing.sample_documents import make_documents, random_documents, with_unseen_words
from tests import naive_encoders
from tests.rerank.encoders.worlds import documents
from tests.rerank.problems import make_bag


def tfidf_matrix(training: Documents) -> NDArray[np.float64]:
    """Return the naive tf-idf matrix (n, v)."""
    bags = [dict(zip(bag.words.tolist(), bag.weights.tolist(), strict=True)) for bag in training.bags]
    matrix = np.zeros((len(bags), len(training.word_ids)))
    for row, weights in enumerate(naive_encoders.tfidf_rows(bags)):
        matrix[row, list(weights)] = list(weights.values())
    return matrix


def test_vectors_equal_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    models = pytest.importorskip("sklearn.decomposition", reason="scikit-learn is the oracle")
    texts = pytest.importorskip("sklearn.feature_extraction.text")
    monkeypatch.setattr(lsi, "_SMALL", 20)
    training, later = random_documents(2, n=60, v=50), random_documents(3, n=20, v=50)
    counts = [np.zeros((len(batch), 50)) for batch in (training, later)]
    for batch, rows in zip((training, later), counts, strict=True):
        for row, bag in enumerate(batch.bags):
            rows[row, bag.words] = bag.weights
    used = np.flatnonzero(counts[0].sum(axis=0))
    weigher = texts.TfidfTransformer(smooth_idf=True).fit(csr_array(counts[0][:, used]))
    model = models.TruncatedSVD(8, algorithm="arpack", random_state=0)
    model.fit(weigher.transform(csr_array(counts[0][:, used])))
    later = Documents(later.bags, later.lengths, training.word_ids, later.vectors)
    encoder = Lsi.fit(training, {"dim": "8"})
    plain = Lsi.fit(training, {"dim": "8", "inverse": "no"})
    projected = model.transform(weigher.transform(csr_array(counts[1][:, used])))
    # scikit-learn's rows are U' d.
    for fitted, rows in ((plain, projected), (encoder, projected / model.singular_values_)):
        expected, vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True), fitted.encode(later)
        signs = np.sign((vectors * expected).sum(axis=0))
        np.testing.assert_allclose(vectors, expected * signs, atol=1e-5)


@given(documents(), st.integers(1, 9))
def test_training_documents_are_folded_into_their_own_rows(training: Documents, dim: int) -> None:
    matrix = tfidf_matrix(training)
    encoder = Lsi.fit(training, {"dim": str(dim)})
    rows, values, _ = np.linalg.svd(matrix, full_matrices=False)
    k = encoder.dim
    vectors = encoder.encode(training).astype(np.float64)
    lengths = np.linalg.norm(rows[:, :k], axis=1)
    # Cosines of rows of V_k do not depend on the basis of equal singular values, if the next one is well below.
    if (k == len(values) or values[k] < 0.999 * values[k - 1]) and values[k - 1] > 1e-3 and lengths.min() > 1e-3:
        expected = (rows[:, :k] @ rows[:, :k].T) / np.outer(lengths, lengths)
        np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-3)


def test_equal_documents_span_one_dimension() -> None:
    equal = make_documents([Bag.of([0, 1], [1, 2])] * 4, np.ones((2, 3), np.float32))
    encoder = Lsi.fit(equal, {})
    assert encoder.dim == 1
    np.testing.assert_allclose(encoder.encode(equal), 1)


def test_unseen_words_are_dropped() -> None:
    training = random_documents(4)
    encoder = Lsi.fit(training, {"dim": "5"})
    assert not encoder.encode(with_unseen_words(training)).any()
    known, beyond = training.bags[0], training.word_ids[-1] + 1
    wider = Documents(
        make_documents(
            [Bag.of([*known.words, 60], [*known.weights / 2, 0.5])], np.zeros((61, 6), np.float32)
        ).bags,
        np.ones(1),
        np.append(training.word_ids, beyond),
        np.zeros((61, 6), np.float32),
    )  # fmt: skip
    np.testing.assert_allclose(encoder.encode(wider)[0], encoder.encode(training)[0], atol=1e-6)


def test_the_fit_takes_a_sample_of_documents_and_frequent_words() -> None:
    training = random_documents(5, n=100)
    encoder = Lsi.fit(training, {"words": "10", "dim": "4"})
    assert len(encoder.word_ids) == 10
    assert Lsi.fit(training, {"sample": "3"}).dim <= 3
    rng = np.random.default_rng(0)
    rare = make_documents([make_bag(rng, 5, "normal", 3)] * 5 + [Bag.of([9], [1])], np.ones((10, 2), np.float32))
    # The last document contains no frequent word.
    assert not Lsi.fit(rare, {"words": "1"}).encode(rare)[-1].any()


def test_invalid_states_and_empty_fits_are_rejected() -> None:
    state = Lsi.fit(random_documents(6), {"dim": "3"}).state()
    with pytest.raises(EncoderError, match="increasing word ids"):
        Lsi.restore(state | {"word_ids": state["word_ids"][::-1].copy()})
    with pytest.raises(EncoderError, match="give at least one"):
        Lsi.fit(random_documents(6).take(np.empty(0, np.int64)), {})
