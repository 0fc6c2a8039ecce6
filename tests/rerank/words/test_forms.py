"""Words are found in another case, without marks, or as compounds, as a search through all entries finds them."""

import copy
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.errors import EmbeddingError, OptionError, OutOfTime
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.embedding import COMPOSED, Embedding
from moverank.rerank.words.forms import CASE, COMPOUND, EXACT, MARKS, STEPS, SUBWORDS, UNFOUND
from moverank.rerank.words.languages import CODES
from moverank.rerank.words.subwords import NGrams, Subwords
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

ENTRIES = (
    *("der", "Berlin", "berlin", "USA", "iPhone", "Apfel", "Kuchen", "café", "Straße", "Über", "Amt", "Arbeit"),
    *(
        "Résumé",
        "resume",
        "vertrag",
        "Vertrag",
        "ağaç",
        "I\u015f\u0131k",
        "й",
        "мои",
        "ёлка",
        "år",
        "ar",
        "أحمد",
        "ﬁne",
        "new_york",
        "берлин",
    ),
)


def _embedding(language: str, words: Sequence[str] = ENTRIES) -> Embedding:
    return Embedding.of(words, np.eye(len(words)), language)


@pytest.mark.parametrize(
    ("language", "word", "entry", "step"),
    [
        ("de", "berlin", "berlin", EXACT),  # before the more frequent Berlin: it is the word as it is
        ("de", "apfel", "Apfel", CASE),
        ("en", "usa", "USA", CASE),
        ("en", "iphone", "iPhone", CASE),
        ("de", "über", "Über", CASE),
        ("de", "ueber", "Über", MARKS),
        ("en", "uber", "Über", MARKS),
        ("de", "uber", None, UNFOUND),
        ("de", "strasse", "Straße", MARKS),
        ("en", "cafe", "café", MARKS),
        ("fr", "résume", "Résumé", MARKS),  # more frequent than resume
        ("en", "résumé", "Résumé", CASE),
        ("tr", "ağaç", "ağaç", EXACT),
        ("tr", "agac", None, UNFOUND),
        ("en", "agac", "ağaç", MARKS),
        ("tr", "\u0131\u015f\u0131k", "I\u015f\u0131k", CASE),
        ("ru", "мой", None, UNFOUND),
        ("none", "мой", None, UNFOUND),
        ("ru", "елка", "ёлка", MARKS),
        ("ru", "бе\u0301рлин", "берлин", MARKS),  # no letter has this mark
        ("sv", "ar", "ar", EXACT),
        ("ar", "احمد", "أحمد", MARKS),
        ("en", "fine", "ﬁne", CASE),
    ],
)
def test_a_word_is_found_in_another_form(language: str, word: str, entry: str | None, step: str) -> None:
    embedding = _embedding(language)
    row = int(embedding.find([word])[0])
    assert (None if row == UNKNOWN else ENTRIES[row], embedding.step(word, row)) == (entry, step)


@pytest.mark.parametrize("word", ["apfelkuchen", "arbeitsvertrag", "berlinvertrag", "kuchenapfel"])
def test_a_compound_has_the_mean_of_its_parts(word: str) -> None:
    embedding = _embedding("de")
    rows = embedding.find([word])
    assert rows.tolist() == [COMPOSED]
    assert embedding.step(word, COMPOSED) == COMPOUND
    parts = {
        "apfelkuchen": ("Apfel", "Kuchen"),
        "arbeitsvertrag": ("Arbeit", "vertrag"),
        "berlinvertrag": ("berlin", "vertrag"),
        "kuchenapfel": ("Kuchen", "Apfel"),
    }[word]
    expected = sum(np.eye(len(ENTRIES))[ENTRIES.index(part)] for part in parts) / 2
    assert embedding.gather([word], rows)[0] == pytest.approx(expected)
    scaled = Embedding(embedding.words, embedding.vectors, unit=True, forms=embedding.forms)
    assert np.linalg.norm(scaled.gather([word], rows)) == pytest.approx(1)


def test_long_runs_of_letters_are_no_compounds() -> None:
    embedding = _embedding("de")
    assert embedding.find(["apfel" + "x" * 50 + "kuchen", "a" * 1_000_000, "ä" * 1_000_000]).tolist() == [UNKNOWN] * 3


def test_a_look_up_ends_with_its_time() -> None:
    embedding = _embedding("de")
    with stopping(lambda: True):
        assert embedding.find(["berlin"]).tolist() == [2]
        for look_up in (embedding.find, lambda words: embedding.gather(words, np.array([COMPOSED]))):
            with pytest.raises(OutOfTime):
                look_up(["apfelkuchen"])


def test_only_languages_that_write_compounds_as_one_word_have_them() -> None:
    for language in ("en", "none", "fr"):
        assert _embedding(language).find(["apfelkuchen"]).tolist() == [UNKNOWN]
    assert _embedding("de").find(["apfel2kuchen", "amtapfel", "apfelxkuchen"]).tolist() == [UNKNOWN] * 3


def test_the_most_frequent_pair_of_parts_is_taken() -> None:
    words = ["stau", "becken", "staub", "ecken"]  # ranks 1 x 2 against 3 x 4
    assert _embedding("de", words).gather(["staubecken"], np.array([COMPOSED]))[0].tolist() == [0.5, 0.5, 0, 0]
    words = ["staub", "ecken", "stau", "becken"]
    assert _embedding("de", words).gather(["staubecken"], np.array([COMPOSED]))[0].tolist() == [0.5, 0.5, 0, 0]


def test_subwords_come_last() -> None:
    subwords = Subwords(np.ones((10, len(ENTRIES)), np.float32), NGrams(3, 3))
    bare = _embedding("de")
    embedding = Embedding(bare.words, bare.vectors, subwords=subwords, forms=bare.forms)
    words = ["apfel", "apfelkuchen", "qqqq"]
    rows = embedding.find(words)
    assert [embedding.step(word, row) for word, row in zip(words, rows.tolist(), strict=True)] == [
        CASE,
        COMPOUND,
        SUBWORDS,
    ]
    gathered = embedding.gather(words, rows)
    assert gathered[2].tolist() == [1.0] * len(ENTRIES)
    assert gathered[1].sum() == pytest.approx(1)
    with pytest.raises(EmbeddingError, match="'qqqq' has no subwords"):
        bare.gather(["qqqq"], np.array([COMPOSED]))


def test_copies_find_the_same() -> None:
    embedding = _embedding("de")
    words = ["apfel", "apfelkuchen", "ueber", "xyz"]
    for other in (embedding.in_memory(), copy.copy(embedding)):
        assert other.find(words).tolist() == embedding.find(words).tolist()
        assert other.fingerprint == embedding.fingerprint
    fingerprints = {_embedding(language).fingerprint for language in ("de", "en", "none")}
    assert len(fingerprints | {Embedding.of(ENTRIES, np.eye(len(ENTRIES))).fingerprint}) == 4


def test_without_a_language_only_the_word_itself_is_found() -> None:
    embedding = Embedding.of(ENTRIES, np.eye(len(ENTRIES)))
    assert embedding.find(["apfel", "cafe", "apfelkuchen"]).tolist() == [UNKNOWN] * 3
    assert embedding.step("berlin", 2) == EXACT
    with pytest.raises(OptionError, match="a language is one of"):
        Embedding.of(["a"], [[1.0]], "xx")


_LETTERS = st.sampled_from("aAbBiI\u0131\u0130äÄöåñéÉß\u017f\ufb01чйЙё\u0301\u064b\u0623\u0628\u0e01\u102c中-_1'")


@given(
    st.sampled_from(CODES), st.lists(st.text(_LETTERS, min_size=1, max_size=5), unique=True, min_size=1, max_size=12)
)
def test_the_case_is_that_of_a_search_through_all_entries(language: str, entries: list[str]) -> None:
    """A word that a text writes as some entry is found in the first entry that gives the same word."""
    embedding, tokenizer = _embedding(language, entries), Tokenizer(language=language)
    spans = [list(tokenizer.spans(entry)) for entry in entries]
    # No word, or more than one, or only a part of the entry: no text writes it.
    found = [
        own[0][2] if [(0, len(entry))] == [span[:2] for span in own] else ""
        for entry, own in zip(entries, spans, strict=True)
    ]
    for word in filter(None, found):
        expected = entries.index(word) if word in entries else found.index(word)
        assert int(embedding.find([word])[0]) == expected
        assert embedding.step(word, expected) == (EXACT if entries[expected] == word else CASE)


def test_an_entry_that_no_text_writes_is_not_found() -> None:
    embedding = _embedding("none", ["\u064bA", "A"])  # a mark before the first letter is no part of a word
    assert int(embedding.find(["a"])[0]) == 1


@given(
    st.lists(st.text(st.sampled_from("aáàbcçeéèoö"), min_size=1, max_size=3), unique=True, min_size=1),
    st.text("aáce", min_size=1, max_size=3),
)
def test_marks_are_left_out_as_by_decomposition(entries: list[str], word: str) -> None:
    """French tells no letters apart by marks: a naive search compares the letters alone."""

    def plain(text: str) -> str:
        return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))

    embedding = _embedding("fr", entries)
    alike = [row for row, entry in enumerate(entries) if plain(entry) == plain(word)]
    expected = entries.index(word) if word in entries else min(alike, default=UNKNOWN)
    assert int(embedding.find([word])[0]) == expected


def test_the_steps_are_all_there_is() -> None:
    assert STEPS == ("unknown", "exact", "case", "marks", "compound", "subwords", "phrase")
