"""Evidence against a matching of single units, and what each part of the answer says."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from moverank.rerank.errors import NoKnownWords, OptionError
from moverank.rerank.plugins.evidence.allowed_arcs import Passages, cost_limit
from moverank.rerank.plugins.evidence.evidence import Evidence, evidence_of
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import tokenizer_of
from moverank.rerank.words.typed_units import units_of
from moverank.rerank.words.unit import Unit

TOKENIZER = tokenizer_of("auto", "en")
WORDS = ["cat", "kitten", "dog", "puppy", "car", "truck", "sleeps", "naps", "effective", "useful"]
POINTS = np.array([[i // 2 * 3.0, i % 2 * 0.5] for i in range(len(WORDS))], np.float32)
EMBEDDING = Embedding.of(WORDS, POINTS)
"""Two words of a pair are .5 apart, others at least 3."""

TAU = 0.6
_TEXTS = st.lists(
    st.sampled_from([*WORDS, "zorp", "p53", "5 mg", "0.005 g", "7", "seven", "2020", "12 March 2020", "not", "."]),
    min_size=1,
    max_size=14,
).map(" ".join)


def _evidence(claim: str, *sources: str, tau: float | None = TAU) -> Evidence:
    numbered = [(str(i), [(0, text)]) for i, text in enumerate(sources)]
    return evidence_of([(0, claim)], numbered, TOKENIZER, EMBEDDING, tau)


def _may_be_carried(own: Unit, other: Unit, tau: float) -> bool:
    if own.key == other.key:
        return True
    if (own.kind, own.value, other.kind, other.value) == ("date", "2020", "date", "2020-03-12"):
        return True
    known = own.value in WORDS and other.value in WORDS and own.kind == other.kind == "word"
    if not known or own.negated != other.negated:
        return False
    points = POINTS[[WORDS.index(own.value), WORDS.index(other.value)]].astype(float)
    return float(cdist(points, points)[0, 1]) <= tau


_FORBIDDEN = 1000.0


def _cost(own: Unit, other: Unit) -> float:
    if not _may_be_carried(own, other, TAU):
        return _FORBIDDEN
    return 0.0 if own.key == other.key or own.kind == "date" else 0.5


def _most(claim: Sequence[Unit], sources: Sequence[Unit], tau: float) -> int:
    if not (claim and sources):
        return 0
    allowed = [[int(_may_be_carried(own, other, tau)) for other in sources] for own in claim]
    return int((maximum_bipartite_matching(csr_array(np.array(allowed)), perm_type="column") >= 0).sum())


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3), st.sampled_from([0.0, 0.5, TAU, 5.0]))
def test_each_sentence_is_a_matching_of_most_units(claim: str, sources: list[str], tau: float) -> None:
    if not units_of(claim, TOKENIZER):
        return
    evidence = _evidence(claim, *sources, tau=tau)
    others = [unit for text in sources for unit in units_of(text, TOKENIZER)]
    own = units_of(claim, TOKENIZER)
    for sentence in evidence.sentences:
        inside = [one for one in own if sentence.span.start <= one.start < sentence.span.end]
        assert sentence.units == len(inside)
        assert sentence.covered_units == sentence.most == _most(inside, others, tau)
        assert sum(one.units for one in sentence.carried) == sentence.covered_units
        assert sum(one.units for one in sentence.uncovered) == sentence.units - sentence.covered_units
    assert evidence.certified
    assert evidence.units == len(own)


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3))
def test_spans_are_those_of_units_that_may_be_carried(claim: str, sources: list[str]) -> None:
    if not units_of(claim, TOKENIZER):
        return
    for sentence in _evidence(claim, *sources).sentences:
        used = list[tuple[str, int]]()
        for run in sentence.carried:
            own = units_of(claim, TOKENIZER)
            others = units_of(sources[int(run.key)], TOKENIZER)
            mine = [one for one in own if run.span.start <= one.start and one.end <= run.span.end]
            theirs = [one for one in others if run.source.start <= one.start and one.end <= run.source.end]
            assert len(mine) == len(theirs) == run.units
            assert all(_may_be_carried(one, other, TAU) for one, other in zip(mine, theirs, strict=True))
            assert 0 <= run.cost <= TAU
            assert {one.key == other.key for one, other in zip(mine, theirs, strict=True)} == {run.same}
            used += [(run.key, one.start) for one in theirs]
        assert len(used) == len(set(used)), "an occurrence counts once in a sentence"


@given(_TEXTS, _TEXTS, _TEXTS)
def test_more_sources_and_a_larger_limit_never_cover_less(claim: str, source: str, other: str) -> None:
    if not units_of(claim, TOKENIZER):
        return
    covered = _evidence(claim, source).covered_units
    assert _evidence(claim, source, other).covered_units >= covered
    assert _evidence(claim, source, tau=4.0).covered_units >= covered
    assert _evidence(claim, claim).covered == 1.0


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=2))
def test_json_round_trip(claim: str, sources: list[str]) -> None:
    if units_of(claim, TOKENIZER):
        evidence = _evidence(claim, *sources)
        assert Evidence.from_dict(json.loads(json.dumps(evidence.to_dict()))) == evidence


def test_each_sentence_has_all_of_the_sources() -> None:
    evidence = _evidence("The cat sleeps. The cat naps. A cat and a cat.", "cat sleeps")
    assert [sentence.covered for sentence in evidence.sentences] == [1.0, 1.0, 0.5]
    assert evidence.uncovered[0].reason == "used"


@pytest.mark.parametrize(
    ("claim", "source", "reason"),
    [
        ("5 mg", "6 mg", "value"),
        ("12", "13", "value"),
        ("5 mg", "5 kg", "value"),
        ("in 2020", "in 2021", "value"),
        ("12 March 2020", "in 2020", "value"),
        ("effective", "not effective", "polarity"),
        ("not effective", "effective", "polarity"),
        ("It worked", "It did not work", "polarity"),
        ("It worked", "It may work", "polarity"),
        ("It is invalid", "It is valid", "polarity"),
        ("p53", "p63", "unknown"),
        ("zorp", "quux", "unknown"),
        ("cat", "truck", "far"),
        ("cat", "", "far"),
        ("cat cat", "kitten", "used"),
    ],
)
def test_why_something_is_not_covered(claim: str, source: str, reason: str) -> None:
    assert {one.reason for one in _evidence(claim, source).uncovered} == {reason}


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("1 kg", "1000 g"),
        ("twelve", "12"),
        ("in 2020", "on 12 March 2020"),
        ("in March 2020", "on 2020-03-12"),
        ("on 12 March", "on 2020-03-12"),
        ("not effective", "It isn't useful"),
        ("kitten", "cat"),
        ("zorp p53", "p53 zorp"),
    ],
)
def test_what_is_covered(claim: str, source: str) -> None:
    assert _evidence(claim, source).covered == 1.0


def test_a_unit_that_is_not_the_same_is_no_part_of_a_run_of_the_same() -> None:
    embedding = Embedding.of(["ano", "a\u00f1o", "cat"], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    for claim, source, expected in (
        ("cat ano cat", "cat a\u00f1o cat", [("cat", True), ("ano", False), ("cat", True)]),
        ("cat 2020", "cat on 12 March 2020", [("cat", True), ("2020", False)]),
        ("cat 2020", "cat in 2020", [("cat 2020", True)]),
    ):
        found = evidence_of([(0, claim)], [("a", [(0, source)])], TOKENIZER, embedding, 0.0)
        assert [(claim[one.span.start : one.span.end], one.same) for one in found.carried] == expected
        assert all(one.cost == 0 for one in found.carried)


def test_of_equal_costs_the_same_unit_is_chosen() -> None:
    embedding = Embedding.of(["ano", "a\u00f1o", "cat", "car"], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.5, 0.0]])
    for claim, source, same in (
        ("In 2020 cat.", "Ant 5 May 2020. In 2020 cat.", 2),
        ("In 2020 cat.", "In 2020 cat. Ant 5 May 2020.", 2),
        ("In 2020 or May 2020.", "On 5 May 2020, in May 2020, in 2020.", 2),
        ("In 2020 or 2020.", "On 5 May 2020, in 2020, on 6 May 2020.", 1),
        ("ano", "a\u00f1o. ano.", 1),
        ("a\u00f1o ano", "Ano. A\u00f1o.", 2),
        ("ano car", "a\u00f1o cat. ano.", 1),
    ):
        found = evidence_of([(0, claim)], [("a", [(0, source)])], TOKENIZER, embedding, 0.6)
        assert found.covered == 1.0
        assert found.certified
        assert sum(one.units for one in found.carried if one.same) == same
        assert {one.cost for one in found.carried} <= {0.0, 0.5}, "the true cost is reported"


@given(_TEXTS, _TEXTS)
def test_the_total_cost_is_the_least_of_all_plans_that_cover_most(claim: str, source: str) -> None:
    claim = claim.replace(".", ",")
    own, others = units_of(claim, TOKENIZER), units_of(source, TOKENIZER)
    if not own:
        return
    cost = np.array([[_cost(one, other) for other in others] for one in own]).reshape(len(own), len(others))
    least = cost[linear_sum_assignment(cost)]
    assert sum(one.units * one.cost for one in _evidence(claim, source).carried) == pytest.approx(
        least[least < _FORBIDDEN].sum()
    )


def test_as_few_sentences_of_the_sources_as_possible_are_used() -> None:
    evidence = _evidence("cat dog car", "Cat. Dog truck. Cat dog truck car. Cat")
    assert [(one.source.start, one.source.end) for one in evidence.carried] == [(16, 23), (30, 33)]


def test_a_run_ends_where_the_source_or_the_part_does() -> None:
    claim = [(0, "cat dog car truck")]
    sources: list[tuple[str, Passages]] = [("a", [(None, "cat"), (0, "dog")]), ("b", [(0, "car truck")])]
    found = evidence_of(claim, sources, TOKENIZER, EMBEDDING, 0.0).carried
    assert [(one.key, one.source.part, one.units) for one in found] == [("a", None, 1), ("a", 0, 1), ("b", 0, 2)]


def test_a_sentence_without_units_has_no_share() -> None:
    evidence = _evidence("The cat. It is not.", "cat")
    assert [sentence.covered for sentence in evidence.sentences] == [1.0, None]
    assert evidence.covered == 1.0


def test_the_default_limit_is_a_share_of_the_typical_cost() -> None:
    pairs = cdist(POINTS.astype(float), POINTS.astype(float))
    assert cost_limit(None, EMBEDDING) == pytest.approx(0.6 * np.sqrt((pairs**2).mean()))
    assert _evidence("cat", "cat", tau=None).tau == cost_limit(None, EMBEDDING)


@pytest.mark.parametrize("tau", [-1.0, float("nan"), float("inf")])
def test_an_invalid_limit_is_an_error(tau: float) -> None:
    with pytest.raises(OptionError, match="must be a number of 0 or more"):
        _evidence("cat", "cat", tau=tau)


def test_a_claim_without_a_word_is_an_error() -> None:
    with pytest.raises(NoKnownWords, match="no word to compare"):
        _evidence("it is not", "cat")
