import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.words.vocabulary import UNKNOWN, Vocabulary

WORDS = st.lists(st.text(max_size=8), unique=True, max_size=60)


@given(WORDS, WORDS)
def test_find_equals_a_dictionary(words: list[str], queries: list[str]) -> None:
    vocabulary, rows = Vocabulary.of(words), {word: i for i, word in enumerate(words)}
    expected = [rows.get(word, UNKNOWN) for word in queries]
    assert vocabulary.find(queries).tolist() == expected
    assert list(vocabulary) == words
    assert [vocabulary[i] for i in range(len(words))] == words
    assert [word in vocabulary for word in queries] == [word in rows for word in queries]
    assert vocabulary.repeated() is None


def test_few_words_are_found_by_binary_search_and_many_by_a_dictionary() -> None:
    words = [f"w{i}" for i in range(1000)]
    vocabulary = Vocabulary.of(words)
    assert vocabulary.find(["w3", "none", "w999"]).tolist() == [3, UNKNOWN, 999]
    assert vocabulary.find(words).tolist() == list(range(1000))
    assert vocabulary.find(["w3", "none"]).tolist() == [3, UNKNOWN]


def test_a_vocabulary_is_a_sequence() -> None:
    vocabulary = Vocabulary.of(["b", "a", "ü"])
    assert vocabulary[-1] == "ü"
    assert vocabulary[1:] == ["a", "ü"]
    assert vocabulary.__contains__(3) is False
    with pytest.raises(IndexError, match="no word 3 among 3"):
        vocabulary[3]


def test_a_repeated_word_is_reported() -> None:
    assert Vocabulary.of(["b", "a", "b"]).repeated() == (0, 2)


def test_a_lone_surrogate_is_an_ordinary_word() -> None:
    assert Vocabulary.of(["a"]).find(["\ud800"]).tolist() == [UNKNOWN]
    assert Vocabulary.of(["\ud800"])[0] == "\ud800"


def test_a_vocabulary_has_no_reference_cycle() -> None:
    """It is freed at once, without the garbage collector."""
    vocabulary = Vocabulary.of(["a"])
    vocabulary.find(["a"])
    alive = weakref.ref(vocabulary)
    gc.disable()
    try:
        del vocabulary
        assert alive() is None
    finally:
        gc.enable()
