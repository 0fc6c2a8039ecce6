import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag
from moverank.rerank.encoders.centroid import Centroid, centroids
from moverank.rerank.encoders.encoder import Documents, fingerprint, known, part, sample_rows, unit
from moverank.rerank.encoders.fisher import Fisher
from moverank.rerank.errors import EncoderError
from tests import naive, naive_encoders
from tests.rerank.encoders.worlds import documents, random_documents

ROWS = st.lists(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=3, max_size=3), max_size=5)


@given(ROWS)
def test_unit_rows_are_those_of_the_twin(rows: list[list[float]]) -> None:
    found = unit(np.reshape(np.array(rows, np.float64), (-1, 3)))
    for ours, row in zip(found.tolist(), rows, strict=True):
        largest = max(map(abs, row)) or 1
        assert ours == pytest.approx(naive_encoders.unit([x / largest for x in row]), rel=1e-12)


@given(documents(), st.lists(st.integers(0, 120), unique=True))
def test_known_words_are_those_of_the_fit(asked: Documents, fitted: list[int]) -> None:
    ids = sorted(fitted)
    bags = known(asked, np.array(ids, np.int64))
    assert len(bags) == len(asked)
    for row, bag in enumerate(asked.bags):
        named = zip(asked.word_ids[bag.words].tolist(), bag.weights.tolist(), strict=True)
        span = slice(bags.starts[row], bags.starts[row + 1])
        found = {ids[word]: w for word, w in zip(bags.words[span].tolist(), bags.weights[span].tolist(), strict=True)}
        assert found == {word: weight for word, weight in named if word in fitted}


def test_a_sample_is_drawn_once_for_a_seed() -> None:
    assert sample_rows(5, 5, 0).tolist() == [0, 1, 2, 3, 4]
    drawn = sample_rows(1000, 10, 0)
    assert len(np.unique(drawn)) == 10
    assert np.all(np.diff(drawn) > 0)
    np.testing.assert_array_equal(drawn, sample_rows(1000, 10, 0))
    assert drawn.tolist() != sample_rows(1000, 10, 1).tolist()


def test_a_fingerprint_is_of_content_not_of_memory() -> None:
    encoder = Fisher.fit(random_documents(0), {"k": "3"})
    state = encoder.state()
    swapped = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in state.items()}

    class Other(Fisher):
        def state(self) -> dict[str, np.ndarray]:
            return dict(reversed(swapped.items()))

    other = Other(encoder.principal, encoder.mixture, encoder.variances, encoder.power, encoder.l2)
    assert fingerprint(other) == fingerprint(encoder)
    assert len(fingerprint(encoder)) == 64


def test_a_part_says_what_it_should_be() -> None:
    with pytest.raises(EncoderError, match=r"'a' .* must be float64 of shape \(2, any\), not int64 of \(3,\)"):
        part({"a": np.arange(3)}, "a", np.float64, (2, None))


@given(documents())
def test_centroids_are_an_encoding(asked: Documents) -> None:
    encoder = Centroid.fit(asked, {})
    np.testing.assert_array_equal(encoder.encode(asked), centroids(asked.bags, asked.vectors))
    with pytest.raises(EncoderError, match="fit it again"):
        Centroid(encoder.dim + 1).encode(asked)


def test_a_state_without_dimensions_is_refused() -> None:
    with pytest.raises(EncoderError, match="1 or more, not 0"):
        Centroid.restore({"dim": np.array(0, np.int64)})


@given(documents(), documents())
def test_centroids_with_idf_are_those_of_bags_with_tfidf(learned_from: Documents, asked: Documents) -> None:
    encoder = Centroid.fit(learned_from, {"idf": "yes"})
    if encoder.dim != asked.vectors.shape[1]:
        return
    found = dict.fromkeys(asked.word_ids.tolist(), 0)
    for bag in learned_from.bags:
        for word in learned_from.word_ids[bag.words].tolist():
            found[word] = found.get(word, 0) + 1
    allowed = 1e-6 * float(np.abs(asked.vectors).max())
    for row, bag in zip(encoder.encode(asked).tolist(), asked.bags, strict=True):
        counts = [found[word] for word in asked.word_ids[bag.words].tolist()]
        weights = [
            weight * (math.log((1 + len(learned_from)) / (1 + count)) + 1)
            for weight, count in zip(bag.weights.tolist(), counts, strict=True)
        ]
        assert row == pytest.approx(naive.centroid(Bag.of(bag.words, weights), asked.vectors), rel=1e-6, abs=allowed)


def test_idf_is_a_centroid_of_the_same_name_that_is_no_bound() -> None:
    learned_from = random_documents(0)
    plain, idf = Centroid.fit(learned_from, {}), Centroid.fit(learned_from, {"idf": "yes"})
    assert (plain.is_bound, idf.is_bound) == (True, False)
    assert set(plain.state()) == {"dim"}
    again = Centroid.restore(idf.state())
    assert fingerprint(again) == fingerprint(idf) != fingerprint(plain)
    assert not again.is_bound


@pytest.mark.parametrize("key", ["word_ids", "frequencies", "documents"])
def test_frequencies_that_cannot_be_are_refused(key: str) -> None:
    state = Centroid.fit(random_documents(0), {"idf": "yes"}).state()
    wrong = {"word_ids": state["word_ids"][::-1], "frequencies": 0 * state["frequencies"], "documents": np.array(0)}
    with pytest.raises(EncoderError, match="words that increase, of no more documents than all"):
        Centroid.restore(state | {key: wrong[key]})
    with pytest.raises(EncoderError, match=f"has no '{key}'"):
        Centroid.restore({name: array for name, array in state.items() if name != key})
