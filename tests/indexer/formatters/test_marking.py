"""Marked texts: nothing is lost, and the right words are marked."""

from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.formatters.marking import as_written, marked, marked_text, marks_of_passage, note, words_of
from moverank.indexer.values.documents import Document, Part
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow, Highlight, Hit, Passage, Span
from moverank.rerank.words.tokenizer import Tokenizer


def _places(text: str) -> list[Highlight]:
    return [Highlight(0, start, end, word, word, 0.0) for start, end, word in Tokenizer().spans(text)]


@given(st.text())
def test_the_pieces_are_the_text(text: str) -> None:
    text = f"{text} bc Nun É {text}"
    for shown in (text, text[: len(text) // 2]):
        pieces = marked(shown, _places(text))
        assert "".join(piece for piece, _ in pieces) == shown
        for piece, mark in pieces:
            assert mark is None or words_of([piece], Tokenizer()) == {mark.word}


def test_a_passage_has_the_highlights_within_it() -> None:
    text = "One plug. The plug gets hot. A plug."
    hit = Hit("k", 1.0, highlights=tuple(_places(text)), passage=Passage(0, 10, 28, text[10:28], 0.5, 3))
    assert [piece for piece, mark in marked_text(hit) if mark] == ["The", "plug", "gets", "hot"]
    assert [one.word for one in marks_of_passage(hit) if 0 <= one.start < 18] == ["the", "plug", "gets", "hot"]


def test_near_words_have_a_note() -> None:
    assert note(Highlight(0, 0, 4, "warm", "hot", 0.456)) == "near hot, cost 0.46"
    assert note(Highlight(0, 0, 3, "hot", "hot", 0.0)) == ""
    assert note(Highlight(0, 0, 4, "hots", "hot", 0.0)) == "counts as hot"


def test_flows_are_shown_as_both_sides_write_them() -> None:
    spans = (Span(None, 0, 4), Span(0, 0, 4)), (Span(1, 2, 5),)
    explanation = Explanation(1.0, (Flow("plug", "hot", 1.0, 1.0, 1.0, *spans), Flow("a", "b", 0.0, 0.0, 0.0)))
    shown = as_written(explanation, Document("q", "PLUG"), Document("d", "", (Part(""), Part("A HOT one"))))
    assert [(flow.source, flow.target) for flow in shown.flows] == [("PLUG", "HOT"), ("a", "b")]
    shown = as_written(explanation, Document("q", "PLUG"), Document("d", "", (Part(""),)))  # changed since
    assert [(flow.source, flow.target) for flow in shown.flows] == [("PLUG", "hot"), ("a", "b")]
