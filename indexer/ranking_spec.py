"""How people name a way to rank: a distance, a scorer with its options (`bm25:k1=0.9,b=0.4`), or a blend of both."""

from typing import NamedTuple

from moverank.indexer.errors import UsageError
from moverank.rerank.errors import ScorerError
from moverank.rerank.ranking import DISTANCES, Distance
from moverank.rerank.scorers import SCORERS, choose

_RELAXED: dict[str, Distance] = {"rwmd": "rwmd", "wcd": "wcd"}

PAPER_GAMMA = 0.75
"""The sensitivity of Trapp et al. 2017 (section 5), where P-WMD is asked for and nobody names another."""


class ScorerChoice(NamedTuple):
    """A scorer by its name, and its options as typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


class Blend(NamedTuple):
    """A scorer that has a say in the order, and its share of it; without a share, ranks are joined."""

    scorer: ScorerChoice
    share: float | None


def resolve(distance: str | None, gamma: float | None, own: float) -> tuple[Distance | ScorerChoice, float]:
    """Return the distance, or the scorer, and the gamma that are meant, `own` being the collection's gamma.

    WMD is P-WMD at gamma 0. Raises UsageError for what there is not, and for what contradicts itself.
    """
    if gamma is not None and not 0 <= gamma < float("inf"):
        raise UsageError(f"gamma must be a number of 0 or more, not {gamma}")
    used = own if gamma is None else gamma
    if distance == "wmd":
        if gamma:
            raise UsageError("wmd weighs all parts alike: leave gamma out, or ask for pwmd")
        return "wmd", 0.0
    if distance == "pwmd":
        return "pwmd", gamma if gamma is not None else own or PAPER_GAMMA
    if distance is None:
        return "pwmd" if used else "wmd", used
    if distance in _RELAXED:
        return _RELAXED[distance], used
    scorer = scorer_named(distance)
    if scorer is None:
        raise UsageError(f"there is no distance {distance!r}: choose one of {', '.join([*DISTANCES, *SCORERS])}")
    return scorer, used


def scorer_named(typed: str) -> ScorerChoice | None:
    """Return the scorer that is typed as `NAME` or `NAME:KEY=VALUE,...`, None where the name is not one of a scorer.

    Raises UsageError for options that it has not.
    """
    name, _, rest = typed.partition(":")
    if name not in SCORERS:
        return None
    pairs = [option.partition("=") for option in rest.split(",") if option]
    wrong = ["".join(pair) for pair in pairs if not (pair[0] and pair[1])]
    if wrong:
        raise UsageError(f"{name}: the option {wrong[0]!r} is not of the form KEY=VALUE")
    options = {key: value for key, _, value in pairs}
    try:
        choose(name, options)
    except ScorerError as error:
        raise UsageError(str(error)) from error
    return ScorerChoice(name, tuple(sorted(options.items())))


def blend_named(typed: str) -> Blend:
    """Return the blend that is typed as `SCORER=SHARE`, or `SCORER` for reciprocal ranks; else raise UsageError."""
    scorer = scorer_named(typed) if ":" not in typed else None
    if scorer is not None:
        return Blend(scorer, None)
    name, equals, number = typed.rpartition("=")
    scorer = scorer_named(name if equals else typed)
    if scorer is None:
        raise UsageError(f"a blend is SCORER=SHARE or SCORER, not {typed!r}: scorers are {', '.join(SCORERS)}")
    try:
        share = float(number)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"the share of {scorer.name} in a blend is a number from 0 to 1, not {number!r}")
    return Blend(scorer, share)
