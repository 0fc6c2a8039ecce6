"""Comparisons on the terminal: sentences with their covered share, and versions with their changes in place."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from moverank.indexer.formatters.escaping import isolated, printable
from moverank.indexer.formatters.sentences import percentage
from moverank.indexer.plugins.evidence.compared_texts import compared_passages
from moverank.indexer.plugins.evidence.comparison_marks import (
    ComparedMark,
    carried_pairs,
    changes_verdict,
    evidence_sides,
    evidence_verdict,
    pieces,
)
from moverank.indexer.values.documents import Document
from moverank.rerank.plugins.evidence.evidence import Evidence
from moverank.rerank.plugins.evidence.text_changes import TextChanges
from moverank.rerank.ranking import Span

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
    evidence: Evidence, claim: Document, sources: Mapping[str, Document], *, colour: bool
) -> RenderableType:
    """Return the sentences of a claim with their covered share; uncovered units are coloured, or else in brackets."""
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
    return Group(*lines, Text(evidence_verdict(evidence), style="dim"))


def _within(span: Span, outer: Span) -> Span:
    return Span(span.part, span.start - outer.start, span.end - outer.start)


def _shown(text: str, kind: str, *, colour: bool) -> Text:
    shown = printable(text)
    if kind not in _SIGNS:
        return Text(shown)
    before, after = ("", "") if colour and kind == "uncovered" else _SIGNS[kind]
    return Text(f"{before}{shown}{after}", style=_STYLES[kind])


def changes_view(changes: TextChanges, old: Document, new: Document) -> RenderableType:
    """Return the new version around its changes: new, dropped, moved and changed words have signs and colours."""
    olds, news = (dict(compared_passages(one)) for one in (old, new))
    shown: dict[int | None, list[tuple[str, str]]] = {part: [] for part in news} or {None: []}
    part, done = next(iter(shown)), dict.fromkeys(news, 0)
    for change in changes.changes:
        if change.new is not None:
            part = change.new.part
            shown[part].append(("", news[part][done[part] : change.new.start]))
            done[part] = change.new.end
        if change.old is not None and change.state in ("changed", "dropped"):
            follows = any(text for _, text in shown[part])
            space = " " if change.state == "dropped" else ""
            before, after = (space, "") if follows else ("", space)
            dropped = olds[change.old.part][change.old.start : change.old.end]
            shown[part] += [("", before), ("dropped", dropped), ("", after)]
        if change.new is not None:
            state = "" if change.state == "kept" else change.state
            shown[part].append((state, news[part][change.new.start : change.new.end]))
    for part, text in news.items():
        shown[part].append(("", text[done[part] :]))
    lines = [_around_changes(pieces) for pieces in shown.values()]
    return Group(*lines, Text(changes_verdict(changes), style="dim"))


def _around_changes(found: Sequence[tuple[str, str]]) -> Text:
    """Return pieces of a text (state, text); a piece without a state is cut to the text near the other pieces."""
    line, groups = Text(), [(state, "".join(text for _, text in some)) for state, some in groupby(found, itemgetter(0))]
    for i, (state, text) in enumerate(groups):
        if state:
            line.append_text(_shown(text, state, colour=True))
            continue
        shown = printable(text)
        if len(shown) > 2 * _CONTEXT:
            last = "" if i == len(groups) - 1 else shown[-_CONTEXT:]
            shown = f"{shown[:_CONTEXT] if i else ''} … {last}"
        line.append(shown)
    return line
