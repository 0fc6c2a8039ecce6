"""Evidence: which units of a claim its sources cover, by partial transport, sentence by sentence.

A unit is carried to a unit of a source that it may be carried to, or it is not covered. In each sentence of the claim,
each occurrence in the sources counts once. Coverage says nothing about truth: see the manual's page `evidence`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Annotated, ClassVar, Literal

import numpy as np

from moverank.rerank.answer import FLAT, Answer
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.plugins.evidence.allowed_arcs import (
    AllowedArcs,
    Passages,
    Said,
    UnitText,
    allowed_arcs,
    cost_limit,
    joined,
)
from moverank.rerank.plugins.evidence.partial_transport import solve_partial
from moverank.rerank.ranking import Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.typed_units import APOSTROPHES
from moverank.rerank.words.unit import Unit, UnitKey

Reason = Literal["value", "limit", "polarity", "used", "unknown", "far"]
"""Why a unit is not covered: no source has its number, quantity or date; none has its limit; the sources have the word
with another polarity only; the sources have units for it, but others of the sentence need them; the word has no vector,
and no source has it; or every word of its polarity in the sources is too far."""


@dataclass(frozen=True, slots=True)
class SourceSpan(Span):
    """A stretch of a source."""

    key: str
    """The key of the source; of a text without one, its index."""


@dataclass(frozen=True, slots=True)
class Carried(Answer):
    """A run of units of the claim that is carried to a run of a source."""

    span: Annotated[Span, FLAT]
    """Where they are in the claim."""
    units: int
    """The number of units."""
    cost: float
    """The mean cost of a unit."""
    same: bool
    """Whether all units are the same in the source; else none is, such as a near word or a date that says more."""
    source: SourceSpan
    """Where they are in the source."""

    @property
    def key(self) -> str:
        """Return the key of the source; of a text without one, its index."""
        return self.source.key


@dataclass(frozen=True, slots=True)
class Uncovered(Answer):
    """A run of units of the claim that is not covered, for the same reason."""

    span: Annotated[Span, FLAT]
    """Where they are in the claim."""
    units: int
    """The number of units."""
    reason: Reason
    """Why they are not covered."""


@dataclass(frozen=True, slots=True)
class SentenceEvidence(Answer):
    """A sentence of the claim: how many of its units are covered."""

    OBJECT = "Sentence"
    KEYS: ClassVar = ("span", "covered", "covered_units", "units", "most", "carried", "uncovered")

    span: Annotated[Span, FLAT]
    """Where it is in the claim."""
    units: int
    """The number of units."""
    covered_units: int
    """The number of covered units."""
    most: int
    """The most units that any plan covers, by the dual."""
    carried: tuple[Carried, ...] = ()
    """What is covered, in order."""
    uncovered: tuple[Uncovered, ...] = ()
    """What is not covered, in order."""

    @property
    def covered(self) -> float | None:
        """Return the covered share of the units, 0 to 1; None if there is no unit, as in a sentence of stop words."""
        return self.covered_units / self.units if self.units else None


@dataclass(frozen=True, slots=True)
class Evidence(Answer):
    """What sources cover of a claim; covered need not be true."""

    KEYS: ClassVar = (
        *("covered", "covered_units", "units", "left_out", "left_out_words", "certified"),
        *("tau", "sources", "sentences"),
    )

    sentences: tuple[SentenceEvidence, ...]
    """The sentences of the claim."""
    sources: tuple[str, ...]
    """The keys of the sources."""
    tau: float
    """The largest cost at which a word is carried."""
    left_out: int = 0
    """The number of words of the claim that are not compared: stop words that limit nothing, and negations."""
    left_out_words: tuple[str, ...] = ()
    """Those of them that no source has, once each."""

    @property
    def units(self) -> int:
        """Return the number of units of the claim."""
        return sum(sentence.units for sentence in self.sentences)

    @property
    def covered_units(self) -> int:
        """Return the number of covered units."""
        return sum(sentence.covered_units for sentence in self.sentences)

    @property
    def covered(self) -> float:
        """Return the covered share of the units, 0 to 1."""
        return self.covered_units / self.units

    @property
    def certified(self) -> bool:
        """Return whether it is proven, for each sentence, that nothing covers more of it."""
        return all(sentence.covered_units == sentence.most for sentence in self.sentences)

    @property
    def reversed(self) -> bool:
        """Return whether a source says the contrary of something: another limit, or another polarity."""
        return any(one.reason in ("limit", "polarity") for one in self.uncovered)

    @property
    def carried(self) -> tuple[Carried, ...]:
        """Return all carried runs, in the order of the claim."""
        return tuple(one for sentence in self.sentences for one in sentence.carried)

    @property
    def uncovered(self) -> tuple[Uncovered, ...]:
        """Return all runs that are not covered, in the order of the claim."""
        return tuple(one for sentence in self.sentences for one in sentence.uncovered)


def evidence_of(
    claim: Passages,
    sources: Sequence[tuple[str, Passages]],
    tokenizer: Tokenizer,
    embedding: Embedding,
    tau: float | None = None,
) -> Evidence:
    """Return what the `sources` (key, texts) cover of a claim; `tau`: the largest cost at which a word is carried.

    None for `tau`: a share of the typical cost of two words, `NEAR_SHARE`. In each sentence, as many units as possible
    are covered, at the least total cost. Raises NoKnownWords if the claim has no unit, OptionError for an invalid
    `tau`, TooLarge if too many words differ. Keys must differ.
    """
    limit = cost_limit(tau, embedding)
    own = _conditional(UnitText.of(claim, tokenizer))
    if not own.units:
        raise NoKnownWords("the claim has no word to compare")
    others = [(key, _conditional(UnitText.of(texts, tokenizer))) for key, texts in sources]
    problem = _Claim(own, _Sources(others), embedding, limit, tokenizer.language)
    by_sentence: list[list[int]] = [[] for _ in own.sentences]
    for place, sentence in enumerate(own.sentence_of):
        by_sentence[sentence].append(place)
    sentences = tuple(problem.sentence(span, places) for span, places in zip(own.sentences, by_sentence, strict=True))
    every = replace(tokenizer, stop_words=frozenset())
    inside = {(span.part, place) for span in own.spans for place in range(span.start, span.end)}
    left_out = [
        "" if text[end : end + 1] in APOSTROPHES or text[start - 1 : start] in APOSTROPHES else word
        for part, text in claim
        for start, end, word in every.spans(text)
        if (part, start) not in inside
    ]
    had = {word for _, texts in sources for _, text in texts for word in every.words(text)} if left_out else set[str]()
    missing = tuple(word for word in dict.fromkeys(left_out) if word and word not in had)
    return Evidence(sentences, tuple(key for key, _ in sources), limit, len(left_out), missing)


def _conditional(text: UnitText) -> UnitText:
    """Return a text whose words are conditional if their sentence is: what may be, or is if it rains, need not be."""
    placed = list(zip(text.units, text.sentence_of, strict=True))
    under = {sentence for unit, sentence in placed if unit.kind == "limit" and _is_condition(unit)}
    units = (replace(unit, conditional=unit.kind == "word" and sentence in under) for unit, sentence in placed)
    return replace(text, units=tuple(units))


def _is_condition(limit: Unit) -> bool:
    """Return whether what is said with a limit may be, and is not said to be."""
    return limit.value in ("if", "unless") or (limit.value == "may" and not limit.negated)


_FEW_PLACES = 50  # of a unit in the sources; of one with more, those in sentences with rarer units are looked at
_TIE = 1e-9  # of the largest cost, added to the costs of other units: at equal costs, the same unit is chosen


class _Sources:
    """The occurrences of units in all sources, numbered from the first to the last, with their sentences."""

    def __init__(self, texts: Sequence[tuple[str, UnitText]]) -> None:
        self.keys = [key for key, _ in texts]
        self.owner = [i for i, (_, text) in enumerate(texts) for _ in text.units]
        self.spans = [span for _, text in texts for span in text.spans]
        self.units = [unit for _, text in texts for unit in text.units]
        self.number: dict[UnitKey, int] = {}
        self.places: list[list[int]] = []
        self.sentence_of: list[int] = []
        self._in_sentences: dict[int, dict[int, list[int]]] = {}
        first = 0
        for _, text in texts:
            for unit, sentence in zip(text.units, text.sentence_of, strict=True):
                number = self.number.setdefault(unit.key, len(self.places))
                if number == len(self.places):
                    self.places.append([])
                self.places[number].append(len(self.sentence_of))
                self.sentence_of.append(first + sentence)
            first += len(text.sentences)

    def _by_sentence(self, number: int) -> dict[int, list[int]]:
        """Return the occurrences of a unit by sentence."""
        if number not in self._in_sentences:
            own = defaultdict[int, list[int]](list)
            for place in self.places[number]:
                own[self.sentence_of[place]].append(place)
            self._in_sentences[number] = own
        return self._in_sentences[number]

    def chosen(self, wanted: Mapping[int, int]) -> dict[int, list[int]]:
        """Return which occurrences of each unit (by number) are used, as many as `wanted`, in order.

        A greedy choice keeps the sentences few: the next one is always the one with most of the missing units.
        """
        missing, chosen = dict(wanted), defaultdict[int, list[int]](list)
        found: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number in sorted(wanted, key=lambda one: len(self.places[one])):  # rare units find the sentences
            places = self.places[number]
            if len(places) <= _FEW_PLACES:
                for place in places:
                    found[self.sentence_of[place]][number].append(place)
                continue
            by = self._by_sentence(number)
            first = (self.sentence_of[place] for place in places[: max(_FEW_PLACES, wanted[number])])
            for sentence in dict.fromkeys([*found, *first]):
                if sentence in by:
                    found[sentence][number] = by[sentence]
        heap = [(-_gain(own, missing), sentence) for sentence, own in found.items()]
        heapify(heap)
        while any(missing.values()):
            gain, sentence = heappop(heap)
            if (
                now := _gain(found[sentence], missing)
            ) < -gain:  # gains only fall: the others are not larger than known
                heappush(heap, (-now, sentence))
                continue
            for number, places in found[sentence].items():
                taken = places[: missing[number]]
                chosen[number] += taken
                missing[number] -= len(taken)
        return {number: sorted(places) for number, places in chosen.items()}


def _gain(places: Mapping[int, Sequence[int]], missing: Mapping[int, int]) -> int:
    """Return how many of the missing units a sentence with units at these places has."""
    return sum(min(missing[number], len(own)) for number, own in places.items())


class _Claim:
    """The problems of the sentences of a claim, which have the arcs between distinct units in common."""

    def __init__(self, own: UnitText, sources: _Sources, embedding: Embedding, tau: float, language: str) -> None:
        self._own, self._sources, self._embedding = own, sources, embedding
        self._number = {key: i for i, key in enumerate(dict.fromkeys(unit.key for unit in own.units))}
        self._said = Said(list(self._number), list(sources.number), language)
        self._arcs: AllowedArcs = allowed_arcs(self._said, embedding, tau)
        self._starts = np.searchsorted(self._arcs[0], np.arange(len(self._number) + 1))
        partner = np.array([sources.number.get(key, -1) for key in self._number], np.int64)
        is_other = partner[self._arcs[0]] != self._arcs[1]
        self._solved_cost = self._arcs[2] + is_other * _TIE * (self._arcs[2].max(initial=0.0) or 1.0)
        self._values = {_bare(other) for other in sources.number} - {None}
        self._masses = np.array([len(places) for places in sources.places], np.int64)

    def sentence(self, span: Span, places: Sequence[int]) -> SentenceEvidence:
        """Return the coverage of the sentence whose units are at `places`."""
        check_time()
        by_unit = defaultdict[int, list[int]](list)
        for place in places:
            by_unit[self._number[self._own.units[place].key]].append(place)
        numbers = sorted(by_unit)
        masses = np.array([len(by_unit[number]) for number in numbers], np.int64)
        slices = [slice(*self._starts[number : number + 2].tolist()) for number in numbers]
        values = *self._arcs[1:], self._solved_cost
        columns, cost, solved_cost = (np.concatenate([v[:0], *(v[one] for one in slices)]) for v in values)
        rows = np.repeat(np.arange(len(numbers)), [one.stop - one.start for one in slices])
        used, inverse = np.unique(columns, return_inverse=True)
        plan = solve_partial(masses, self._masses[used], (rows, inverse), solved_cost)
        flows = [
            (numbers[rows[arc]], int(columns[arc]), mass, float(cost[arc]))
            for arc, mass in zip(plan.arcs.tolist(), plan.mass.tolist(), strict=True)
        ]
        carried = self._placed(flows, by_unit)
        uncovered = [place for place in places if place not in carried]
        return SentenceEvidence(
            span,
            len(places),
            plan.moved,
            plan.bound,
            tuple(self._carried_runs(carried)),
            tuple(self._uncovered_runs(uncovered)),
        )

    def _placed(
        self, flows: Iterable[tuple[int, int, int, float]], by_unit: Mapping[int, Sequence[int]]
    ) -> dict[int, tuple[int, float]]:
        """Return the occurrence and the cost to which each covered place is carried; flows are between numbers."""
        flows = sorted(flows)
        wanted = Counter[int]()
        for _, target, mass, _ in flows:
            wanted[target] += mass
        left = {number: iter(places) for number, places in self._sources.chosen(wanted).items()}
        own, carried = {number: iter(places) for number, places in by_unit.items()}, dict[int, tuple[int, float]]()
        for source, target, mass, cost in flows:
            for _ in range(mass):
                carried[next(own[source])] = next(left[target]), cost
        return carried

    def _carried_runs(self, carried: Mapping[int, tuple[int, float]]) -> Iterable[Carried]:
        """Yield runs: neighbouring units carried to neighbouring units of one part, all or none to the same unit."""
        spans, others, owner = self._own.spans, self._sources.spans, self._sources.owner
        own, source_units = self._own.units, self._sources.units
        same = {i: own[i].value == source_units[j].value for i, (j, _) in carried.items()}

        def go_on(one: int, other: int) -> bool:
            here, there = carried[one][0], carried[other][0]
            is_next = other == one + 1 and there == here + 1 and same[one] == same[other]
            return is_next and owner[here] == owner[there] and others[here].part == others[there].part

        for run in runs(sorted(carried), go_on):
            first, last = carried[run[0]][0], carried[run[-1]][0]
            cost = sum(carried[place][1] for place in run) / len(run)
            there = joined(others[first], others[last])
            source = SourceSpan(there.part, there.start, there.end, self._sources.keys[owner[first]])
            yield Carried(joined(spans[run[0]], spans[run[-1]]), len(run), cost, same[run[0]], source)

    def _uncovered_runs(self, uncovered: Sequence[int]) -> Iterable[Uncovered]:
        spans, reasons = self._own.spans, {place: self._reason(self._own.units[place].key) for place in uncovered}
        for run in runs(uncovered, lambda one, other: other == one + 1 and reasons[one] == reasons[other]):
            yield Uncovered(joined(spans[run[0]], spans[run[-1]]), len(run), reasons[run[0]])

    @cached_property
    def _said_otherwise(self) -> set[int]:
        """Return the units which the sources have in any form with another polarity."""
        return {i for i, _ in self._said.pairs(self._said.otherwise)}

    def _reason(self, key: UnitKey) -> Reason:
        """Return why a unit is not covered."""
        kind, value, _ = key
        if self._starts[self._number[key]] < self._starts[self._number[key] + 1]:
            return "used"
        if kind == "limit" or _bare(key) in self._values:
            return "limit"
        if kind not in ("word", "name"):
            return "value"
        if self._number[key] in self._said_otherwise:
            return "polarity"
        return "far" if kind == "word" and self._embedding.known([value])[0] else "unknown"


def _bare(key: UnitKey) -> tuple[str, str] | None:
    """Return a number or a quantity without its comparator; None for anything else."""
    kind, value, _ = key
    return (kind, value.lstrip("<>=~!\u00b1 ")) if kind in ("number", "quantity") else None


def runs(places: Iterable[int], go_on: Callable[[int, int], bool]) -> Iterable[list[int]]:
    """Yield runs of increasing `places`; `go_on` says of two neighbours whether they are in one run."""
    run: list[int] = []
    for place in places:
        if run and not go_on(run[-1], place):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
