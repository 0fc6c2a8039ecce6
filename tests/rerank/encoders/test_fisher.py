from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders import fisher
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.fisher import LEAST, Fisher, Mixture, Principal
from moverank.rerank.errors import EncoderError
from moverank.rerank.testing.sample_documents import make_documents, random_documents
from tests import naive, naive_encoders
from tests.rerank.encoders.test_mixture import plain, random_mixture
from tests.rerank.encoders.worlds import documents

RAW = {"power": "no", "l2": "no"}


def encoder_of(mixture: Mixture, *, variances: bool = False, power: bool = False, l2: bool = False) -> Fisher:
    """Return an encoder with the identity as projection."""
    e = mixture.means.shape[1]
    return Fisher(Principal(np.zeros(e), np.eye(e)), mixture, variances, power, l2)


@given(documents(), st.integers(1, 5), st.booleans(), st.integers(0, 2**32))
def test_vectors_equal_the_naive_ones(batch: Documents, k: int, variances: bool, seed: int) -> None:
    mixture = random_mixture(np.random.default_rng(seed), k, batch.vectors.shape[1])
    vectors = batch.vectors / max(1.0, float(np.abs(batch.vectors).max()))
    batch = Documents(batch.bags, batch.lengths, batch.word_ids, vectors)
    raw = encoder_of(mixture, variances=variances).encode(batch)
    normalised = encoder_of(mixture, variances=variances, power=True, l2=True).encode(batch)
    for row, bag in enumerate(batch.bags):
        words = dict(zip(bag.words.tolist(), bag.weights.tolist(), strict=True))
        points = vectors.astype(np.float64).tolist()
        expected = naive_encoders.fisher(words, points, plain(mixture), LEAST, variances=variances)
        np.testing.assert_allclose(raw[row], expected, rtol=1e-5, atol=1e-6)
        # The square root amplifies the rounding errors of differences of equal numbers.
        expected = naive.unit(naive_encoders.signed_root(expected))
        np.testing.assert_allclose(normalised[row], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("variances", [False, True])
def test_vectors_are_gradients_of_the_likelihood(variances: bool) -> None:
    rng = np.random.default_rng(1)
    mixture, step = random_mixture(rng, 3, 2), 1e-6
    single = make_documents([Bag.of([0, 1, 2, 3], [1, 2, 3, 4])], rng.standard_normal((4, 2)).astype(np.float32))
    points, weights = single.vectors.astype(np.float64).tolist(), single.bags.weights

    def likelihood(means: np.ndarray, deviations: np.ndarray) -> float:
        moved = plain(Mixture(mixture.shares, means, deviations**2))
        return float(weights @ [naive_encoders.log_likelihood(point, moved) for point in points])

    deviations = np.sqrt(mixture.variances)
    expected = np.empty((2, 3, 2))
    for index in np.ndindex(3, 2):
        moves = np.zeros((3, 2))
        moves[index] = step
        by_mean = likelihood(mixture.means + moves, deviations) - likelihood(mixture.means - moves, deviations)
        by_deviation = likelihood(mixture.means, deviations + moves) - likelihood(mixture.means, deviations - moves)
        # The Fisher information of a Gaussian's mean and of its deviation: share / variance, and twice that.
        scale = deviations[index] / np.sqrt(mixture.shares[index[0]])
        expected[0][index] = scale * by_mean / (2 * step)
        expected[1][index] = scale / np.sqrt(2) * by_deviation / (2 * step)
    gradient = encoder_of(mixture, variances=variances).encode(single)[0]
    np.testing.assert_allclose(gradient, expected.ravel() if variances else expected[0].ravel(), atol=1e-3)


def test_with_one_gaussian_the_vector_is_the_whitened_centroid() -> None:
    training = random_documents(2)
    encoder = Fisher.fit(training, {**RAW, "k": "1", "dim": "6"})
    centroids = Centroid.fit(training, {}).encode(training)
    points = encoder.principal.project(centroids)
    mixture = encoder.mixture
    expected = (points - mixture.means) / np.sqrt(mixture.variances)
    np.testing.assert_allclose(encoder.encode(training), expected, rtol=1e-4, atol=1e-5)
    assert encoder.metric == "l2"


def test_words_far_from_all_gaussians_count() -> None:
    mixture = Mixture(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.full((2, 1), 1e-4))
    far = make_documents([Bag.of([0], [1])], np.array([[1e6]], np.float32))
    assert encoder_of(mixture, l2=True).encode(far).tolist() == [[0, 1]]


def test_the_weight_of_a_word_is_a_power_of_its_frequency() -> None:
    # Two of three words are near each other; the third one is nine tenths of the tokens.
    vectors = np.array([[0, 0], [0, 1], [9, 9]], np.float32)
    training = make_documents([Bag.of([0, 1, 2], [1, 1, 18])], vectors)
    shares = {power: Fisher.fit(training, {"k": "2", "frequency": power}).mixture.shares for power in "01"}
    np.testing.assert_allclose(np.sort(shares["0"]), [1 / 3, 2 / 3])
    np.testing.assert_allclose(np.sort(shares["1"]), [0.1, 0.9])


def test_the_fit_takes_a_sample_of_words() -> None:
    training = random_documents(3, n=200, v=150)
    encoder = Fisher.fit(training, {"sample": "20", "k": "64"})
    assert encoder.mixture.means.shape == (20, 6)
    assert encoder.encode(training).shape == (200, 120)


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = random_documents(4, n=50)
    encoder = Fisher.fit(batch, {"k": "4"})
    whole = encoder.encode(batch)
    monkeypatch.setattr(fisher, "_PORTION", 11)
    monkeypatch.setattr(fisher, "_CELLS", 100)
    assert encoder.encode(batch).tobytes() == whole.tobytes()


def test_word_vectors_of_another_dimension_and_empty_fits_are_rejected() -> None:
    encoder = Fisher.fit(random_documents(5), {"k": "4"})
    with pytest.raises(EncoderError, match="word vectors of 6 dimensions, not 5: fit it again"):
        encoder.encode(random_documents(5, d=5))
    with pytest.raises(EncoderError, match="no word to learn from"):
        Fisher.fit(random_documents(5).take(np.empty(0, np.int64)), {})


@pytest.mark.parametrize("change", ["shares", "spreads"])
def test_invalid_states_are_rejected(change: str) -> None:
    state = Fisher.fit(random_documents(6), {"k": "4"}).state()
    with pytest.raises(EncoderError, match="above zero"):
        Fisher.restore(state | {change: -state[change]})
    narrow = {name: state[name][:, :2].copy() for name in ("means", "spreads")}
    with pytest.raises(EncoderError, match="a number for each axis"):
        Fisher.restore(state | narrow)


def test_large_numbers_stay_finite_without_scaling() -> None:
    far = make_documents([Bag.of([0, 1], [1, 1])], np.array([[1e15, 0], [0, 1]], np.float32))
    near = make_documents([Bag.of([0, 1], [1, 1])], np.array([[1e-15, 0], [0, 1e-15]], np.float32))
    encoder = Fisher.fit(near, {**RAW, "variances": "yes"})
    assert np.all(np.isfinite(encoder.encode(far)))


@pytest.mark.slow
def test_candidates_contain_most_neighbours_by_exact_distance(shared: Path) -> None:
    from moverank.rerank.distance.nearest import nearest
    from moverank.rerank.distance.query_bag import QueryBag
    from tests.rerank.encoders.real import real_documents

    whole = real_documents(shared, "bbcsport", 300)
    queries, stored = whole.take(np.arange(30)), whole.take(np.arange(30, 300))
    candidates = {}
    for encoder in (Fisher.fit(stored, {}), Centroid.fit(stored, {})):
        vectors, query_vectors = encoder.encode(stored), encoder.encode(queries)
        if encoder.metric == "ip":
            order = np.argsort(-query_vectors @ vectors.T, axis=1)
        else:
            order = np.argsort(((query_vectors[:, None] - vectors) ** 2).sum(axis=2), axis=1)
        candidates[encoder.name] = order[:, :20]
    hits = dict.fromkeys(candidates, 0)
    for row, bag in enumerate(queries.bags):
        exact = nearest(QueryBag(bag, queries.vectors[bag.words]), stored.bags, stored.vectors, 10).rows
        for name in candidates:
            hits[name] += len(np.intersect1d(candidates[name][row], exact))
    assert hits["fisher"] / 300 > 0.8
    assert hits["fisher"] > hits["centroid"] + 30


def test_a_larger_vocabulary_does_not_change_the_result() -> None:
    whole = random_documents(7)
    encoder = Fisher.fit(whole, {"k": "4"})
    wider = Documents(
        Bags(whole.bags.starts, whole.bags.words + np.int32(2), whole.bags.weights),
        whole.lengths,
        np.concatenate([[0, 1], whole.word_ids + 1]),
        np.concatenate([np.full((2, 6), 7, np.float32), whole.vectors]),
    )
    assert encoder.encode(wider).tobytes() == encoder.encode(whole).tobytes()
