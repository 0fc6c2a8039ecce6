from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.words.sentence_spans import sentence_spans


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Yes." Then he left.', ['He said "Yes."', "Then he left."]),
        ("Dr. Smith et al. found (Fig. 2) it. Good.", ["Dr. Smith et al. found (Fig. 2) it.", "Good."]),
        ("J. Doe, e.g. here, i.e. there.", ["J. Doe, e.g. here, i.e. there."]),
        ("It was p53. Mice died.", ["It was p53.", "Mice died."]),
        ("It costs 3.5 or so. 12 died.", ["It costs 3.5 or so.", "12 died."]),
        ("A title\n\nA text\ngoes on.", ["A title", "A text\ngoes on."]),
        ("A list:\n- one\n- two\n1. three", ["A list:", "- one", "- two", "1. three"]),
        ("# Head\ntext", ["# Head\ntext"]),
        ("\u6211\u5011\u3002\u4f60\u597d\uff01\u4ed6", ["\u6211\u5011\u3002", "\u4f60\u597d\uff01", "\u4ed6"]),
        ("  \n ", []),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert _sentences(text) == sentences


@given(st.text(st.sampled_from("aB1. !?\n-\"'\u3002"), max_size=50))
def test_every_character_but_space_is_in_one_sentence(text: str) -> None:
    spans = list(sentence_spans(text))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    inside = {place for start, end in spans for place in range(start, end)}
    assert all(place in inside for place, char in enumerate(text) if not char.isspace())
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)


@pytest.mark.parametrize(
    "text", ["." * 100_000 + "x", "." + ")" * 100_000 + "x", "\n" + " " * 100_000 + "x", "\n" * 100_000]
)
def test_long_runs_take_linear_time(text: str) -> None:
    assert len(_sentences(text)) <= 1
