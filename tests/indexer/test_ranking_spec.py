"""How ways to rank are named."""

import pytest

from moverank import UsageError
from moverank.indexer.ranking_spec import Blend, ScorerChoice, blend_named, resolve, scorer_named

_BM25 = ScorerChoice("bm25", (("b", "0.4"), ("k1", "0.9")))


def test_a_scorer_has_options_behind_its_name() -> None:
    assert scorer_named("pl2") == ScorerChoice("pl2")
    assert scorer_named("bm25:k1=0.9,b=0.4") == scorer_named("bm25:b=0.4,k1=0.9") == _BM25
    assert scorer_named("wmd") is None


def test_a_scorer_is_a_way_to_rank_at_the_gamma_of_the_collection() -> None:
    assert resolve("bm25:k1=0.9,b=0.4", None, 0.75) == (_BM25, 0.75)
    assert resolve("bow", 0.0, 0.75) == (ScorerChoice("bow"), 0.0)


@pytest.mark.parametrize(
    ("typed", "blend"),
    [
        ("bm25", Blend(ScorerChoice("bm25"), None)),
        ("bm25=0.3", Blend(ScorerChoice("bm25"), 0.3)),
        ("bm25=1", Blend(ScorerChoice("bm25"), 1.0)),
        ("bm25:b=0.4,k1=0.9=0.25", Blend(_BM25, 0.25)),
    ],
)
def test_a_blend_is_a_scorer_and_its_share(typed: str, blend: Blend) -> None:
    assert blend_named(typed) == blend


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("bm26", "choose one of wmd, pwmd, rwmd, wcd, bow"),
        ("bm25:k9=1", "bm25 has no option 'k9'"),
        ("bm25:b=2", "b must be a number from 0 to 1"),
        ("bm25:b", "'b' is not of the form KEY=VALUE"),
        ("bm25:=1", "'=1' is not of the form KEY=VALUE"),
    ],
)
def test_what_there_is_not_is_refused(typed: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        resolve(typed, None, 0.0)


@pytest.mark.parametrize("typed", ["wmd=0.3", "=0.3", "", "bm26", "bm25=", "bm25=2", "bm25=x", "bm25=nan", "bm25=-0.1"])
def test_a_blend_that_is_none_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match=r"a blend is SCORER=SHARE|the share of bm25 in a blend"):
        blend_named(typed)
