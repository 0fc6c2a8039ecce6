"""Marks the words of a text that are in the query, or near to a word of the query, by the highlights of a hit."""

from collections.abc import Iterable, KeysView, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from moverank.indexer.values.documents import Document
from moverank.rerank.ranking import Highlight, Hit, Span

if TYPE_CHECKING:  # they would import numpy
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.words.tokenizer import Tokenizer

Segments = list[tuple[str, Highlight | None]]
"""A text in pieces, each with its mark or without one."""


def marked(text: str, highlights: Iterable[Highlight]) -> Segments:
    """Return the pieces of a text; `highlights` are places in it, increasing, of which some may be beyond its end."""
    pieces, last = Segments(), 0
    for one in highlights:
        if last <= one.start < one.end <= len(text):
            pieces += [(text[last : one.start], None), (text[one.start : one.end], one)]
            last = one.end
    return [(piece, mark) for piece, mark in [*pieces, (text[last:], None)] if piece]


def of_part(highlights: Iterable[Highlight], part: int | None) -> list[Highlight]:
    """Return the highlights of a part, or of the title."""
    return [one for one in highlights if one.part == part]


def marked_title(hit: Hit) -> Segments:
    """Return the title of a hit, or the key if it has none."""
    return marked(hit.title, of_part(hit.highlights, None)) if hit.title else [(hit.key, None)]


def marked_text(hit: Hit) -> Segments:
    """Return the text of a hit that is shown: the whole one, the passage or the snippet."""
    if hit.text is not None:
        text = hit.text.strip()
        before = len(hit.text) - len(hit.text.lstrip())
        starts = dict(enumerate(hit.part_starts))
        places = [_moved(one, starts[one.part] - before) for one in hit.highlights if one.part in starts]
        return marked(text, places)
    if hit.passage is not None:
        return marked(hit.passage.text, marks_of_passage(hit))
    return marked(hit.snippet, hit.snippet_highlights)


def marks_of_passage(hit: Hit) -> list[Highlight]:
    """Return the highlights of the passage of a hit, at their places in its text."""
    own = hit.passage
    return [] if own is None else [_moved(one, -own.start) for one in of_part(hit.highlights, own.part)]


def _moved(one: Highlight, by: int) -> Highlight:
    return replace(one, start=one.start + by, end=one.end + by)


def note(one: Highlight) -> str:
    """Return the word of the query that another word counts as, or is near to, and the cost; "" for the word itself."""
    if is_same(one):
        return ""
    return f"near {one.source}, cost {one.cost:.2f}" if one.cost else f"counts as {one.source}"


def is_same(one: Highlight) -> bool:
    """Return whether a place has a word of the query itself."""
    return one.word == one.source


def as_written(explanation: "Explanation", source: Document, target: Document) -> "Explanation":
    """Return an explanation whose flows have the words as both documents first write them."""
    own, other = _texts_by_part(source), _texts_by_part(target)
    flows = (
        replace(
            flow,
            source=_written(own, flow.source_spans, flow.source),
            target=_written(other, flow.target_spans, flow.target),
        )
        for flow in explanation.flows
    )
    return replace(explanation, flows=tuple(flows))


def _texts_by_part(document: Document) -> dict[int | None, str]:
    return dict[int | None, str](enumerate(part.text for part in document.parts)) | {None: document.title}


def _written(texts: Mapping[int | None, str], spans: Sequence[Span], word: str) -> str:
    """Return the text at the first of some places of a `word`, the word itself if there are none."""
    if not spans:
        return word
    first = spans[0]
    return texts.get(first.part, "")[first.start : first.end] or word  # the document may have changed since


def words_of(texts: Iterable[str], tokenizer: "Tokenizer") -> KeysView[str]:
    """Return the words of some texts, a set in the order in which they first occur."""
    return dict.fromkeys(word for text in texts for word in tokenizer.words(text)).keys()
