"""Methods, the rows of an experiment, parsed from text: `pwmd:gamma=0.5,weights=tfidf`, `0.3*bm25+0.7*pwmd`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.rankers import RandomRanker, Ranker
from moverank.indexer.evaluation.scorer_ranker import ScorerRanker
from moverank.indexer.evaluation.vector_rankers import CentroidRanker, EncoderRanker
from moverank.indexer.ranking_spec import PAPER_GAMMA
from moverank.rerank.encoders.encoder_registry import ENCODERS
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.errors import EncoderError, OptionError, ScorerError
from moverank.rerank.options import key_values
from moverank.rerank.ranking import DISTANCES
from moverank.rerank.scorers import SCORERS
from moverank.rerank.scorers import choose as choose_scorer

RANDOM = "random"
NAMES = (RANDOM, *DISTANCES, *SCORERS, *ENCODERS)
PROXIMITIES = ("empirical", "gaussian", "gamma")
_COMMON_OPTIONS = ("gamma", "weights", "proximity")


@dataclass(frozen=True, slots=True)
class Method:
    """One row: the `name` of a ranker, its own `options`, and the options common to all methods.

    `label` is the text of the row. `gamma` and `weights` (tf or tfidf) weight the bags; `proximity` is a kind of mutual
    proximity or None. With `parts` (weight, method), the row is a blend: the parts' distances are standardised for each
    query, and their weighted sum is the distance.
    """

    label: str
    name: str = ""
    gamma: float = 0.0
    weights: str = "tf"
    proximity: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[tuple[float, "Method"], ...] = ()

    @property
    def uses_all_cores(self) -> bool:
        """Return whether the method itself uses all cores."""
        return bool(self.parts or self.proximity) or (self.name in DISTANCES and self.name != "wcd")

    def ranker(self, pool: Texts, cache: DistanceCache) -> Ranker:
        """Return the ranker for a pool; `cache` stores its distances."""
        idf = pool.idf if self.weights == "tfidf" else None
        if self.name == "wcd":
            return CentroidRanker(pool, self.gamma, idf)
        for distance in DISTANCES:
            if distance == self.name:
                return DistanceRanker(distance, pool, self.gamma, idf, cache)
        if self.name in SCORERS:
            return ScorerRanker(self.name, self.options, pool, self.gamma)
        if self.name in ENCODERS:
            return EncoderRanker(self.name, self.options, pool, self.gamma, idf)
        return RandomRanker(pool)


def parse_method(text: str, gamma: float = 0.0) -> Method:
    """Parse one row; `gamma` is the default for P-WMD, 0 means the paper's 0.75.

    Raises UsageError for an unknown name or option, and for an invalid value.
    """
    default_gamma = gamma or PAPER_GAMMA
    terms = [term.strip() for term in text.split("+")]
    if len(terms) == 1 and "*" not in text:
        return _parse_single(text.strip(), default_gamma)
    return Method(text, parts=tuple(_parse_term(term, default_gamma) for term in terms))


def _parse_term(text: str, default_gamma: float) -> tuple[float, Method]:
    """Parse a term of a blend, `method` or `weight*method`."""
    weight, times, method = text.partition("*")
    if not times:
        return 1.0, _parse_single(text, default_gamma)
    return _parse_number("the weight", weight), _parse_single(method.strip(), default_gamma)


def _parse_single(text: str, default_gamma: float) -> Method:
    name, _, rest = text.partition(":")
    if name not in NAMES:
        raise UsageError(f"there is no method {name!r}: choose {', '.join(NAMES)}")
    try:
        options = key_values(rest.split(",") if rest else ())
    except OptionError as error:
        raise UsageError(f"the method {text!r}: {error}") from error
    common = {key: options.pop(key) for key in _COMMON_OPTIONS if key in options}
    _check(name, common, options)
    gamma = default_gamma if name == "pwmd" else 0.0
    if "gamma" in common:
        gamma = _parse_number("gamma", common["gamma"])
    if gamma < 0:
        raise UsageError(f"gamma must be 0 or more, not {common['gamma']}")
    return Method(text, name, gamma, common.get("weights", "tf"), common.get("proximity"), options)


def _check(name: str, common: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Raise UsageError for options that a method does not have, and for invalid values."""
    if common.get("weights", "tf") not in ("tf", "tfidf"):
        raise UsageError(f"weights must be tf or tfidf, not {common['weights']!r}")
    if common.get("proximity", PROXIMITIES[0]) not in PROXIMITIES:
        raise UsageError(f"proximity must be one of {', '.join(PROXIMITIES)}, not {common['proximity']!r}")
    if name in (*SCORERS, RANDOM) and "weights" in common:
        raise UsageError(f"{name} has weights of its own: leave them out")
    if name == "wmd" and "gamma" in common:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
    try:
        if name in SCORERS:
            choose_scorer(name, options)
        elif name in ENCODERS:
            choose_encoder(name, options)
        elif options:
            raise UsageError(f"{name} has no option {next(iter(options))!r}: choose {', '.join(_COMMON_OPTIONS)}")
    except (ScorerError, EncoderError) as error:
        raise UsageError(str(error)) from error


def parse_numbers(what: str, text: str) -> list[float]:
    """Parse comma-separated numbers of 0 or more; raises UsageError with a message that begins with `what`."""
    values = [_parse_number(what, number) for number in text.split(",")]
    if min(values) < 0:
        raise UsageError(f"{what} must be numbers of 0 or more, not {text!r}")
    return values


def _parse_number(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise UsageError(f"{what} must be a number, not {text!r}")
    return value
