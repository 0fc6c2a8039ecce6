from hypothesis import example, given
from hypothesis import strategies as st

from moverank.indexer.search.snippet import snippet
from moverank.rerank.words.tokenizer import Tokenizer

_WORD = st.text("abcdeé-", min_size=1, max_size=9)
_TEXT = st.lists(_WORD, max_size=60).map(" ".join)


def _shown(found: str) -> list[str]:
    return found.removeprefix("… ").removesuffix(" …").split()


@given(st.lists(_TEXT, max_size=3), st.lists(_WORD, max_size=3), st.integers(10, 40))
def test_a_snippet_is_a_run_of_the_texts_words_that_fits(texts: list[str], about: list[str], length: int) -> None:
    found, words = snippet(texts, "", about, length), "\n".join(texts).split()
    shown = _shown(found)
    assert len(" ".join(shown)) <= length
    runs = [words[start : start + len(shown)] for start in range(len(words) - len(shown) + 1)]
    assert shown in runs
    assert found.startswith("… ") or shown == words[: len(shown)]
    assert found.endswith(" …") or shown == words[len(words) - len(shown) :]
    assert ("…" in found) == (len(shown) < len(words))


@example("a - aaaa aaaaa aaaaaaaa aaaaaaaaa a a", ["a"])
@given(_TEXT, st.lists(_WORD, min_size=1, max_size=3))
def test_it_shows_a_wanted_word_where_there_is_one(text: str, about: list[str]) -> None:
    wanted = {word for piece in about for word in Tokenizer().words(piece)}
    there = wanted.intersection(Tokenizer().words(text))
    assert not there or wanted.intersection(Tokenizer().words(snippet([text], "", wanted, 30)))


def test_the_place_with_most_wanted_words_is_shown() -> None:
    text = "one two three four five Six seven. eight nine six ten seven eleven " + "tail " * 9
    found = snippet([text], "", ["six", "seven"], 34)
    assert "Six seven. eight nine six" in found
    assert (found[:2], found[-2:]) == ("… ", " …")
    assert snippet([text], "", [], 18) == "one two three four …"
    assert snippet([text], "", ["tail"], 9)[:6] == "… tail"


def test_line_ends_are_spaces() -> None:
    assert snippet(["a\n\n b", "c"], "", []) == "a b c"


def test_the_title_is_not_repeated() -> None:
    assert snippet(["A Title\nand what follows"], "a title", []) == "and what follows"
    assert snippet(["A Title"], "A Title", []) == ""
    assert snippet(["Before: A Title"], "A Title", []) == "Before: A Title"


def test_a_word_that_begins_as_the_title_does_stays_whole() -> None:
    assert snippet(["Windows crash"], "Win", []) == "Windows crash"


def test_no_text_is_no_snippet() -> None:
    assert snippet([], "Title", ["a"]) == ""
    assert snippet([" \n", ""], "", ["a"]) == ""


def test_a_word_that_is_too_long_is_cut() -> None:
    assert snippet(["x" * 50 + " y"], "", [], 10) == "x" * 10 + " …"


def test_an_ellipsis_stands_where_the_rest_of_a_word_was_left_out() -> None:
    assert snippet(["x" * 50], "", [], 10) == "x" * 10 + " …"
