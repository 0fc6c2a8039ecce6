"""Comparisons on the terminal: a verdict, and the sentences that differ, each with that of the other text."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from moverank.indexer.formatters.escaping import isolated, printable
from moverank.indexer.plugins.evidence.comparison_marks import (
    Piece,
    carried_pairs,
    changes_sides,
    changes_verdict,
    cut,
    evidence_sides,
    evidence_verdict,
)
from moverank.indexer.plugins.evidence.differences import (
    Difference,
    MarkedSentence,
    changes_differences,
    evidence_differences,
)
from moverank.indexer.values.documents import Document
from moverank.rerank.plugins.evidence.evidence import Evidence
from moverank.rerank.plugins.evidence.text_changes import TextChanges

_STYLES = {"uncovered": "bold red", "new": "green", "dropped": "red", "moved": "cyan"}
_SIGNS = {
    "uncovered": ("[", "]"),
    "new": ("{+", "+}"),
    "dropped": ("[-", "-]"),
    "moved": ("{~", "~}"),
}


def evidence_view(
    evidence: Evidence, claim: Document, sources: Mapping[str, Document], *, colour: bool
) -> RenderableType:
    """Return what sources cover of a claim: a verdict, what they do not, and what they say in near words."""
    side, *others = sides = evidence_sides(evidence, claim, sources)
    lines = [Text(evidence_verdict(evidence)), *_listed(evidence_differences(evidence, sides), colour=colour)]
    texts, by_key = dict(side.texts), dict(zip(sources, others, strict=True))
    for one in evidence.sentences:
        if pairs := carried_pairs(one.carried, side, by_key):
            sentence = printable(cut(texts, one.span))
            arrows = (f"{isolated(own)} \N{LEFTWARDS ARROW} {isolated(other)} {cost:.2f}" for own, other, cost in pairs)
            lines += [Text(f"near words in: {sentence}"), Text(f"   {',  '.join(arrows)}", style="dim")]
    return Group(*lines)


def changes_view(changes: TextChanges, old: Document, new: Document, *, colour: bool) -> RenderableType:
    """Return the changes between two versions of a text: a verdict, and the sentences that differ, with their marks."""
    sides = changes_sides(changes, old, new)
    return Group(Text(changes_verdict(changes)), *_listed(changes_differences(changes, sides), colour=colour))


def _listed(differences: Sequence[Difference], *, colour: bool) -> Iterator[Text]:
    """Yield the lines of a list of differences."""
    for number, one in enumerate(differences, start=1):
        yield Text(f"{number}. {one.note}", style="bold")
        sentences = [sentence for sentence in (one.first, one.second) if sentence is not None]
        width = max(len(_place(sentence)) for sentence in sentences)
        for sentence in sentences:
            line = Text.assemble((f"   {_place(sentence):<{width}}  ", "cyan"))
            for piece in sentence.pieces:
                line.append_text(_shown(piece, is_old=sentence is one.first, colour=colour))
            yield line


def _place(sentence: MarkedSentence) -> str:
    return printable(f"{sentence.name}:{sentence.line}")


def _shown(piece: Piece, *, is_old: bool, colour: bool) -> Text:
    shown = printable(piece.text.replace("\n", " "))
    kind = next((kind for kind in piece.kinds.split() if kind in _SIGNS or kind == "changed"), "")
    if not kind:
        return Text(shown)
    if kind == "changed":
        kind = "dropped" if is_old else "new"
    before, after = ("", "") if colour and kind == "uncovered" else _SIGNS[kind]
    return Text(f"{before}{shown}{after}", style=_STYLES[kind])
