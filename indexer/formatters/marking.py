"""Marks the words of a text that are in the query, or near to a word of the query."""

from bisect import bisect_right
from collections.abc import Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from moverank.indexer.formatters.flow_diagram import SHARES, STAYS, cost_limits, cost_step
from moverank.rerank.ranking import Flow
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.tokenizer import Tokenizer

if TYPE_CHECKING:  # they would import numpy
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.distance.ground_cost import NearWord

_NEAR = 2
"""Moved words are marked up to this step of cost: each word of a document has a flow, but most come from far."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a word is marked: it is in the query, or near to the query's word in the `note`; `step` says how near."""

    step: int = STAYS
    note: str = ""


Segments = list[tuple[str, Mark | None]]
"""A text in pieces, each with its mark or without one."""

_SAME = Mark()


def marks_of_words(words: Iterable[str]) -> dict[str, Mark]:
    """Return the marks of the words of a query."""
    return dict.fromkeys(words, _SAME)


def marks_of_flows(flows: Sequence[Flow], words: Iterable[str] = ()) -> dict[str, Mark]:
    """Return the marks of a document's words: words that stayed, and words to which a near word moved.

    `words` are further words of the query, without a vector.
    """
    limits = cost_limits(flows)
    marks = marks_of_words(words)
    for flow in sorted(flows, key=lambda flow: flow.cost):
        step = cost_step(flow.cost, limits)
        if step <= _NEAR and flow.target not in marks:
            same = flow.source == flow.target
            marks[flow.target] = _SAME if same else Mark(step, f"from {flow.source}, cost {flow.cost:.2f}")
    return marks


def marks_of_near(same: Iterable[str], near: "Mapping[str, NearWord]") -> dict[str, Mark]:
    """Return the marks of the query's words, `same`, and of words near to one of them."""
    marks = {
        word: Mark(step, f"near {one.word}, cost {one.cost:.2f}")
        for word, one in near.items()
        if (step := 1 + bisect_right(SHARES, one.share)) <= _NEAR
    }
    return marks | marks_of_words(same)


def marked(text: str, marks: Mapping[str, Mark], tokenizer: Tokenizer) -> Segments:
    """Return the pieces of a text, which `tokenizer` splits into words; a phrase is marked as its first marked word."""
    pieces, last = Segments(), 0
    for start, end, word in tokenizer.spans(text) if marks else ():
        mark = next((marks[one] for one in (word, *word.split(JOINT)) if one in marks), None)
        if mark:
            pieces += [(text[last:start], None), (text[start:end], mark)]
            last = end
    return [(piece, mark) for piece, mark in [*pieces, (text[last:], None)] if piece]


def as_written(
    explanation: "Explanation", source: Iterable[str], target: Iterable[str], tokenizer: Tokenizer
) -> "Explanation":
    """Return an explanation whose flows have the words as the texts of both sides first write them."""
    own, other = (_written(texts, tokenizer) for texts in (source, target))
    flows = (
        replace(flow, source=own.get(flow.source, flow.source), target=other.get(flow.target, flow.target))
        for flow in explanation.flows
    )
    return replace(explanation, flows=tuple(flows))


def _written(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """Return the words of some texts, and how each is first written."""
    written: dict[str, str] = {}
    for text in texts:
        for start, end, word in tokenizer.spans(text):
            written.setdefault(word, text[start:end])
    return written


def words_of(texts: Iterable[str], tokenizer: Tokenizer) -> KeysView[str]:
    """Return the words of some texts, a set in the order in which they first occur."""
    return dict.fromkeys(word for text in texts for word in tokenizer.words(text)).keys()
