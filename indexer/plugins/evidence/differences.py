"""The differences of a comparison: sentences with their marks, each with the sentence of the other text beside it."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile

from moverank.indexer.plugins.evidence.comparison_marks import REASONS, ComparedMark, Piece, Side, cut, pieces
from moverank.rerank.plugins.evidence.evidence import Evidence, SentenceEvidence
from moverank.rerank.plugins.evidence.text_changes import TextChanges
from moverank.rerank.ranking import Span
from moverank.rerank.words.sentence_spans import sentence_spans

_NEAR = 1000  # characters of a long sentence that are shown before and after a place
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


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
        """Return the marks in each sentence, cut to it, in order."""
        found = defaultdict[Span, list[ComparedMark]](list)
        for mark in sorted(self._marks, key=lambda mark: mark.span.start):
            for span in self.over(mark.span):
                cut = Span(span.part, max(mark.span.start, span.start), min(mark.span.end, span.end))
                found[span].append(replace(mark, span=cut))
        return found

    def over(self, span: Span) -> Iterator[Span]:
        """Yield the sentences that a span touches."""
        own = self._by_part[span.part]
        first = max(0, bisect_right(own, span.start, key=lambda one: one.start) - 1)
        touched = takewhile(lambda one: one.start < span.end, islice(own, first, None))
        return (one for one in touched if one.end > span.start)

    def at(self, part: int | None, place: int) -> Span | None:
        """Return the sentence at a place, or the one before it."""
        own = self._by_part[part]
        number = bisect_right(own, place, key=lambda one: one.start) - 1
        return own[max(0, number)] if own else None

    def marked(self, span: Span, near: int | None = None) -> MarkedSentence:
        """Return a sentence with its marks; of a long one, what is `near` a place of the text, None: all."""
        text, start, end = self._texts[span.part], span.start, span.end
        if near is not None:
            start, end = max(start, near - _NEAR), min(end, near + _NEAR)
        marks = self._marks_of[span]
        first = max(0, bisect_right(marks, start, key=lambda mark: mark.span.start) - 1)
        found = [
            replace(mark, span=Span(span.part, max(mark.span.start, start) - start, min(mark.span.end, end) - start))
            for mark in takewhile(lambda mark: mark.span.start < end, islice(marks, first, None))
            if mark.span.end > start
        ]
        before, after = (Piece(_ELLIPSIS * is_left, (), ()) for is_left in (start > span.start, end < span.end))
        shown = (piece for piece in (before, *pieces(text[start:end], found), after) if piece.text)
        return MarkedSentence(self._name, text.count("\n", 0, span.start) + 1, tuple(shown))


def _all_sentences(texts: Iterable[tuple[int | None, str]]) -> Iterator[Span]:
    return (Span(part, start, end) for part, text in texts for start, end in sentence_spans(text))


def evidence_differences(evidence: Evidence, sides: Sequence[Side]) -> list[Difference]:
    """Return the sentences of a claim that are not wholly covered, each with the sentence that covers most of it."""
    claim = _Sentences(sides[0], (one.span for one in evidence.sentences))
    sources = {side.name: _Sentences(side) for side in sides[1:]}
    texts, found = dict(sides[0].texts), list[Difference]()
    for sentence in (one for one in evidence.sentences if one.uncovered):
        units, places = Counter[tuple[str, Span]](), dict[tuple[str, Span], int]()
        for one in sentence.carried:
            if (there := sources[one.key].at(one.source.part, one.source.start)) is not None:
                units[one.key, there] += one.units
                places.setdefault((one.key, there), one.source.start)
        most = max(units, key=units.__getitem__) if units else None
        beside = None if most is None else sources[most[0]].marked(most[1], places[most])
        found.append(Difference(claim.marked(sentence.span), beside, _why(sentence, texts)))
    return found


def _why(sentence: SentenceEvidence, texts: Mapping[int | None, str]) -> str:
    """Return how much of a sentence is covered, and why the rest is not."""
    words = defaultdict[str, list[str]](list)
    for one in sentence.uncovered:
        words[REASONS[one.reason]].append(cut(texts, one.span))
    reasons = (f"{reason}: {', '.join(some)}" for reason, some in words.items())
    return "; ".join([f"{sentence.covered_units} of {sentence.units} units covered", *reasons])


def changes_differences(changes: TextChanges, sides: Sequence[Side]) -> list[Difference]:
    """Return the sentences of two versions with a change, each beside the one that has most of it in the other."""
    old, new = map(_Sentences, sides)
    of_new, of_old = _partners(changes, old, new)
    found = dict[tuple[Span | None, Span | None], tuple[set[str], int | None, int | None]]()
    for one in changes.changes:
        for here in new.over(one.new) if one.new is not None and one.state != "kept" else ():
            there, place = of_new.get(here, (None, None))
            found.setdefault((there, here), (set(), place, None))[0].add(one.state)
        for here in old.over(one.old) if one.new is None and one.old is not None else ():
            there, place = of_old.get(here, (None, None))
            found.setdefault((here, there), (set(), None, place))[0].add(one.state)
    listed = list[Difference]()
    for (before, after), (states, place, new_place) in found.items():
        first = None if before is None or states == {"moved"} else old.marked(before, place)  # once, if it only moved
        second = None if after is None else new.marked(after, new_place)
        listed.append(Difference(first, second, ", ".join(sorted(states))))
    return listed


_Partners = dict[Span, tuple[Span, int]]


def _partners(changes: TextChanges, old: _Sentences, new: _Sentences) -> tuple[_Partners, _Partners]:
    """Return the old sentence that has most of each new one, with a place in it, and the same of each old one."""
    units = (defaultdict[Span, Counter[Span]](Counter), defaultdict[Span, Counter[Span]](Counter))
    places = dict[tuple[Span, Span], tuple[int, int]]()
    for one in changes.changes:
        if one.old is None or one.new is None:
            continue
        for here in new.over(one.new):
            first = max(here.start, one.new.start)
            place = one.old.start + first - one.new.start
            if (there := old.at(one.old.part, place)) is not None:
                size = min(here.end, one.new.end) - first
                units[0][here][there] += size
                units[1][there][here] += size
                places.setdefault((there, here), (place, first))
    of_new, of_old = ({one: max(some, key=some.__getitem__) for one, some in own.items()} for own in units)
    return (
        {here: (there, places[there, here][0]) for here, there in of_new.items()},
        {there: (here, places[there, here][1]) for there, here in of_old.items()},
    )
