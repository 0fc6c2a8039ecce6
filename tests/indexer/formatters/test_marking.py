"""Marked texts: nothing is lost, and the right words are marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("jinja2", reason="the extra `server` is not installed")

from moverank.indexer.formatters.marking import Mark, marked, marks_of_flows, marks_of_near, marks_of_words, words_of
from moverank.rerank.distance.ground_cost import NearWord
from moverank.rerank.ranking import Flow
from moverank.rerank.words.tokenizer import Tokenizer


@given(st.text(), st.lists(st.sampled_from(["a", "bc", "é", "नमस्ते"])))
def test_the_pieces_are_the_text(text: str, words: list[str]) -> None:
    text = f"{text} bc Nun É {text}"
    pieces = marked(text, marks_of_words(words), Tokenizer())
    assert "".join(piece for piece, _ in pieces) == text
    for piece, mark in pieces:
        assert mark is None or words_of([piece], Tokenizer()) <= set(words)


def test_words_are_marked_in_any_case_and_form() -> None:
    pieces = marked("Cafe\u0301 or CAFÉ, cafés", marks_of_words(["café"]), Tokenizer())
    assert [piece for piece, mark in pieces if mark] == ["Cafe\u0301", "CAFÉ"]


def test_words_that_stayed_and_near_ones_are_marked() -> None:
    flows = (
        Flow("plug", "plug", 0.2, 0.0, 0.0),
        Flow("plug", "socket", 0.2, 0.4, 0.1),
        Flow("hot", "socket", 0.2, 0.7, 0.1),
        Flow("hot", "cheese", 0.4, 2.0, 0.8),
    )
    marks = marks_of_flows(flows, ("zzz",))
    assert marks == {"plug": Mark(), "zzz": Mark(), "socket": Mark(1, "from plug, cost 0.40")}
    assert marks_of_near(["plug"], {"socket": NearWord("plug", 0.4, 0.3), "far": NearWord("plug", 1.4, 0.9)}) == {
        "plug": Mark(),
        "socket": Mark(1, "near plug, cost 0.40"),
    }
    assert words_of(["The plug", "is hot"], Tokenizer(frozenset({"the", "is"}))) == {"plug", "hot"}
