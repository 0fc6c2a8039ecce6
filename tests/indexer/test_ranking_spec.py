"""Specifications of rankings, as options spell them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import UsageError
from moverank.indexer.values.ranking_spec import (
    PAPER_GAMMA,
    ScorerChoice,
    own_ranking,
    parse_ranking,
    ranking_names,
    resolve,
    scorer_named,
)

_SUM = "pwmd:gamma=0.5,mu=20,weights=tfidf+0.5*cover+1.5*bm25:k1=1e+0,stem=english+prior:field=votes"


@pytest.mark.parametrize(
    ("rank", "gamma", "stored_gamma", "resolved"),
    [
        (None, None, 0.0, ("wmd", 0.0)),
        (None, None, 0.4, ("pwmd", 0.4)),
        (None, 0.0, 0.4, ("pwmd", 0.0)),
        (None, 0.2, 0.0, ("pwmd", 0.2)),
        ("wmd", None, 0.4, ("wmd", 0.0)),
        ("wmd", 0.0, 0.4, ("wmd", 0.0)),
        ("pwmd", None, 0.0, ("pwmd", PAPER_GAMMA)),
        ("pwmd", None, 0.4, ("pwmd", 0.4)),
        ("pwmd", 0.0, 0.4, ("pwmd", 0.0)),
        ("pwmd:gamma=0.1", 0.2, 0.4, ("pwmd", 0.1)),
        ("rwmd", None, 0.4, ("rwmd", 0.4)),
        ("wcd", 0.1, 0.4, ("wcd", 0.1)),
    ],
)
def test_distance_and_gamma_follow_from_options_and_settings(
    rank: Any, gamma: float | None, stored_gamma: float, resolved: tuple[str, float]
) -> None:
    ranking = resolve(rank, gamma, own_ranking("", stored_gamma, "tf"))
    assert (ranking.plain, ranking.gamma, ranking.weights) == (*resolved, "tf")


def test_the_collection_s_ranking_is_the_default() -> None:
    own = own_ranking("wmd+0.4*bm25", 0.75, "tfidf")
    assert [(term.name, term.weight, term.gamma) for term in resolve(None, None, own).terms] == [
        ("wmd", 1.0, None),
        ("bm25", 0.4, 0.75),
    ]
    with_gamma = resolve(None, 0.5, own)
    assert [term.name for term in with_gamma.terms] == ["pwmd", "bm25"]
    assert (with_gamma.gamma, with_gamma.terms[1].gamma, with_gamma.weights) == (0.5, 0.5, "tfidf")


def test_a_sum_has_terms_with_weights_and_options() -> None:
    ranking = parse_ranking(_SUM)
    assert str(ranking) == _SUM
    assert str(parse_ranking(" 2 * wmd +bm25 ")) == "2*wmd+bm25"
    assert [term.weight for term in ranking.terms] == [1, 0.5, 1.5, 1]
    assert ranking.terms[0].mu == 20
    assert ranking.terms[2].scorer == ScorerChoice("bm25", (("k1", "1e+0"),), "english")
    assert ranking.plain is None
    resolved = resolve(_SUM, None, own_ranking("", 0.75, "tf"))
    assert (resolved.gamma, resolved.weights, resolved.terms[2].gamma) == (0.5, "tfidf", 0.75)


@given(st.lists(st.tuples(st.floats(0.001, 1000), st.sampled_from(ranking_names())), min_size=1, max_size=5))
def test_a_specification_is_read_back_as_it_is_written(terms: list[tuple[float, str]]) -> None:
    text = "+".join(f"{weight}*{name}" + (":field=x" if name == "prior" else "") for weight, name in terms)
    if {"wmd", "pwmd"} <= {name for _, name in terms}:
        with pytest.raises(UsageError, match="only one of wmd and pwmd"):
            parse_ranking(text)
    else:
        ranking = parse_ranking(text)
        expected = {name: sum(weight for weight, other in terms if other == name) for _, name in terms}
        assert {term.name: term.weight for term in ranking.terms} == pytest.approx(expected)
        assert len(ranking.terms) == len(expected)


def test_a_scorer_is_its_name_and_its_options() -> None:
    assert scorer_named("tfidf") == ScorerChoice("tfidf")
    assert scorer_named("bm25:k1=0.9,b=0.4") == ScorerChoice("bm25", (("b", "0.4"), ("k1", "0.9")))
    assert scorer_named("bm25:stem=german") == ScorerChoice("bm25", (), "german")
    assert scorer_named("bm25:ngrams=4.0,k1=2") == ScorerChoice("bm25", (("k1", "2"),), "ngrams=4")
    assert scorer_named("wmd") is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "there is no ranking ''"),
        ("bm26", "sums of wmd, pwmd, rwmd, chamfer, cover, wcd, cosine, bow"),
        ("bm25:k9=1", "bm25 has no option 'k9'"),
        ("bm25:b=2", "b must be a number from 0 to 1"),
        ("bm25:b", "'b' is not of the form KEY=VALUE"),
        ("bm25:=1", "'=1' is not of the form KEY=VALUE"),
        ("bm25:stem=klingon", "there are no stems for 'klingon': choose arabic"),
        ("bm25:ngrams=1", "ngrams must be a whole number from 2 to 8, not '1'"),
        ("bm25:ngrams=2.5", "ngrams must be a whole number from 2 to 8, not '2.5'"),
        ("tfidf:ngrams=4,stem=english", "a scorer counts stems or n-grams: leave stem or ngrams out"),
        ("wmd:ngrams=4", "wmd has no option 'ngrams'"),
        ("wmd:gamma=0.5", "wmd weighs all parts alike"),
        ("wmd:weights=idf", "weights must be tf, tfidf, norm or model, not 'idf'"),
        ("wmd:mu=-1", "mu must be a number of 0 or more"),
        ("wmd:nu=1", "wmd has no option 'nu': choose gamma, weights, mu"),
        ("wmd+pwmd", "only one of wmd and pwmd"),
        ("wmd:weights=tf+cover:weights=tfidf", "have the same weights"),
        ("0*wmd+bm25", "the weight of a term must be a number above 0, not '0'"),
        ("x*wmd", "the weight of a term must be a number above 0, not 'x'"),
        ("wmd+", "'wmd\\+'|no ranking"),
        ("wmd+prior", "a prior needs the name of a numeric field"),
        ("prior:field=votes,scale=root", "the scale of a prior is log or linear"),
        ("vector:x=1", "vector has no option 'x': choose it has none|vector has no option"),
        ("1e7*wmd", "the weight of a term is at most 1,000,000, not 1e7"),
        ("1e308*wmd+1e308*bm25", "the weight of a term is at most 1,000,000, not 1e308"),
        ("+".join(f"bm25:k1={i}" for i in range(21)), "a ranking has at most 20 terms, not 21"),
        ("wmd+" * 1_000_000 + "wmd", "a ranking has at most 2,000 characters, not 4,000,003"),
    ],
)
def test_unknown_names_and_invalid_options_are_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(spec, None, own_ranking("", 0.0, "tf"))


def test_wmd_takes_no_gamma() -> None:
    with pytest.raises(UsageError, match="wmd weighs all parts alike"):
        resolve("wmd+bm25", 0.5, own_ranking("", 0.0, "tf"))
    with pytest.raises(UsageError, match="gamma must be a number of 0 or more"):
        resolve(None, -1.0, own_ranking("", 0.0, "tf"))
