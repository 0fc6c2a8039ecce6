"""The changes between two versions of a text: units that are kept, moved, changed, new and dropped.

Each word, number and sign is a unit. Units of both versions are matched as often as both have them: first those in the
longest unique runs, so that a sentence is carried as a whole (Heckel 1978), then the others in order. Partial transport
carries the remaining units to near words at the same place. Units outside the longest run in the order of the old
version are moved, unless they are changed.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.answer import Answer
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
from moverank.rerank.plugins.evidence.evidence import runs
from moverank.rerank.plugins.evidence.partial_transport import solve_partial
from moverank.rerank.ranking import Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.unit import UnitKey

ChangeState = Literal["kept", "moved", "changed", "new", "dropped"]
STATES: tuple[ChangeState, ...] = ("kept", "moved", "changed", "new", "dropped")

_LENGTHS = (8, 4, 2, 1)  # of unique runs that are the same in both versions
_LARGEST_GAP = 20_000  # pairs of units between two runs, up to which all common sequences are compared


@dataclass(frozen=True, slots=True)
class TextChange(Answer):
    """A run of units with the same state."""

    state: ChangeState
    """What happened to them."""
    old: Span | None
    """Their place in the old version; None: they are new."""
    new: Span | None
    """Their place in the new version; None: they are dropped."""
    units: int
    """The number of units."""
    cost: float = 0.0
    """The mean cost of a unit, 0 unless they are changed."""


@dataclass(frozen=True, slots=True)
class StateUnits(Answer):
    """The number of units by state; all but the dropped ones are in the new version."""

    kept: int = 0
    """Units that both versions have, in the same order."""
    moved: int = 0
    """Units that both versions have, in another order."""
    changed: int = 0
    """Units that became near words."""
    new: int = 0
    """Units of the new version alone."""
    dropped: int = 0
    """Units of the old version alone."""


@dataclass(frozen=True, slots=True)
class TextChanges(Answer):
    """The changes between two versions of a text."""

    KEYS: ClassVar = ("carried", "units", "certified", "tau", "changes")

    changes: tuple[TextChange, ...]
    """The runs in the order of the new version, dropped ones after what was before them."""
    certified: bool
    """Whether it is proven that, beside the units which both versions have, no plan carries more."""
    tau: float
    """The largest cost at which a word is carried."""

    @property
    def units(self) -> StateUnits:
        """Return the number of units by state."""
        return StateUnits(**self.counts)

    @property
    def counts(self) -> dict[ChangeState, int]:
        """Return the number of units by state; all but the dropped ones are units of the new version."""
        units = Counter[ChangeState]()
        for change in self.changes:
            units[change.state] += change.units
        return {state: units[state] for state in STATES}

    @property
    def carried(self) -> float:
        """Return the share of the units of both versions that are carried, 0 to 1."""
        counts = self.counts
        both = 2 * (counts["kept"] + counts["moved"] + counts["changed"])
        return both / (both + counts["new"] + counts["dropped"])


def changes_of(
    old: Passages, new: Passages, tokenizer: Tokenizer, embedding: Embedding, tau: float | None = None
) -> TextChanges:
    """Return the changes from the `old` texts to the `new` ones; `tau` as in `evidence_of`.

    Raises NoKnownWords if neither has a unit, OptionError for an invalid `tau`, TooLarge if too many words differ.
    """
    limit, before, after = cost_limit(tau, embedding), UnitText.tokens(old, tokenizer), UnitText.tokens(new, tokenizer)
    if not (before.units or after.units):
        raise NoKnownWords("neither version has a word to compare")
    numbers = dict[tuple[UnitKey, str], int]()
    first, second = _numbered(before, dict(old), numbers), _numbered(after, dict(new), numbers)
    pairs = _Pairs(first, second, {number for ((kind, *_), _), number in numbers.items() if kind == "word"})
    pairs.match()
    cost = dict.fromkeys((place for place, partner in enumerate(pairs.old_of) if partner >= 0), 0.0)

    def arcs_of(own: Sequence[UnitKey], others: Sequence[UnitKey]) -> AllowedArcs:
        return allowed_arcs(Said(own, others, tokenizer.language), embedding, limit)

    certified = _carry_near(pairs, [key for key, _ in numbers], arcs_of, cost)
    return TextChanges(tuple(_changes(pairs, cost, before.spans, after.spans)), certified, limit)


def _numbered(text: UnitText, passages: Mapping[int | None, str], numbers: dict[tuple[UnitKey, str], int]) -> list[int]:
    """Return the number of each unit; those that are written alike share one."""
    written = (passages[span.part][span.start : span.end] for span in text.spans)
    both = zip(text.units, written, strict=True)
    return [numbers.setdefault((unit.key, as_written), len(numbers)) for unit, as_written in both]


_ArcsOf = Callable[[Sequence[UnitKey], Sequence[UnitKey]], AllowedArcs]


class _Pairs:
    """The pairs of units of an `old` and a `new` sequence of numbers: `new_of` (n,) and `old_of` (m,), -1 for none.

    Only `words`, by number, move alone: stop words and signs move with their neighbours.
    """

    def __init__(self, old: Sequence[int], new: Sequence[int], words: Collection[int]) -> None:
        self.old, self.new, self.words = old, new, words
        self.new_of, self.old_of = [-1] * len(old), [-1] * len(new)

    def pair(self, i: int, j: int) -> None:
        """Make the old unit `i` and the new unit `j` a pair."""
        self.new_of[i], self.old_of[j] = j, i

    def match(self) -> None:
        """Pair equal units, as many as there are."""
        for length in _LENGTHS:
            olds, news = _unique(self.old, self.new_of, length), _unique(self.new, self.old_of, length)
            for run, j in news.items():
                i = olds.get(run, -1)
                if i >= 0 and self._free(i, j, length) and any(number in self.words for number in run):
                    for step in range(length):
                        self.pair(i + step, j + step)
            self._extend()
        self._fill_gaps()
        self._pair_in_order()

    def _free(self, i: int, j: int, length: int) -> bool:
        return all(one < 0 for one in (*self.new_of[i : i + length], *self.old_of[j : j + length]))

    def _extend(self) -> None:
        """Pair equal neighbours of pairs, after them and before them."""
        for step, places in ((1, range(len(self.new))), (-1, range(len(self.new) - 1, -1, -1))):
            for j in places:
                i, next_j = self.old_of[j] + step, j + step
                if self.old_of[j] < 0 or not (0 <= i < len(self.old) and 0 <= next_j < len(self.new)):
                    continue
                if self.new_of[i] < 0 and self.old_of[next_j] < 0 and self.old[i] == self.new[next_j]:
                    self.pair(i, next_j)

    def in_order(self) -> list[int]:
        """Return the places of the new sequence, increasing, in the longest run in the order of the old one."""
        last: list[int] = []  # the old place at which the best run of each length ends
        ends: list[int] = []
        before = dict[int, int]()
        for j, i in enumerate(self.old_of):
            if i >= 0:
                length = bisect_left(last, i)
                before[j] = ends[length - 1] if length else -1
                last[length : length + 1], ends[length : length + 1] = [i], [j]
        places, j = [], ends[-1] if ends else -1
        while j >= 0:
            places.append(j)
            j = before[j]
        return places[::-1]

    def _fill_gaps(self) -> None:
        """Pair equal units between neighbouring pairs of the longest run."""
        anchors = [(-1, -1), *((self.old_of[j], j) for j in self.in_order()), (len(self.old), len(self.new))]
        for (first, start), (last, end) in pairwise(anchors):
            check_time()
            olds = [i for i in range(first + 1, last) if self.new_of[i] < 0]
            news = [j for j in range(start + 1, end) if self.old_of[j] < 0]
            if not (olds and news and len(olds) * len(news) <= _LARGEST_GAP):
                continue
            own, others = [self.old[i] for i in olds], [self.new[j] for j in news]
            for block in SequenceMatcher(None, own, others, autojunk=False).get_matching_blocks():
                for step in range(block.size):
                    self.pair(olds[block.a + step], news[block.b + step])

    def _pair_in_order(self) -> None:
        """Pair the equal units that are left, the first with the first."""
        left = defaultdict[int, deque[int]](deque)
        for i in self.unpaired_old():
            left[self.old[i]].append(i)
        for j in self.unpaired_new():
            if self.new[j] in self.words and left[self.new[j]]:
                self.pair(left[self.new[j]].popleft(), j)

    def unpaired_old(self) -> list[int]:
        """Return the places of old units without a pair."""
        return [i for i, j in enumerate(self.new_of) if j < 0]

    def unpaired_new(self) -> list[int]:
        """Return the places of new units without a pair."""
        return [j for j, i in enumerate(self.old_of) if i < 0]


def _unique(sequence: Sequence[int], partner: Sequence[int], length: int) -> dict[tuple[int, ...], int]:
    """Return the runs of units without a pair that occur once, by their content, with their first place."""
    found, repeated, free = dict[tuple[int, ...], int](), set[tuple[int, ...]](), 0
    for end, one in enumerate(partner, start=1):
        free = free + 1 if one < 0 else 0
        if free >= length:
            run = tuple(sequence[end - length : end])
            if run in found:
                repeated.add(run)
            found[run] = end - length
    return {run: start for run, start in found.items() if run not in repeated}


def _carry_near(pairs: _Pairs, keys: Sequence[UnitKey], arcs_of: _ArcsOf, cost: dict[int, float]) -> bool:
    """Pair words without a pair by partial transport, set their `cost` by new place; return whether it is certified.

    A word is carried to a word at its place: both are after the same pair, or before the same pair.
    """
    paired = [j if i >= 0 else -1 for j, i in enumerate(pairs.old_of)]
    sources = _by_place(pairs.old, pairs.new_of, keys, len(paired))
    targets = _by_place(pairs.new, paired, keys, len(paired))
    arcs, costs = _arcs_in_place(list(sources), list(targets), keys, arcs_of)
    left, right = (np.array([len(places) for places in own.values()], np.int64) for own in (sources, targets))
    plan = solve_partial(left, right, (arcs[:, 0], arcs[:, 1]), costs)
    own, others = ([iter(places) for places in some.values()] for some in (sources, targets))
    for arc, mass in zip(plan.arcs.tolist(), plan.mass.tolist(), strict=True):
        for _ in range(mass):
            i, j = next(own[arcs[arc, 0]]), next(others[arcs[arc, 1]])
            pairs.pair(i, j)
            cost[j] = float(costs[arc])
    return plan.certified


_Place = tuple[int, int, int]  # the number of a word, and the new places of the pairs before it and after it


def _by_place(
    sequence: Sequence[int], paired: Sequence[int], keys: Sequence[UnitKey], end: int
) -> dict[_Place, list[int]]:
    """Return where words without a pair are, by number and place; `paired` has the new place of a pair, else -1."""
    befores = list(accumulate(paired, _latest))
    afters = list(accumulate(reversed(paired), _latest))[::-1]
    found = defaultdict[_Place, list[int]](list)
    for place, (number, j) in enumerate(zip(sequence, paired, strict=True)):
        if j < 0 and keys[number][0] == "word":
            found[number, befores[place], end if afters[place] < 0 else afters[place]].append(place)
    return found


def _latest(last: int, place: int) -> int:
    return last if place < 0 else place


def _arcs_in_place(
    sources: Sequence[_Place], targets: Sequence[_Place], keys: Sequence[UnitKey], arcs_of: _ArcsOf
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the arcs (a, 2) between near words at the same place, and their costs (a,)."""
    own, others = (list(dict.fromkeys(number for number, *_ in some)) for some in (sources, targets))
    near = defaultdict[int, list[tuple[int, float]]](list)
    found = arcs_of([keys[number] for number in own], [keys[number] for number in others])
    for row, column, cost in zip(*(values.tolist() for values in found), strict=True):
        near[own[row]].append((others[column], cost))
    after_same = {(number, before): k for k, (number, before, _) in enumerate(targets)}
    before_same = {(number, after): k for k, (number, _, after) in enumerate(targets)}
    costs = {
        (i, k): cost
        for i, (number, before, after) in enumerate(sources)
        for other, cost in near[number]
        for k in (after_same.get((other, before)), before_same.get((other, after)))
        if k is not None
    }
    return np.array(list(costs), np.int64).reshape(-1, 2), np.array(list(costs.values()), np.float64)


class _Expected:
    """Where an old unit would be in the new version, by the pairs in order before it."""

    def __init__(self, pairs: _Pairs) -> None:
        self._news = pairs.in_order()
        self._olds = [pairs.old_of[j] for j in self._news]

    def __call__(self, i: int) -> float:
        """Return the place of the old unit `i`; between two places if it has no pair in order."""
        before = bisect_right(self._olds, i) - 1
        if before < 0:
            return -0.5
        return self._news[before] + (0.0 if self._olds[before] == i else 0.5)


def _changes(
    pairs: _Pairs, cost: Mapping[int, float], olds: Sequence[Span], news: Sequence[Span]
) -> Iterable[TextChange]:
    """Return the runs of all units, in the order of the new version."""
    kept, expected = set(pairs.in_order()), _Expected(pairs)

    def state(j: int) -> ChangeState:
        if pairs.old_of[j] < 0:
            return "new"
        if pairs.old[pairs.old_of[j]] != pairs.new[j]:
            return "changed"
        return "kept" if j in kept else "moved"

    def go_on(one: int, other: int) -> bool:
        here, there = pairs.old_of[one], pairs.old_of[other]
        same = state(one) == state(other) and news[one].part == news[other].part
        return same and (here < 0 or (there == here + 1 and olds[here].part == olds[there].part))

    found = list[tuple[float, int, TextChange]]()
    for run in runs(range(len(news)), go_on):
        first, last = pairs.old_of[run[0]], pairs.old_of[run[-1]]
        old = None if first < 0 else joined(olds[first], olds[last])
        mean = sum(cost.get(j, 0.0) for j in run) / len(run)
        found.append(
            (run[0], run[0], TextChange(state(run[0]), old, joined(news[run[0]], news[run[-1]]), len(run), mean))
        )
    dropped = pairs.unpaired_old()
    for run in runs(dropped, lambda one, other: other == one + 1 and olds[one].part == olds[other].part):
        change = TextChange("dropped", joined(olds[run[0]], olds[run[-1]]), None, len(run))
        found.append((expected(run[0]), run[0], change))
    return (change for _, _, change in sorted(found, key=lambda one: one[:2]))
