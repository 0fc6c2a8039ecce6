"""What near texts state differently: pairs of texts judged by hand."""

import pytest

from moverank.indexer.search.differences import beginning_of, stated
from moverank.rerank.words.tokenizer import AUTO_WORDS, tokenizer_of


def _stated(text: str, language: str) -> set[str]:
    return set(stated([text], tokenizer_of(AUTO_WORDS, language)))


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "The drug is safe.", "The drug is not safe."),
        ("en", "The plug gets hot.", "The plug never gets hot."),
        ("en", "He can swim.", "He can't swim."),
        ("en", "A fee of 1,200 euros is due.", "A fee of 1,300 euros is due."),
        ("en", "Take 5 mg a day.", "Take 5 g a day."),
        ("en", "Pay before the end of May.", "Pay after the end of May."),
        ("en", "Pay at most ten euros.", "Pay at least ten euros."),
        ("en", "All patients recovered.", "Some patients recovered."),
        ("en", "You may leave.", "You must leave."),
        ("en", "The court of first instance decides.", "The court of second instance decides."),
        ("en", "That is what I want.", "I want him to be there."),  # one word that is no stop word
        ("en", "Tighten the M4 screw.", "Tighten the M5 screw."),
        ("de", "Der Vermieter zahlt.", "Der Vermieter zahlt nicht."),
        ("de", "Zahlbar vor dem 3. Mai 2020.", "Zahlbar vor dem 4. Mai 2020."),
        ("de", "Mindestens zehn Tage Urlaub.", "Höchstens zehn Tage Urlaub."),
        ("fr", "Le médicament est sûr.", "Le médicament n'est pas sûr."),
        ("es", "El niño puede salir antes.", "El niño puede salir después."),
    ],
)
def test_texts_of_the_contrary_state_something_else(language: str, one: str, other: str) -> None:
    assert _stated(one, language) != _stated(other, language)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "The plug gets hot.", "The PLUG gets hot!"),
        ("en", "The parcel weighs 1 kg.", "Parcel weighs 1000 g"),
        ("en", "It costs 1,200 euros today.", "Today it costs 1200 euros."),
        ("en", "The drug isn't safe.", "The drug is not safe."),
        ("en", "Due on 12 March 2020 at noon.", "At noon, due on 2020-03-12."),
        ("de", "Der Stecker wird heiß.", "der Stecker wird heiss"),
        ("none", "The drug is safe.", "The drug is not safe."),  # no table of negations
    ],
)
def test_the_same_in_other_words_is_no_difference(language: str, one: str, other: str) -> None:
    assert _stated(one, language) == _stated(other, language)


def test_what_is_stated_is_shown_as_it_is_written() -> None:
    found = stated(["It costs 1,200 euros and is not safe."], tokenizer_of(AUTO_WORDS, "en"))
    assert sorted(found.values()) == ["1,200 euros", "not safe"]


def test_the_beginning_is_one_short_line() -> None:
    assert beginning_of(["A  first\nline", "and another " * 20])[:32] == "A first line and another and ano"
    assert len(beginning_of(["x" * 500])) == 80
