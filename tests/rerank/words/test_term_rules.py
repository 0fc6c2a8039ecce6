"""Words become terms by a rule: the stem of each, or its sequences of letters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.errors import OptionError
from moverank.rerank.words.term_rules import WordTerms, option_of, rule_of, terms_of

WORDS = st.lists(st.text("abäß\u0e01\U00020000", max_size=9), max_size=8)


def _slow(word: str, length: int) -> list[str]:
    """Return the sequences of letters of a word by moving a window over it, one letter at a time."""
    found, rest = [word[:length]], word
    while len(rest) > length:
        rest = rest[1:]
        found.append(rest[:length])
    return found


@given(WORDS, st.integers(2, 8))
def test_terms_are_all_sequences_of_letters(words: list[str], length: int) -> None:
    terms = terms_of(words, f"ngrams={length}")
    assert [terms.texts[a:b] for a, b in zip(terms.starts, terms.starts[1:], strict=False)] == [
        _slow(word, length) for word in words
    ]
    assert terms.words.tolist() == [row for row, word in enumerate(words) for _ in _slow(word, length)]


def test_a_word_has_a_sequence_as_often_as_it_is_there() -> None:
    assert terms_of(["banana", "an"], "ngrams=2").texts == ["ba", "an", "na", "an", "na", "an"]
    stems = terms_of(["häuser", "haus"], "german")
    assert (stems.texts, stems.starts.tolist(), stems.words.tolist()) == (["haus", "haus"], [0, 1, 2], [0, 1])


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_terms_of_some_words_and_of_two_vocabularies(rows: list[list[int]], data: st.DataObject) -> None:
    def table(rows: list[list[int]], *, several: bool) -> WordTerms:
        starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        terms = np.array([term for row in rows for term in row], np.int32)
        return WordTerms(terms, starts) if several else WordTerms(terms[starts[:-1]], np.arange(len(starts)))

    some = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    for several in (True, False):
        expected = rows if several else [row[:1] for row in rows]
        own = table(rows, several=several)
        assert (len(own), own.lengths.tolist()) == (len(rows), [len(row) for row in expected])
        for found, wanted in (
            (own.take(np.array(some, np.int64)), [expected[row] for row in some]),
            (own.joined(own), expected + expected),
        ):
            assert found.lengths.tolist() == [len(row) for row in wanted]
            assert found.terms.tolist() == [term for row in wanted for term in row]


def test_a_rule_is_an_option_of_a_scorer() -> None:
    for options, rule in (({"stem": "german"}, "german"), ({"ngrams": "4"}, "ngrams=4"), ({"k1": "1"}, None)):
        assert rule_of(options) == rule
        if rule:
            assert rule_of(dict([option_of(rule).split("=")])) == rule
    with pytest.raises(OptionError, match="ngrams must be a whole number from 2 to 8, not '0'"):
        rule_of({"ngrams": "0"})
    with pytest.raises(OptionError, match="a scorer counts stems or n-grams"):
        rule_of({"ngrams": "4", "stem": "german"})
