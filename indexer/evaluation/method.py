"""The rows of an experiment as they are typed: `pwmd:gamma=0.5,weights=tfidf`, `bm25:k1=1.5`, `0.3*bm25+0.7*pwmd`."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.rankers import CentroidRanker, EncoderRanker, RandomRanker, Ranker, ScorerRanker
from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import PAPER_GAMMA
from moverank.rerank.distance.mutual_proximity import Spread, empirical, fitted
from moverank.rerank.encoders.encoder_registry import ENCODERS
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.errors import EncoderError, ScorerError
from moverank.rerank.ranking import DISTANCES
from moverank.rerank.scorers import SCORERS
from moverank.rerank.scorers import choose as choose_scorer

RANDOM = "random"
NAMES = (RANDOM, *DISTANCES, *SCORERS, *ENCODERS)
PROXIMITIES = ("empirical", "gaussian", "gamma")
SAMPLE = 200
"""Documents that a distribution of distances is fitted to."""
_OWN = ("gamma", "weights", "proximity")


@dataclass(frozen=True, slots=True)
class Method:
    """One row: a ranker's name with its options, how bags are weighed, and the kind of mutual proximity or None.

    With `parts`, a blend: their distances are standardised for each question and added up by weight.
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
        """Say whether distances are computed that are spread over the cores."""
        return bool(self.parts or self.proximity) or (self.name in DISTANCES and self.name != "wcd")

    def ranker(self, pool: Texts, kept: DistanceCache) -> Ranker:
        """Make what ranks a pool."""
        idf = pool.idf if self.weights == "tfidf" else None
        if self.name == "wcd":
            return CentroidRanker(pool, self.gamma, idf)
        for distance in DISTANCES:
            if distance == self.name:
                return DistanceRanker(distance, pool, self.gamma, idf, kept)
        if self.name in SCORERS:
            return ScorerRanker(self.name, self.options, pool, self.gamma)
        if self.name in ENCODERS:
            return EncoderRanker(self.name, self.options, pool, self.gamma, idf)
        return RandomRanker(pool)


def parse_method(typed: str, gamma: float = 0.0) -> Method:
    """Read one row; `gamma` is what P-WMD has where none is named, else the paper's 0.75.

    Raises UsageError for a name, an option or a value that there is not.
    """
    parts = [part.strip() for part in typed.split("+")]
    if len(parts) == 1 and "*" not in typed:
        return _single(typed.strip(), gamma or PAPER_GAMMA)
    return Method(typed, parts=tuple(_weighted(part, gamma or PAPER_GAMMA) for part in parts))


def _weighted(typed: str, gamma: float) -> tuple[float, Method]:
    weight, times, rest = typed.partition("*")
    return (_number("the weight", weight), _single(rest.strip(), gamma)) if times else (1.0, _single(typed, gamma))


def _single(typed: str, gamma: float) -> Method:
    name, _, rest = typed.partition(":")
    if name not in NAMES:
        raise UsageError(f"there is no method {name!r}: choose {', '.join(NAMES)}")
    given: dict[str, str] = {}
    for option in rest.split(",") if rest else ():
        key, equals, value = option.partition("=")
        if not (key and equals):
            raise UsageError(f"{option!r} of the method {typed!r} is not of the form KEY=VALUE")
        given[key.strip()] = value.strip()
    own = {key: given.pop(key) for key in _OWN if key in given}
    _check(name, own, given)
    default = gamma if name == "pwmd" else 0.0
    chosen = _number("gamma", own["gamma"]) if "gamma" in own else default
    if not chosen >= 0:
        raise UsageError(f"gamma must be 0 or more, not {own['gamma']}")
    return Method(typed, name, chosen, own.get("weights", "tf"), own.get("proximity"), given)


def _check(name: str, own: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Refuse options that a method has not, before any text is read."""
    if own.get("weights", "tf") not in ("tf", "tfidf"):
        raise UsageError(f"weights must be tf or tfidf, not {own['weights']!r}")
    if own.get("proximity", PROXIMITIES[0]) not in PROXIMITIES:
        raise UsageError(f"proximity must be one of {', '.join(PROXIMITIES)}, not {own['proximity']!r}")
    if name in (*SCORERS, RANDOM) and "weights" in own:
        raise UsageError(f"{name} has weights of its own: leave them out")
    if name == "wmd" and "gamma" in own:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or ask for pwmd")
    try:
        if name in SCORERS:
            choose_scorer(name, options)
        elif name in ENCODERS:
            choose_encoder(name, options)
        elif options:
            raise UsageError(f"{name} has no option {next(iter(options))!r}: choose {', '.join(_OWN)}")
    except (ScorerError, EncoderError) as error:
        raise UsageError(str(error)) from error


def numbers(what: str, typed: str) -> list[float]:
    """Read numbers of 0 or more that stand apart by commas; UsageError names `what` is wrong."""
    found = [_number(what, text) for text in typed.split(",")]
    if min(found) < 0:
        raise UsageError(f"{what} must be numbers of 0 or more, not {typed!r}")
    return found


def _number(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise UsageError(f"{what} must be a number, not {text!r}")
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What is ranked for what: a pool, questions, and each question's own place (q,) in the pool, -1 where none.

    `wanted` (q, n) says which documents are of interest to a question, None: all.
    """

    pool: Texts
    questions: Texts
    own: NDArray[np.int64]
    kept: DistanceCache
    progress: Progress
    wanted: NDArray[np.bool_] | None = None


def distances_of(method: Method, trial: Trial) -> NDArray[np.float64]:
    """Return how far (q, n) each question is from each document; a question's own is infinitely far away.

    So is whatever is not wanted. Mutual proximity is taken among all documents first.
    """
    if method.parts:
        tables = [weight * _standard(distances_of(part, trial)) for weight, part in method.parts]
        return np.asarray(np.sum(tables, axis=0))
    ranker = method.ranker(trial.pool, trial.kept)
    if isinstance(ranker, DistanceRanker) and method.proximity is None:
        told = ranker.distances(trial.questions, trial.progress, trial.wanted)
    else:
        told = ranker.distances(trial.questions, trial.progress)
    found = np.array(list(told)).reshape(len(trial.questions), len(trial.pool))
    there = np.flatnonzero(trial.own >= 0)
    found[there, trial.own[there]] = np.inf
    near = found if method.proximity is None else _mutual(method.proximity, ranker, found, trial)
    return near if trial.wanted is None else np.where(trial.wanted, near, np.inf)


def _mutual(kind: str, ranker: Ranker, found: NDArray[np.float64], trial: Trial) -> NDArray[np.float64]:
    """Turn distances into mutual proximity."""
    pool, n = trial.pool, len(trial.pool)

    def whole(texts: Texts) -> NDArray[np.float64]:
        return np.array(list(ranker.distances(texts, trial.progress)))

    if kind == "empirical":
        among = whole(pool)
        among[np.eye(n, dtype=bool)] = np.inf
        return empirical(found, among)
    sample = _sample(pool)
    seen = whole(pool.take(sample))
    seen[np.arange(len(sample)), sample] = np.inf
    return fitted(found, Spread.of(found), Spread.of(seen.T), "gaussian" if kind == "gaussian" else "gamma")


def _sample(pool: Texts) -> NDArray[np.int64]:
    """Draw documents by their keys: when others come, almost all of those drawn stay, and their distances are known."""
    drawn = sorted(range(len(pool)), key=lambda row: hashlib.blake2b(pool.keys[row].encode()).digest())
    return np.sort(np.array(drawn[:SAMPLE], np.int64))


def _standard(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring each question's distances to mean 0 and deviation 1; who cannot be ranked by one part is last in it."""
    spread = Spread.of(distances)
    scaled: NDArray[np.float64] = (distances - spread.mean[:, None]) / np.maximum(spread.deviation, 1e-300)[:, None]
    there = np.isfinite(scaled)
    worst = np.where(there, scaled, -np.inf).max(axis=1, keepdims=True, initial=0.0)
    return np.where(there, scaled, worst)
