"""Phrases of word vectors: found in texts from left to right, the longest first; scorers count their words."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank import Embedding
from moverank.rerank.errors import OptionError
from moverank.rerank.words.forms import PHRASE
from moverank.rerank.words.phrases import Phrases, folded_phrase, phrases_of
from moverank.rerank.words.term_rules import PARTS, terms_of
from moverank.rerank.words.tokenizer import Tokenizer, tokenizer_of
from moverank.rerank.words.word_numbers import FewWords, ManyWords, WordNumbers

ENTRIES = [
    "the",
    "New_York",
    "new_york",
    "New_York_Times",
    "York",
    "Bank_of_America",
    "_x",
    "a__b",
    "x_",
    "a_%",
    "1_000",
]


@pytest.mark.parametrize(
    ("entry", "phrase"),
    [
        ("New_York", "new_york"),
        ("São_Paulo", "são_paulo"),
        ("ΟΔΟΣ_ΟΔΟΣ", "οδος_οδος".replace("οδος", "οδος"[:-1] + "ς")),
        ("full\uff37idth_\ufb01n", "fullwidth_fin"),
        ("York", None),
        ("_x", None),
        ("a__b", None),
        ("x_", None),
        ("a_%", None),
        ("a_b_c_d_e_f_g_h_i", None),
    ],
)
def test_entries_that_are_phrases(entry: str, phrase: str | None) -> None:
    assert folded_phrase(entry, "en") == phrase


def test_phrases_are_folded_by_language() -> None:
    assert folded_phrase("DIYARBAKIR_ILI", "tr") == "dıyarbakır_ılı"


def test_phrases_of_entries_in_their_order() -> None:
    expected = "new_york new_york_times bank_of_america 1_000"
    assert phrases_of(ENTRIES, "en") == expected
    assert Embedding.of(ENTRIES, np.eye(len(ENTRIES)), "en").phrases("en") == expected
    assert phrases_of(iter(ENTRIES), "en") == expected


def test_the_longest_phrase_counts() -> None:
    tokenizer = tokenizer_of("auto", "en", phrases=ENTRIES)
    text = "The New York Times, a NEW\nyork-times; new  york; york of the Bank of America of new"
    assert tokenizer.words(text) == ["new_york_times", "new_york_times", "new_york", "york", "bank_of_america", "new"]
    assert [text[start:end] for start, end, _ in tokenizer.spans(text)] == [
        "New York Times",
        "NEW\nyork-times",
        "new  york",
        "york",
        "Bank of America",
        "new",
    ]


def test_phrases_are_a_list_of_words() -> None:
    with pytest.raises(OptionError, match="phrases are a list of words"):
        tokenizer_of("auto", "en", phrases=[1])  # type: ignore[list-item]


WORDS = st.sampled_from(["a", "b", "c", "É", "B", "a_b"])
TEXTS = st.lists(WORDS | st.sampled_from([" ", ", ", "-", "_", "\n"])).map("".join)
PHRASES = st.lists(st.lists(st.sampled_from("abcé"), min_size=2, max_size=4).map("_".join), max_size=6)


def _longest_first(words: list[str], phrases: list[str]) -> list[str]:
    """Join the words by a pattern: alternatives in the order of their length, each between spaces."""
    ordered = sorted(phrases, key=lambda phrase: -phrase.count("_"))
    if not ordered:
        return words
    pattern = "|".join(re.escape(phrase.replace("_", " ")) for phrase in ordered)
    joined = re.sub(rf"(?<!\S)(?:{pattern})(?!\S)", lambda found: found[0].replace(" ", "_"), " ".join(words))
    return joined.split()


@given(TEXTS, PHRASES)
@example("a b b", ["b_b", "b_b_a"])  # a longer phrase would begin at the end
def test_words_are_those_of_a_pattern(text: str, phrases: list[str]) -> None:
    plain, tokenizer = Tokenizer(language="fr"), tokenizer_of("none", "fr", phrases=phrases)
    assert tokenizer.words(text) == _longest_first(plain.words(text), phrases)
    spans = list(tokenizer.spans(text))
    assert [word for _, _, word in spans] == tokenizer.words(text)
    for start, end, word in spans:
        assert plain.words(text[start:end]) == word.split("_")
    assert terms_of(tokenizer.words(text), PARTS).texts == plain.words(text)


@given(st.lists(TEXTS, max_size=5), PHRASES)
def test_both_counters_count_alike(texts: list[str], phrases: list[str]) -> None:
    tokenizer = tokenizer_of(["b"], "fr", phrases=phrases)
    counters: list[WordNumbers] = [FewWords(tokenizer), ManyWords(tokenizer)]
    for numbers in counters:
        blocks = list(numbers.number(texts))
        words = numbers.since(0)
        found = [
            {words[number]: count for number, count in zip(own.tolist(), counts.tolist(), strict=True)}
            for block in blocks
            for own, counts in block.each()
        ]
        assert found == [Counter(tokenizer.words(text)) for text in texts]


@pytest.mark.parametrize("rule", [PARTS, "english", "ngrams=2"])
def test_a_phrase_has_the_terms_of_its_words(rule: str) -> None:
    phrase, alone = terms_of(["cats", "running_dogs", "x"], rule), terms_of(["cats", "running", "dogs", "x"], rule)
    assert phrase.texts == alone.texts
    assert phrase.starts.tolist() == alone.starts[[0, 1, 3, 4]].tolist()


def test_a_vector_is_that_of_the_phrase() -> None:
    embedding = Embedding.of(["york", "New_York", "new_delhi"], np.eye(3), "en")
    rows = embedding.find(["new_york", "new_delhi", "new_jersey"])
    assert rows.tolist() == [1, 2, -1]
    steps = [embedding.step(word, row) for word, row in zip(("new_york", "new_delhi"), rows.tolist(), strict=False)]
    assert steps == [PHRASE] * 2


def test_no_phrases_change_nothing() -> None:
    assert Phrases([]).joined(["a", "b"]) == ["a", "b"]
    assert Phrases(["a"]).joined(["a", "b"]) == ["a", "b"]
