"""Comparisons on the terminal: sentences with their covered share, and versions with their changes in place."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from moverank.indexer.documents import Document
from moverank.indexer.formatters.comparison_marks import (
    ComparedMark,
    carried_pairs,
    changes_sides,
    changes_verdict,
    evidence_sides,
    evidence_verdict,
    pieces,
)
from moverank.indexer.formatters.escaping import isolated, printable
from moverank.indexer.formatters.sentences import percentage
from moverank.rerank.ranking import Span

if TYPE_CHECKING:  # they would import numpy
    from moverank.rerank.distance.evidence import Evidence
    from moverank.rerank.distance.text_changes import TextChanges

_STYLES = {"uncovered": "bold red", "new": "green", "dropped": "red", "moved": "cyan", "changed": "yellow"}
_SIGNS = {
    "uncovered": ("[", "]"),
    "new": ("{+", "+}"),
    "dropped": ("[-", "-]"),
    "moved": ("{~", "~}"),
    "changed": ("{+", "+}"),
}
_CONTEXT = 80  # characters that are shown before and after a change
_INDENT = (0, 0, 0, 9)


def evidence_view(
    evidence: "Evidence", claim: Document, sources: Mapping[str, Document], *, colour: bool
) -> RenderableType:
    """Return the sentences of a claim with their covered share; what is not covered has a colour, or else brackets."""
    side, *others = evidence_sides(evidence, claim, sources)
    by_key = dict(zip(sources, others, strict=True))
    lines: list[RenderableType] = []
    texts = dict(side.texts)
    for sentence in evidence.sentences:
        share = "-" if sentence.covered is None else percentage(sentence.covered)
        line = Text.assemble((f"{share:>7}  ", "cyan"))
        span, text = sentence.span, texts[sentence.span.part]
        marks = [ComparedMark(_within(one.span, span), "uncovered") for one in sentence.uncovered]
        for piece in pieces(text[span.start : span.end], marks):
            line.append_text(_shown(piece.text, piece.kinds, colour=colour))
        lines.append(line)
        if pairs := carried_pairs(sentence.carried, side, by_key):
            shown = ",  ".join(f"{isolated(own)} ← {isolated(other)} {cost:.2f}" for own, other, cost in pairs)
            lines.append(Padding(Text(shown, style="dim"), _INDENT, expand=False))
    return Group(*lines, Text(f"{_sentence(evidence_verdict(evidence))}.", style="dim"))


def _within(span: Span, outer: Span) -> Span:
    return Span(span.part, span.start - outer.start, span.end - outer.start)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shown(text: str, kind: str, *, colour: bool) -> Text:
    shown = printable(text)
    if kind not in _SIGNS:
        return Text(shown)
    before, after = ("", "") if colour and kind == "uncovered" else _SIGNS[kind]
    return Text(f"{before}{shown}{after}", style=_STYLES[kind])


def changes_view(changes: "TextChanges", old: Document, new: Document) -> RenderableType:
    """Return the new version around its changes: new, dropped, moved and changed words have signs and colours."""
    sides = changes_sides(changes, old, new)
    olds, news = (dict(side.texts) for side in sides)
    lines = [Text() for _ in news or (None,)]
    place = dict(zip(news, lines, strict=False))
    done = dict.fromkeys(news, 0)
    part = next(iter(news), None)
    for change in changes.changes:
        if change.new is not None:
            part = change.new.part
            place[part].append(_elided(news[part][done[part] : change.new.start], at_start=not done[part]))
            done[part] = change.new.start
        if change.old is not None and change.state in ("changed", "dropped"):
            dropped = olds[change.old.part][change.old.start : change.old.end]
            line = place.get(part, lines[0])
            line.append_text(_shown(dropped, "dropped", colour=True))
            line.append(" " if change.state == "dropped" else "")
        if change.new is not None and change.state != "kept":
            shown = news[part][change.new.start : change.new.end]
            place[part].append_text(_shown(shown, change.state, colour=True))
            done[part] = change.new.end
    for part, line in place.items():
        line.append(_elided(news[part][done[part] :], at_end=True))
    return Group(*lines, Text(f"{_sentence(changes_verdict(changes))}.", style="dim"))


def _elided(text: str, *, at_start: bool = False, at_end: bool = False) -> str:
    """Return unchanged text, of which the middle, or what no change follows or precedes, is left out."""
    shown = printable(text)
    if len(shown) <= 2 * _CONTEXT:
        return shown
    first, last = "" if at_start else shown[:_CONTEXT], "" if at_end else shown[-_CONTEXT:]
    return f"{first} … {last}"
