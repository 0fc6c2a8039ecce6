import re

import pytest
from gensim.parsing.porter import PorterStemmer
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.rerank.words.tokenizer import LANGUAGES, stem_words


def test_words_of_one_stem_are_alike() -> None:
    assert stem_words(["connected", "connecting", "connection", "dog"], "english") == ["connect"] * 3 + ["dog"]
    assert stem_words(["häuser", "haus"], "german") == ["haus", "haus"]
    assert stem_words([], "english") == []


_DEPARTURES = re.compile("(bl|log)[iy](e?s|ed|ing)*")
"""Words that end in -bli or -logi once their endings -s, -ed, -ing are removed and y is i."""


@given(st.lists(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=3, max_size=12), max_size=20))
@example(["abbly", "abblied", "apologies", "abbli"])
def test_porter_is_that_of_gensim_up_to_its_departures(words: list[str]) -> None:
    """gensim's version departs from Porter's article in two rules, for -bli and -logi, and for short words."""
    stemmer = PorterStemmer()
    for word, stem in zip(words, stem_words(words, "porter"), strict=True):
        if not any(_DEPARTURES.fullmatch(word, start) for start in range(len(word))):
            assert stem == stemmer.stem(word)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_stemmer(language: str) -> None:
    assert len(stem_words(["word", "слово"], language)) == 2
