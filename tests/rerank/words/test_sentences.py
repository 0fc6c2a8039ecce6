"""Ends of sentences: after punctuation and empty lines, not within numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.words.sentences import sentence_ends


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It is 3.5 m. Is it? Yes!", ["It is 3.5 m.", " Is it?", " Yes!"]),
        ('He said "no." She left (late.) Then', ['He said "no."', " She left (late.)", " Then"]),
        ("A title\n\nA line\nand the next", ["A title\n", "\nA line\nand the next"]),
        ("你好。我们走！「好。」行", ["你好。", "我们走！", "「好。」", "行"]),
        ("هل هذا؟ نعم۔ यह है। ok", ["هل هذا؟", " نعم۔", " यह है।", " ok"]),
        ("wait... what", ["wait...", " what"]),
        ("no end", ["no end"]),
        ("", [""]),
    ],
)
def test_sentences_end_where_a_reader_sees_it(text: str, sentences: list[str]) -> None:
    ends = [0, *sentence_ends(text), len(text)]
    found = [text[start:end] for start, end in pairwise(ends)]
    assert [one for one in found if one] == [one for one in sentences if one]


@given(st.text('a.!\n )"。', max_size=40))
def test_ends_increase_within_the_text(text: str) -> None:
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) for end in ends)


def test_long_runs_take_linear_time() -> None:
    assert not sentence_ends("." * 200_000 + "x")
    assert not sentence_ends("." + ")" * 200_000 + "x")
    assert not sentence_ends("\n" + " " * 200_000 + "x")
