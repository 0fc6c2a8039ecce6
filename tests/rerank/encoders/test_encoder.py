import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, encode, known, part, sample_rows
from moverank.rerank.errors import EncoderError
from moverank.rerank.testing.sample_documents import random_documents
from tests.rerank.encoders.worlds import documents


def test_vectors_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, encoder = random_documents(0), Centroid(6)
    good = encode(encoder, batch)
    assert good.tobytes() == encoder.encode(batch).tobytes()
    bad = [
        (good.astype(float), "float64 of"),
        (good[:, :3], r"not float32 of \(40, 6\)"),
        ([1], "list, not"),
        (good * np.float32(np.nan), "not finite"),
    ]
    for vectors, fault in bad:
        monkeypatch.setattr(Centroid, "encode", lambda *_, vectors=vectors: vectors)
        with pytest.raises(EncoderError, match=f"the encoder 'centroid' returned .*{fault}"):
            encode(encoder, batch)


@given(documents(), st.lists(st.integers(0, 120), unique=True))
def test_known_words_are_those_of_the_fit(batch: Documents, fitted: list[int]) -> None:
    ids = sorted(fitted)
    bags = known(batch, np.array(ids, np.int64))
    assert len(bags) == len(batch)
    for row, bag in enumerate(batch.bags):
        by_id = zip(batch.word_ids[bag.words].tolist(), bag.weights.tolist(), strict=True)
        span = slice(bags.starts[row], bags.starts[row + 1])
        weights = {ids[word]: w for word, w in zip(bags.words[span].tolist(), bags.weights[span].tolist(), strict=True)}
        assert weights == {word: weight for word, weight in by_id if word in fitted}


def test_samples_are_reproducible_by_seed() -> None:
    assert sample_rows(5, 5, 0).tolist() == [0, 1, 2, 3, 4]
    drawn = sample_rows(1000, 10, 0)
    assert len(np.unique(drawn)) == 10
    assert np.all(np.diff(drawn) > 0)
    np.testing.assert_array_equal(drawn, sample_rows(1000, 10, 0))
    assert drawn.tolist() != sample_rows(1000, 10, 1).tolist()


def test_an_invalid_part_is_rejected_with_the_valid_shape() -> None:
    with pytest.raises(EncoderError, match=r"'a' .* must be float64 of shape \(2, any\), not int64 of \(3,\)"):
        part({"a": np.arange(3)}, "a", np.float64, (2, None))
