import itertools
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.rerank.words.tokenizer import Tokenizer

PLAIN = Tokenizer()
# Digits, letters with and without case, marks, joiners, punctuation and separators of many scripts.
HARD = "aAiIİ\u0131ßẞΣ\u03c3ςÅ\u212bé\u0301\u0307\u0327\u0345हिन्दी-'_ 1²\u200d"
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(HARD)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n--- ... ___ !?", []),
        ("The QUICK brown-fox", ["the", "quick", "brown", "fox"]),
        ("e-mail co-operate a--b", ["e", "mail", "co", "operate", "a", "b"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("snäke_cäse", ["snäke", "cäse"]),
        ("don't it\u2019s O'Neill", ["don", "t", "it", "s", "o", "neill"]),
        ("230V in 1984, 3.14", ["230v", "in", "1984", "3", "14"]),
        ("Straße STRASSE GROẞ", ["straße", "strasse", "groß"]),
        ("cafe\u0301 CAFÉ café", ["café", "café", "café"]),
        ("naïve—façade", ["naïve", "façade"]),
        # The Turkish dotted capital I in lower case is an i with a combining dot: one word in both encodings.
        ("İstanbul I\u0307stanbul", ["i\u0307stanbul", "i\u0307stanbul"]),
        ("diyarbak\u0131r", ["diyarbak\u0131r"]),
        ("ΟΔΟΣ οδός", ["οδος", "οδός"]),
        ("हिन्दी में लिखना।", ["हिन्दी", "में", "लिखना"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("שָׁלוֹם עולם", [unicodedata.normalize("NFC", "שָׁלוֹם"), "עולם"]),
        ("مَرْحَبًا بالعالم", [unicodedata.normalize("NFC", "مَرْحَبًا"), "بالعالم"]),
        ("東京 駅", ["東京", "駅"]),
        ("한국어", ["한국어"]),
        (unicodedata.normalize("NFD", "한국어"), ["한국어"]),
        ("Ångström A\u030angström \u212bngström", ["ångström"] * 3),
        ("\u0301a", ["a"]),
        ("x² ٣٤", ["x²", "٣٤"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert PLAIN.words(text) == words


@given(TEXTS)
@example("İ I\u0307 ẞ Σ ΑΣ ǅ Ω K Å ϓ ϔ")
@example("\u1100\u1161_\u11a8")
@example("a\u0345\u0301 Ά\u0345")
def test_splitting_is_idempotent(text: str) -> None:
    words = PLAIN.words(text)
    assert PLAIN.words(" ".join(words)) == words
    assert all(PLAIN.words(word) == [word] for word in words)


@given(TEXTS)
def test_words_consist_of_letters_digits_and_marks(text: str) -> None:
    for word in PLAIN.words(text):
        assert word[0].isalnum()
        assert all(c.isalnum() or unicodedata.category(c) in ("Mn", "Mc") for c in word)
        assert word == unicodedata.normalize("NFC", word)


@given(TEXTS)
def test_no_letter_or_digit_is_lost(text: str) -> None:
    kept = "".join(PLAIN.words(text))
    expected = unicodedata.normalize("NFC", text.lower())
    assert [c for c in kept if c.isalnum()] == [c for c in expected if c.isalnum()]


@given(TEXTS)
def test_both_encodings_of_an_accent_give_one_word(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert PLAIN.words(composed) == PLAIN.words(decomposed)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_pattern_agrees_with_the_unicode_one(text: str) -> None:
    assert [*PLAIN.words(text), "é"] == PLAIN.words(text + " é")


def test_stop_words_are_dropped_and_not_counted() -> None:
    tokenizer = Tokenizer(frozenset({"the", "is"}))
    assert tokenizer.words("The cat is the CAT") == ["cat", "cat"]
    assert tokenizer.count("The cat is the CAT, a cat!") == {"cat": 3, "a": 1}
    assert tokenizer.count("the") == {}


@given(TEXTS)
@example("The QUICK brown-fox, snake_case; cafe\u0301 ΟΔΟΣ Straße हिन्दी में")
@example("İstanbul I\u0307stanbul")
@example("a:Σ")  # the small form depends on what is before it
def test_spans_are_those_of_the_words(text: str) -> None:
    spans = list(Tokenizer(frozenset({"a", "the"})).spans(text))
    assert [word for _, _, word in spans] == Tokenizer(frozenset({"a", "the"})).words(text)
    assert all(len(PLAIN.words(text[start:end])) == 1 for start, end, _ in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
