"""Flows as a diagram: words of both sides, joined by bands as wide as the mass."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from moverank.rerank.ranking import NEAR, Flow

STAYS = 0
"""The step of a flow without cost: both texts have the word, or a word with the same vector."""

STEPS = ("stays", "near", "less near", "far", "farthest")
"""The names of the steps of cost, by shares of a typical cost, or quarters of the largest."""

SHARES = (0.6, NEAR, 0.9)
"""Shares of the typical cost of two unrelated words."""

_MOST = 16  # words of a side
_TALL = 340.0  # pixels of all mass
_ROW, _GAP = 20.0, 4.0  # the least height of a word, so that its label can be read; the space between words
_THINNEST = 0.75


@dataclass(frozen=True, slots=True)
class Word:
    """A word of one side: the `middle` of its label, and the top and height of its bar, in pixels; its mass."""

    text: str
    mass: float
    middle: float
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Band:
    """A flow as an SVG path over a width of 100, and the step of its cost; `source` and `target` number its words."""

    flow: Flow
    path: str
    step: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """The bands of the flows of most mass at least cost, and the words of both sides; `height` is in pixels.

    `mass` is the share of all mass that is shown. `legend` has, for each step, its name and its costs in words.
    """

    sources: tuple[Word, ...]
    targets: tuple[Word, ...]
    bands: tuple[Band, ...]
    height: float
    mass: float
    legend: tuple[tuple[str, str], ...]


def cost_limits(flows: Iterable[Flow], typical: float | None = None) -> tuple[float, ...]:
    """Return the costs that separate the steps: shares of a `typical` cost, or quarters of the largest."""
    longest = max((flow.cost for flow in flows), default=0.0)
    return tuple(typical * share for share in SHARES) if typical else tuple(longest * i / 4 for i in (1, 2, 3))


def cost_step(cost: float, limits: Sequence[float]) -> int:
    """Return the number of the step of a cost."""
    return STAYS if cost <= 0 else 1 + bisect_right(limits, cost)


def flow_diagram(flows: Sequence[Flow], typical: float | None = None) -> Diagram:
    """Return the diagram of the flows of most mass at least cost, between at most `_MOST` words of each side.

    `typical` is the typical cost of two words; see `cost_limits`.
    """
    shown, limits = _heaviest(flows), cost_limits(flows, typical)
    longest = max((flow.cost for flow in flows), default=0.0)
    mass = sum(flow.mass for flow in shown)
    scale = _TALL / mass if mass else 0.0
    left = _column(shown, lambda flow: flow.source, lambda _, mass: -mass, scale)
    places = {word.text: word.middle for word in left}
    right = _column(shown, lambda flow: flow.target, lambda name, _: _centre(shown, name, places), scale)
    height = max((word.middle + max(_ROW, word.height) / 2 for word in (*left, *right)), default=0.0) + _GAP
    return Diagram(
        left, right, tuple(_bands(shown, left, right, limits, scale)), height, mass, _legend(longest, limits)
    )


def _heaviest(flows: Sequence[Flow]) -> list[Flow]:
    """Return the flows of most mass at least cost, between at most `_MOST` words of each side."""
    sources, targets, chosen = set[str](), set[str](), []
    for flow in sorted(flows, key=lambda flow: (-flow.mass / (1 + flow.cost), flow.source, flow.target)):
        if len(sources | {flow.source}) <= _MOST and len(targets | {flow.target}) <= _MOST:
            sources.add(flow.source)
            targets.add(flow.target)
            chosen.append(flow)
    return chosen


def _centre(flows: Iterable[Flow], target: str, places: dict[str, float]) -> float:
    """Return the mean place of a word's sources, which orders words so that few bands cross."""
    mine = [flow for flow in flows if flow.target == target]
    return sum(flow.mass * places[flow.source] for flow in mine) / sum(flow.mass for flow in mine)


def _column(
    flows: Sequence[Flow], name_of: Callable[[Flow], str], order: Callable[[str, float], float], scale: float
) -> tuple[Word, ...]:
    """Return the words of one side from top to bottom."""
    masses: dict[str, float] = {}
    for flow in flows:
        masses[name_of(flow)] = masses.get(name_of(flow), 0.0) + flow.mass
    names = sorted(masses, key=lambda name: (order(name, masses[name]), name))
    rows = [max(_ROW, masses[name] * scale) for name in names]
    tops = accumulate((row + _GAP for row in rows), initial=_GAP)
    return tuple(
        Word(name, masses[name], top + row / 2, top + (row - masses[name] * scale) / 2, masses[name] * scale)
        for name, row, top in zip(names, rows, tops, strict=False)
    )


def _bands(
    flows: Sequence[Flow], left: Sequence[Word], right: Sequence[Word], limits: Sequence[float], scale: float
) -> list[Band]:
    """Return the bands; at each word they are in the order of the words on the other side."""
    sources, targets = ({word.text: i for i, word in enumerate(words)} for words in (left, right))
    starts, ends = {}, {}
    tops = [{word.text: word.top for word in words} for words in (left, right)]  # where the next band begins
    for flow in sorted(flows, key=lambda flow: targets[flow.target]):
        starts[flow] = tops[0][flow.source]
        tops[0][flow.source] += flow.mass * scale
    for flow in sorted(flows, key=lambda flow: sources[flow.source]):
        ends[flow] = tops[1][flow.target]
        tops[1][flow.target] += flow.mass * scale
    return [
        Band(
            flow,
            _path(starts[flow], ends[flow], max(_THINNEST, flow.mass * scale)),
            cost_step(flow.cost, limits),
            sources[flow.source],
            targets[flow.target],
        )
        for flow in flows
    ]


def _path(start: float, end: float, width: float) -> str:
    return (
        f"M0 {start:.1f}C50 {start:.1f} 50 {end:.1f} 100 {end:.1f}V{end + width:.1f}"
        f"C50 {end + width:.1f} 50 {start + width:.1f} 0 {start + width:.1f}Z"
    )


def _legend(longest: float, limits: Sequence[float]) -> tuple[tuple[str, str], ...]:
    first = (STEPS[STAYS], "no cost: the same word, or one of the same vector")
    if not longest:
        return (first,)
    begins = (0.0, *limits)
    ends = (*(f"to {limit:.2f}" for limit in limits), f"to {longest:.2f}" if longest > limits[-1] else "or more")
    return (first, *((name, f"{low:.2f} {end}") for name, low, end in zip(STEPS[1:], begins, ends, strict=True)))
