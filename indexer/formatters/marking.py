"""Words of a text that are in the query, or near to a word of it, marked."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from moverank.indexer.formatters.flow_diagram import STAYS, cost_step
from moverank.rerank.ranking import Flow
from moverank.rerank.words.tokenizer import Tokenizer

_NEAR = 2
"""Words are marked as moved up to this step of cost; each word of a document has a flow, most of them from far."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a word is marked: it is in the query, or a `note` names the word that moved to it; `step` is the cost's."""

    step: int = STAYS
    note: str = ""


Segments = list[tuple[str, Mark | None]]
"""A text in pieces, each with its mark or without one."""

_SAME = Mark()


def marks_of_words(words: Iterable[str]) -> dict[str, Mark]:
    """Return the marks of the words of a query."""
    return dict.fromkeys(words, _SAME)


def marks_of_flows(flows: Sequence[Flow], words: Iterable[str] = ()) -> dict[str, Mark]:
    """Return the marks of the words of a document: those that stayed, and the nearest of those that moved.

    `words` are more words of the query, without a vector.
    """
    longest = max((flow.cost for flow in flows), default=0.0)
    marks = marks_of_words(words)
    for flow in sorted(flows, key=lambda flow: flow.cost):
        step = cost_step(flow.cost, longest)
        if step <= _NEAR and flow.target not in marks:
            same = flow.source == flow.target
            marks[flow.target] = _SAME if same else Mark(step, f"from {flow.source}, cost {flow.cost:.2f}")
    return marks


def marked(text: str, marks: Mapping[str, Mark]) -> Segments:
    """Return the pieces of a text."""
    pieces, last = Segments(), 0
    for start, end, word in Tokenizer().spans(text) if marks else ():
        if word in marks:
            pieces += [(text[last:start], None), (text[start:end], marks[word])]
            last = end
    return [(piece, mark) for piece, mark in [*pieces, (text[last:], None)] if piece]


def words_of(texts: Iterable[str], stop_words: Collection[str]) -> set[str]:
    """Return the words of some texts without stop words."""
    tokenizer = Tokenizer(frozenset(stop_words))
    return {word for text in texts for word in tokenizer.words(text)}
