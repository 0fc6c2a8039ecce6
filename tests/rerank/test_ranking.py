from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.ranking import DISTANCES, Distance, Hit, Ranking, StageCounts

COUNTS = st.builds(StageCounts, *[st.integers(0, 10**9)] * 5)


def test_the_distances_are_those_of_the_literal_type() -> None:
    assert get_args(Distance) == DISTANCES
    assert set(DISTANCES) == {"wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd"}


@pytest.mark.parametrize(("distance", "score"), [(0.0, 1.0), (1.0, 0.5), (3.0, 0.25), (float("inf"), 0.0)])
def test_the_score_falls_from_one_to_zero(distance: float, score: float) -> None:
    assert Hit("key", distance).score == score


@given(COUNTS, COUNTS)
def test_counts_are_added_by_stage(one: StageCounts, other: StageCounts) -> None:
    both = (one + other).as_dict()
    assert list(both) == ["candidates", "rwmd", "dual", "sinkhorn", "solved"]
    assert both == {name: one.as_dict()[name] + other.as_dict()[name] for name in both}
    assert one + StageCounts() == one


def test_a_ranking_has_empty_defaults_and_is_frozen() -> None:
    ranking = Ranking((Hit("a", 0.5),), certified=True, scope="collection")
    assert ranking.counts == StageCounts()
    assert (ranking.hits[0].title, ranking.hits[0].label, ranking.hits[0].flows) == ("", None, ())
    with pytest.raises(AttributeError):
        ranking.certified = False  # type: ignore[misc]  # the assignment must fail
