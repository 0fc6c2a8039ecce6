import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.falling_scores import falling_scores, strictly_falling

VALUES = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 1e-300, 7.0]), st.floats(0, 1e3)), max_size=50)


@given(values=VALUES, wordless=st.integers(0, 20))
def test_scores_fall_strictly_even_as_float32(values: list[float], wordless: int) -> None:
    scores = falling_scores(np.sort(np.array(values, np.float64)), wordless)
    assert len(scores) == len(values) + wordless
    assert np.all(np.diff(scores.astype(np.float32)) < 0)
    assert np.all((scores > 0) & (scores <= 1))


@given(values=VALUES)
def test_a_score_is_nearly_that_of_its_value(values: list[float]) -> None:
    ordered = np.sort(np.array(values, np.float64))
    np.testing.assert_allclose(falling_scores(ordered, 0), 1 / (1 + ordered), rtol=len(values) * 2**-22 + 1e-15)


def test_distinct_values_keep_their_scores() -> None:
    values = np.array([0.0, 0.25, 1.0, 3.0])
    np.testing.assert_array_equal(falling_scores(values, 2)[:4], [1.0, 0.8, 0.5, 0.25])
    assert np.all(falling_scores(values, 2)[4:] < 1e-6)


@given(values=st.lists(st.floats(-100, 100, width=32) | st.just(0.0), max_size=20))
def test_any_scores_fall_and_those_that_fell_stay(values: list[float]) -> None:
    scores = np.array(sorted(values, reverse=True))
    falling = strictly_falling(scores)
    assert np.all(np.diff(falling.astype(np.float32)) < 0)
    np.testing.assert_allclose(falling, scores, rtol=1e-5, atol=1e-40)
    if len(set(values)) == len(values):
        assert falling.tolist() == scores.tolist()
