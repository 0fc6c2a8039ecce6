"""Names of distances, scorers and blends, as options spell them."""

from typing import Any

import pytest

from moverank import UsageError
from moverank.indexer.ranking_spec import PAPER_GAMMA, Blend, ScorerChoice, blend_named, resolve, scorer_named

_BM25 = ScorerChoice("bm25", (("b", "0.4"), ("k1", "0.9")))


@pytest.mark.parametrize(
    ("distance", "gamma", "stored_gamma", "resolved"),
    [
        (None, None, 0.0, ("wmd", 0.0)),
        (None, None, 0.4, ("pwmd", 0.4)),
        (None, 0.0, 0.4, ("wmd", 0.0)),
        (None, 0.2, 0.0, ("pwmd", 0.2)),
        ("wmd", None, 0.4, ("wmd", 0.0)),
        ("wmd", 0.0, 0.4, ("wmd", 0.0)),
        ("pwmd", None, 0.0, ("pwmd", PAPER_GAMMA)),
        ("pwmd", None, 0.4, ("pwmd", 0.4)),
        ("pwmd", 0.0, 0.4, ("pwmd", 0.0)),
        ("rwmd", None, 0.4, ("rwmd", 0.4)),
        ("wcd", 0.1, 0.4, ("wcd", 0.1)),
    ],
)
def test_distance_and_gamma_follow_from_options_and_settings(
    distance: Any, gamma: float | None, stored_gamma: float, resolved: tuple[str, float]
) -> None:
    assert resolve(distance, gamma, stored_gamma) == resolved


def test_a_scorer_is_its_name_and_its_options() -> None:
    assert scorer_named("pl2") == ScorerChoice("pl2")
    assert scorer_named("bm25:k1=0.9,b=0.4") == scorer_named("bm25:b=0.4,k1=0.9") == _BM25
    assert scorer_named("wmd") is None


def test_a_scorer_ranks_at_the_gamma_of_the_collection() -> None:
    assert resolve("bm25:k1=0.9,b=0.4", None, 0.75) == (_BM25, 0.75)
    assert resolve("bow", 0.0, 0.75) == (ScorerChoice("bow"), 0.0)


@pytest.mark.parametrize(
    ("spec", "blend"),
    [
        ("bm25", Blend(ScorerChoice("bm25"), None)),
        ("bm25=0.3", Blend(ScorerChoice("bm25"), 0.3)),
        ("bm25=1", Blend(ScorerChoice("bm25"), 1.0)),
        ("bm25:b=0.4,k1=0.9=0.25", Blend(_BM25, 0.25)),
    ],
)
def test_a_blend_is_a_scorer_and_its_share(spec: str, blend: Blend) -> None:
    assert blend_named(spec) == blend


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bm26", "choose one of wmd, pwmd, rwmd, wcd, bow"),
        ("bm25:k9=1", "bm25 has no option 'k9'"),
        ("bm25:b=2", "b must be a number from 0 to 1"),
        ("bm25:b", "'b' is not of the form KEY=VALUE"),
        ("bm25:=1", "'=1' is not of the form KEY=VALUE"),
    ],
)
def test_unknown_names_and_invalid_options_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(spec, None, 0.0)


@pytest.mark.parametrize("spec", ["wmd=0.3", "=0.3", "", "bm26", "bm25=", "bm25=2", "bm25=x", "bm25=nan", "bm25=-0.1"])
def test_an_invalid_blend_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"a blend is SCORER=SHARE|the share of bm25 in a blend"):
        blend_named(spec)
