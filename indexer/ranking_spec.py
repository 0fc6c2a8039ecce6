"""Specifications of a ranking: a distance, a scorer with options (`bm25:k1=0.9,b=0.4`), or a blend of both."""

from typing import NamedTuple

from moverank.indexer.errors import UsageError
from moverank.rerank.errors import OptionError, ScorerError
from moverank.rerank.options import key_values
from moverank.rerank.ranking import DISTANCES, Distance
from moverank.rerank.scorers import SCORERS, choose

_RELAXED: dict[str, Distance] = {"rwmd": "rwmd", "wcd": "wcd"}

PAPER_GAMMA = 0.75
"""The sensitivity of Trapp et al. 2017 (section 5), the default of P-WMD."""


class ScorerChoice(NamedTuple):
    """The name of a scorer, and its options as typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


class Blend(NamedTuple):
    """A scorer to combine with a distance, and its share from 0 to 1; None: reciprocal rank fusion."""

    scorer: ScorerChoice
    share: float | None


def resolve(distance: str | None, gamma: float | None, own: float) -> tuple[Distance | ScorerChoice, float]:
    """Return the distance or the scorer, and the gamma to use.

    `distance` and `gamma` are those requested, or None; `own` is the collection's gamma. WMD is P-WMD at gamma 0.
    Raises UsageError for an unknown distance, an invalid gamma, and "wmd" with a gamma above 0.
    """
    if gamma is not None and not 0 <= gamma < float("inf"):
        raise UsageError(f"gamma must be a number of 0 or more, not {gamma}")
    used = own if gamma is None else gamma
    if distance == "wmd":
        if gamma:
            raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
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
    """Return the scorer specified as `NAME` or `NAME:KEY=VALUE,...`; None if no scorer has that name.

    Raises UsageError for invalid options.
    """
    name, _, rest = typed.partition(":")
    if name not in SCORERS:
        return None
    try:
        options = key_values(option for option in rest.split(",") if option)
        choose(name, options)
    except OptionError as error:
        raise UsageError(f"{name}: the option {error}") from error
    except ScorerError as error:
        raise UsageError(str(error)) from error
    return ScorerChoice(name, tuple(sorted(options.items())))


def blend_named(typed: str) -> Blend:
    """Return the blend specified as `SCORER=SHARE`, or `SCORER` for rank fusion; UsageError for anything else."""
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
