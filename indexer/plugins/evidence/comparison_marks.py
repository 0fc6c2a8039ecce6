"""The texts of a comparison with the marks of its runs, for the terminal and for pages."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from moverank.indexer.formatters.sentences import percentage
from moverank.indexer.plugins.evidence.compared_texts import compared_passages
from moverank.indexer.values.documents import Document
from moverank.rerank.plugins.evidence.evidence import Carried, Evidence
from moverank.rerank.plugins.evidence.text_changes import TextChange, TextChanges
from moverank.rerank.ranking import Span

REASONS = {
    "value": "no source has this value",
    "limit": "no source has this limit",
    "polarity": "the sources have this with the other polarity only",
    "used": "the sources have this, but other words of the sentence need it",
    "unknown": "no source has this word, which has no vector",
    "far": "no word of its polarity in the sources is near enough",
}
"""Why a unit is not covered, in words."""


@dataclass(frozen=True, slots=True)
class ComparedMark:
    """A marked stretch of a text: its `kind` ("same", "near", "uncovered", "moved", "new", ...), and a note.

    Marks with the same `flow` are counterparts.
    """

    span: Span
    kind: str
    note: str = ""
    flow: int | None = None


_BETWEEN_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")


@dataclass(frozen=True, slots=True)
class Side:
    """One text of a comparison: its name, the texts of its parts, and its marks."""

    name: str
    texts: tuple[tuple[int | None, str], ...]
    marks: tuple[ComparedMark, ...]

    def blocks(self) -> "Iterator[list[Piece]]":
        """Yield the pieces of each paragraph."""
        by_part = defaultdict[int | None, list[ComparedMark]](list)
        for mark in self.marks:
            by_part[mark.span.part].append(mark)
        for part, text in self.texts:
            block = list[Piece]()
            for piece in pieces(text, by_part[part]):
                first, *others = _BETWEEN_PARAGRAPHS.split(piece.text)
                block.append(Piece(first, piece.marks, piece.starts))
                for paragraph in others:
                    yield block
                    block = [Piece(paragraph, piece.marks, ())]
            yield block


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text with the marks that cover it, perhaps none; `starts`: the flows that begin with it."""

    text: str
    marks: tuple[ComparedMark, ...]
    starts: tuple[int, ...]

    @property
    def kinds(self) -> str:
        """Return the kinds of the marks, separated by spaces."""
        return " ".join(dict.fromkeys(mark.kind for mark in self.marks))

    @property
    def flows(self) -> list[int]:
        """Return the flows of the marks."""
        return [mark.flow for mark in self.marks if mark.flow is not None]

    @property
    def note(self) -> str:
        """Return the notes of the marks."""
        return "; ".join(dict.fromkeys(mark.note for mark in self.marks if mark.note))


def pieces(text: str, marks: Sequence[ComparedMark]) -> Iterator[Piece]:
    """Yield the pieces of a text, cut where a mark begins or ends; marks may overlap."""
    cuts = sorted({0, len(text), *(mark.span.start for mark in marks), *(mark.span.end for mark in marks)})
    waiting = sorted(marks, key=lambda mark: mark.span.start)
    current: list[ComparedMark] = []
    place = 0
    for start, end in pairwise(cuts):
        current = [mark for mark in current if mark.span.end > start]
        first = len(current)
        while place < len(waiting) and waiting[place].span.start == start:
            current.append(waiting[place])
            place += 1
        starts = tuple(mark.flow for mark in current[first:] if mark.flow is not None)
        yield Piece(text[start:end], tuple(current), starts)


def evidence_sides(evidence: Evidence, claim: Document, sources: Mapping[str, Document]) -> list[Side]:
    """Return the claim and its sources, by key, with their marks; a flow is a carried run."""
    own, others = dict(compared_passages(claim)), {key: dict(compared_passages(one)) for key, one in sources.items()}
    of_claim, of_sources = list[ComparedMark](), {key: list[ComparedMark]() for key in sources}
    for flow, one in enumerate(evidence.carried):
        kind, cost = "same" if one.same else "near", f", cost {one.cost:.2f}" if one.cost else ""
        there, here = cut(others[one.key], one.source), cut(own, one.span)
        of_claim.append(ComparedMark(one.span, kind, f"from {there!r}{cost}" if kind == "near" else "", flow))
        of_sources[one.key].append(ComparedMark(one.source, kind, f"to {here!r}{cost}" if kind == "near" else "", flow))
    of_claim += [ComparedMark(one.span, "uncovered", REASONS[one.reason]) for one in evidence.uncovered]
    return [
        Side("claim", tuple(own.items()), tuple(of_claim)),
        *(Side(key, tuple(others[key].items()), tuple(of_sources[key])) for key in sources),
    ]


def changes_sides(changes: TextChanges, old: Document, new: Document) -> list[Side]:
    """Return the old and the new version with their marks; a flow is a run that moved or changed."""
    texts = [dict(compared_passages(one)) for one in (old, new)]
    marks: tuple[list[ComparedMark], list[ComparedMark]] = ([], [])
    for flow, one in enumerate(changes.changes):
        if one.state == "kept":
            continue
        for own, span, other, others in ((0, one.old, one.new, texts[1]), (1, one.new, one.old, texts[0])):
            if span is not None:
                note = one.state if other is None else _change_note(one, cut(others, other), is_new=own == 1)
                marks[own].append(ComparedMark(span, one.state, note, None if other is None else flow))
    return [
        Side(name, tuple(own.items()), tuple(some))
        for name, own, some in zip(("old", "new"), texts, marks, strict=True)
    ]


def _change_note(change: TextChange, other: str, *, is_new: bool) -> str:
    if change.state == "moved":
        return "moved"
    return f"changed {'from' if is_new else 'to'} {other!r}, cost {change.cost:.2f}"


def cut(texts: Mapping[int | None, str], span: Span) -> str:
    """Return a stretch of a text, in one line."""
    return " ".join(texts[span.part][span.start : span.end].split())


def carried_pairs(carried: Sequence[Carried], side: Side, sources: Mapping[str, Side]) -> list[tuple[str, str, float]]:
    """Return the words of the runs that are carried to others, of the claim and of the source, with the cost."""
    own, others = dict(side.texts), {key: dict(one.texts) for key, one in sources.items()}
    return [(cut(own, one.span), cut(others[one.key], one.source), one.cost) for one in carried if not one.same]


def evidence_verdict(evidence: Evidence) -> str:
    """Return the covered share and whether it is certified, in a sentence."""
    count = len(evidence.sources)
    covered = f"{evidence.covered_units:,} of {evidence.units:,} units ({percentage(evidence.covered)}) are covered"
    proof = "certified: nothing covers more of what is compared" if evidence.certified else "not certified"
    missing = f" (no source has: {', '.join(evidence.left_out_words)})" if evidence.left_out_words else ""
    left_out = f" Stop words and negations are not compared: {evidence.left_out:,}{missing}." * bool(evidence.left_out)
    return f"{covered} by {count} source{'s' * (count > 1)} within {evidence.tau:.3f}; {proof}.{left_out}"


def changes_verdict(changes: TextChanges) -> str:
    """Return the number of units by state and whether it is certified, in a sentence."""
    counted = ", ".join(f"{count:,} {state}" for state, count in changes.counts.items())
    proof = "certified: nothing carries more of what differs" if changes.certified else "not certified"
    return f"Units: {counted}; {percentage(changes.carried)} carried within {changes.tau:.3f}; {proof}."
