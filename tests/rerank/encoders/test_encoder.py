import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.encoders.centroid import Centroid, centroids
from rerank.encoders.encoder import Documents, fingerprint, known, part, sample_rows, unit
from rerank.encoders.fisher import Fisher
from rerank.errors import EncoderError
from tests import naive_encoders
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
