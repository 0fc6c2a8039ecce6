"""The differences of a comparison: sentences with their marks, each with the sentence of the other text beside it."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from moverank.indexer.plugins.evidence.comparison_marks import REASONS, ComparedMark, Piece, Side, pieces
from moverank.rerank.plugins.evidence.evidence import Evidence, SentenceEvidence
from moverank.rerank.plugins.evidence.text_changes import TextChanges
from moverank.rerank.ranking import Span
from moverank.rerank.words.sentence_spans import sentence_spans


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence of a text of a comparison: the text's name, the line on which it begins, from 1, and its pieces."""

    name: str
    line: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence that differs, the sentence of the other text beside it, and what is said about both.

    One is None if there is none; not both.
    """

    first: MarkedSentence | None
    second: MarkedSentence | None
    note: str


class _Sentences:
    """The sentences of a text of a comparison, with their marks."""

    def __init__(self, side: Side, spans: Iterable[Span] | None = None) -> None:
        self._name, self._texts, self._marks = side.name, dict(side.texts), side.marks
        found = _all_sentences(self._texts.items()) if spans is None else spans
        self._by_part = defaultdict[int | None, list[Span]](list)
        for span in found:
            self._by_part[span.part].append(span)

    @cached_property
    def _marks_of(self) -> dict[Span, list[ComparedMark]]:
        """Return the marks in each sentence, cut to it."""
        found = defaultdict[Span, list[ComparedMark]](list)
        for mark in self._marks:
            for span in self.over(mark.span):
                cut = Span(span.part, max(mark.span.start, span.start), min(mark.span.end, span.end))
                found[span].append(replace(mark, span=cut))
        return found

    def over(self, span: Span) -> Iterator[Span]:
        """Yield the sentences that a span touches."""
        own = self._by_part[span.part]
        first = max(0, bisect_right(own, span.start, key=lambda one: one.start) - 1)
        for one in own[first:]:
            if one.start >= span.end:
                return
            if one.end > span.start:
                yield one

    def at(self, part: int | None, place: int) -> Span | None:
        """Return the sentence at a place, or the one before it."""
        own = self._by_part[part]
        number = bisect_right(own, place, key=lambda one: one.start) - 1
        return own[max(0, number)] if own else None

    def marked(self, span: Span) -> MarkedSentence:
        """Return a sentence with its marks."""
        text = self._texts[span.part]
        marks = [
            replace(mark, span=Span(span.part, mark.span.start - span.start, mark.span.end - span.start))
            for mark in self._marks_of[span]
        ]
        line = text.count("\n", 0, span.start) + 1
        return MarkedSentence(self._name, line, tuple(pieces(text[span.start : span.end], marks)))


def _all_sentences(texts: Iterable[tuple[int | None, str]]) -> Iterator[Span]:
    return (Span(part, start, end) for part, text in texts for start, end in sentence_spans(text))


def evidence_differences(evidence: Evidence, sides: Sequence[Side]) -> list[Difference]:
    """Return the sentences of a claim that are not wholly covered, each with the sentence that covers most of it."""
    claim = _Sentences(sides[0], (one.span for one in evidence.sentences))
    sources = {side.name: _Sentences(side) for side in sides[1:]}
    texts, found = dict(sides[0].texts), list[Difference]()
    for sentence in (one for one in evidence.sentences if one.uncovered):
        units = Counter[tuple[str, Span]]()
        for one in sentence.carried:
            if (there := sources[one.key].at(one.source.part, one.source.start)) is not None:
                units[one.key, there] += one.units
        key, span = max(units, key=lambda one: units[one]) if units else ("", None)
        beside = None if span is None else sources[key].marked(span)
        found.append(Difference(claim.marked(sentence.span), beside, _why(sentence, texts)))
    return found


def _why(sentence: SentenceEvidence, texts: Mapping[int | None, str]) -> str:
    """Return how much of a sentence is covered, and why the rest is not."""
    words = defaultdict[str, list[str]](list)
    for one in sentence.uncovered:
        words[REASONS[one.reason]].append(" ".join(texts[one.span.part][one.span.start : one.span.end].split()))
    reasons = (f"{reason}: {', '.join(some)}" for reason, some in words.items())
    return "; ".join([f"{sentence.covered_units} of {sentence.units} units covered", *reasons])


def changes_differences(changes: TextChanges, sides: Sequence[Side]) -> list[Difference]:
    """Return the sentences of two versions with a change, each beside the one that has most of it in the other."""
    old, new = map(_Sentences, sides)
    shared = defaultdict[tuple[bool, Span], Counter[Span]](Counter)  # by version and sentence: the units of others
    for one in changes.changes:
        if one.old is not None and one.new is not None:
            for here in new.over(one.new):
                size = min(here.end, one.new.end) - max(here.start, one.new.start)
                there = old.at(one.old.part, one.old.start + max(0, here.start - one.new.start))
                if there is not None:
                    shared[True, here][there] += size
                    shared[False, there][here] += size
    found = dict[tuple[Span | None, Span | None], set[str]]()
    for one in changes.changes:
        for here in new.over(one.new) if one.new is not None and one.state != "kept" else ():
            found.setdefault((_most(shared[True, here]), here), set()).add(one.state)
        for here in old.over(one.old) if one.new is None and one.old is not None else ():
            found.setdefault((here, _most(shared[False, here])), set()).add(one.state)
    return [_changed(old.marked, new.marked, pair, states) for pair, states in found.items()]


def _most(units: Counter[Span]) -> Span | None:
    return max(units, key=lambda one: units[one]) if units else None


def _changed(
    old: Callable[[Span], MarkedSentence],
    new: Callable[[Span], MarkedSentence],
    pair: tuple[Span | None, Span | None],
    states: set[str],
) -> Difference:
    """Return the difference of two sentences; of one that only moved, it is once in it."""
    before, after = pair
    first = None if before is None or states == {"moved"} else old(before)
    return Difference(first, None if after is None else new(after), ", ".join(sorted(states)))
