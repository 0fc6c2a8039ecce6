import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.centroid import Centroid, centroids
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.errors import EncoderError
from moverank.rerank.runtime.thread_pool import single_threaded
from moverank.rerank.testing.encoder_checks import state_bytes
from moverank.rerank.testing.sample_documents import random_documents
from tests import naive
from tests.rerank.encoders.worlds import documents
from tests.rerank.problems import Problem, make_bag, make_vectors, problems


@given(problems())
def test_centroids_are_weighted_means(problem: Problem) -> None:
    means = centroids(problem.packed, problem.vectors)
    assert means.dtype == np.float32
    assert means.shape == (len(problem.bags), problem.vectors.shape[1])
    # Rounded once: half a unit in the last place of float32 of the largest term, not the sum of many.
    tolerance = 6e-8 * float(np.abs(problem.vectors).max())
    for row, bag in zip(means.tolist(), problem.bags, strict=True):
        assert row == pytest.approx(naive.centroid(bag, problem.vectors), rel=6e-8, abs=tolerance)


def test_the_centroid_of_one_word_is_its_vector() -> None:
    vectors = make_vectors(np.random.default_rng(1), 5, 7, "normal", 1.0)
    bags = Bags.of([Bag.of([word], [3]) for word in (4, 0, 4)])
    np.testing.assert_array_equal(centroids(bags, vectors), vectors[[4, 0, 4]])


def test_centroids_are_the_sparse_product_of_scipy() -> None:
    rng = np.random.default_rng(2)
    vectors = make_vectors(rng, 30, 4, "normal", 1.0)
    bags = Bags.of([make_bag(rng, 30, "normal", 6) for _ in range(200)])
    rows = csr_array((bags.weights, bags.words, bags.starts), shape=(len(bags), 30))
    expected = (rows @ vectors.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(centroids(bags, vectors), expected)
    with single_threaded():
        np.testing.assert_array_equal(centroids(bags, vectors), expected)


def test_no_bags_have_no_centroids() -> None:
    assert centroids(Bags.of([]), np.ones((3, 2), np.float32)).shape == (0, 2)


@given(documents())
def test_the_centroid_encoder_returns_centroids(batch: Documents) -> None:
    encoder = Centroid.fit(batch, {})
    np.testing.assert_array_equal(encoder.encode(batch), centroids(batch.bags, batch.vectors))
    with pytest.raises(EncoderError, match="fit it again"):
        Centroid(encoder.dim + 1).encode(batch)


def test_a_state_without_dimensions_is_rejected() -> None:
    with pytest.raises(EncoderError, match="1 or more, not 0"):
        Centroid.restore({"dim": np.array(0, np.int64)})


@given(documents(), documents())
def test_centroids_with_idf_are_those_of_bags_with_tfidf(training: Documents, batch: Documents) -> None:
    encoder = Centroid.fit(training, {"idf": "yes"})
    if encoder.dim != batch.vectors.shape[1]:
        return
    frequencies = dict.fromkeys(batch.word_ids.tolist(), 0)
    for bag in training.bags:
        for word in training.word_ids[bag.words].tolist():
            frequencies[word] = frequencies.get(word, 0) + 1
    tolerance = 1e-6 * float(np.abs(batch.vectors).max())
    for row, bag in zip(encoder.encode(batch).tolist(), batch.bags, strict=True):
        idf = [naive.idf(frequencies[word], len(training)) for word in batch.word_ids[bag.words].tolist()]
        expected = naive.centroid(Bag.of(bag.words, bag.weights * idf), batch.vectors)
        assert row == pytest.approx(expected, rel=1e-6, abs=tolerance)


def test_the_centroid_with_idf_is_no_bound() -> None:
    training = random_documents(0)
    plain, idf = Centroid.fit(training, {}), Centroid.fit(training, {"idf": "yes"})
    assert (plain.is_bound, idf.is_bound) == (True, False)
    assert set(plain.state()) == {"dim"}
    restored = Centroid.restore(idf.state())
    assert state_bytes(restored) == state_bytes(idf) != state_bytes(plain)
    assert not restored.is_bound


@pytest.mark.parametrize("key", ["word_ids", "frequencies", "documents"])
def test_impossible_frequencies_are_rejected(key: str) -> None:
    state = Centroid.fit(random_documents(0), {"idf": "yes"}).state()
    invalid = {"word_ids": state["word_ids"][::-1], "frequencies": 0 * state["frequencies"], "documents": np.array(0)}
    with pytest.raises(EncoderError, match="increasing word ids, with frequencies from 1 to the number of documents"):
        Centroid.restore(state | {key: invalid[key]})
    with pytest.raises(EncoderError, match=f"has no '{key}'"):
        Centroid.restore({name: array for name, array in state.items() if name != key})
