"""Which units may be carried to which, against distances by SciPy; sentences of texts with units."""

from collections.abc import Iterator
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from moverank.rerank.distance.cell_limit import limit_cells, most_cells
from moverank.rerank.errors import OutOfTime, TooLarge
from moverank.rerank.plugins.evidence.allowed_arcs import Said, UnitText, allowed_arcs, less_exact
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import tokenizer_of
from moverank.rerank.words.unit import UnitKey

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)]
POINTS = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
EMBEDDING = Embedding.of(WORDS, POINTS)
KEYS: list[UnitKey] = [("word", word, "") for word in WORDS]


@pytest.fixture
def few_cells() -> Iterator[None]:
    before = most_cells()
    limit_cells(200_000)
    yield
    limit_cells(before)


@pytest.mark.parametrize("tau", [0.0, 1.0, 1e300])
def test_words_are_carried_to_the_same_and_to_near_words(tau: float) -> None:
    rows, columns, cost = allowed_arcs(Said(KEYS[:400], KEYS[300:], "none"), EMBEDDING, tau)
    distances = cdist(POINTS[:400].astype(float), POINTS[300:].astype(float))
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == set(
        zip(*np.nonzero(distances <= tau), strict=True)
    )
    np.testing.assert_allclose(cost, distances[rows, columns], rtol=1e-6)


@pytest.mark.usefixtures("few_cells")
def test_a_limit_of_memory_counts_the_arcs_that_there_are() -> None:
    assert len(allowed_arcs(Said(KEYS[:400], KEYS[200:], "none"), EMBEDDING, 0.1)[0]) >= 200
    with pytest.raises(TooLarge, match="too many pairs of words are near enough"):
        allowed_arcs(Said(KEYS[:400], KEYS[200:], "none"), EMBEDDING, 100.0)
    with pytest.raises(TooLarge, match="too large to compare exactly"):
        allowed_arcs(Said(KEYS, KEYS, "none"), EMBEDDING, 0.1)


def test_the_time_is_checked_between_blocks() -> None:
    with stopping(lambda: True), pytest.raises(OutOfTime):
        allowed_arcs(Said(KEYS, KEYS, "none"), EMBEDDING, 1.0)


def test_a_word_is_carried_to_its_opposite_with_the_other_polarity_alone() -> None:
    embedding = Embedding.of(["safe", "unsafe", "secure"], np.array([[0.0, 0.0], [0.0, 0.1], [0.1, 0.0]], np.float32))
    own: list[UnitKey] = [("word", "safe", polarity) for polarity in ("", "not")]
    others: list[UnitKey] = [("word", word, polarity) for polarity in ("", "not") for word in ("secure", "unsafe")]
    rows, columns, _ = allowed_arcs(Said(own, others, "en"), embedding, 1.0)
    assert {(own[i], others[j]) for i, j in zip(rows, columns, strict=True)} == {
        *((("word", "safe", polarity), ("word", "secure", polarity)) for polarity in ("", "not")),
        *((("word", "safe", one), ("word", "unsafe", other)) for one, other in (("", "not"), ("not", ""))),
    }


@pytest.mark.parametrize(
    ("own", "other", "carried"),
    [
        (("word", "tenants", ""), ("word", "tenant", ""), True),
        (("word", "tenants", ""), ("word", "tenant", "not"), False),
        (("word", "invalid", ""), ("word", "valid", "not"), True),
        (("word", "valid", "not if"), ("word", "invalid", "if"), True),
        (("word", "invalid", ""), ("word", "valid", ""), False),
        (("word", "lessor", ""), ("word", "lessee", ""), False),
        (("word", "preoperative", ""), ("word", "postoperative", ""), False),
        (("word", "careful", ""), ("word", "careless", ""), False),
        (("word", "buyers", ""), ("word", "seller", ""), False),
        (("word", "buyers", ""), ("word", "purchaser", ""), True),
        (("number", "2000", ""), ("date", "2000", ""), True),
        (("date", "2000", ""), ("date", "2000-05", "not"), False),
        (("date", "2000", "not"), ("date", "2000-05", "not"), True),
    ],
)
def test_forms_of_a_word_are_carried_and_contraries_are_not(own: UnitKey, other: UnitKey, *, carried: bool) -> None:
    words = [value for kind, value, _ in (own, other) if kind == "word"]
    near = Embedding.of(words, np.zeros((len(words), 2), np.float32)) if words else EMBEDDING
    rows, _, cost = allowed_arcs(Said([own], [other], "en"), near, 1.0)
    assert (len(rows) == 1) == carried
    assert not cost.any()


@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)))
def test_a_date_implies_less_exact_ones(day: date) -> None:
    assert set(less_exact(day.isoformat())) == {f"{day:%Y}", f"{day:%Y-%m}", f"--{day:%m}", f"--{day:%m-%d}"}
    assert less_exact(f"{day:%Y-%m}") == (f"{day:%Y}", f"--{day:%m}")
    assert less_exact(f"--{day:%m-%d}") == (f"--{day:%m}",)
    assert less_exact(f"{day:%Y}") == less_exact(f"--{day:%m}") == ()


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "On Dec. 12, 2020 it began in town. It ended.", ["On Dec. 12, 2020 it began in town.", "It ended."]),
        ("de", "Am 12. Mai 2020 war es. Gut.", ["Am 12. Mai 2020 war es.", "Gut."]),
        ("en", "It cost 5. It was late.", ["It cost 5.", "It was late."]),
        ("en", " ", []),
    ],
)
def test_no_sentence_ends_inside_a_unit(language: str, text: str, sentences: list[str]) -> None:
    found = UnitText.of([(0, text)], tokenizer_of("auto", language))
    assert [text[one.start : one.end] for one in found.sentences] == sentences
    for span, sentence in zip(found.spans, found.sentence_of, strict=True):
        assert found.sentences[sentence].start <= span.start < span.end <= found.sentences[sentence].end
