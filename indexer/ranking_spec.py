"""Specifications of a ranking: `pwmd`, `bm25:k1=0.9,stem=english`, or a sum, `wmd:weights=tfidf+0.5*cover+1.5*bm25`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, NamedTuple, get_args

from moverank.indexer.errors import UsageError
from moverank.rerank.encoders.encoder_registry import ENCODERS
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.errors import EncoderError, OptionError, ScorerError
from moverank.rerank.options import key_values
from moverank.rerank.ranking import DISTANCES, Distance
from moverank.rerank.scorers import SCORERS
from moverank.rerank.scorers import choose as choose_scorer
from moverank.rerank.words.stems import LANGUAGES

Weights = Literal["tf", "tfidf"]

PAPER_GAMMA = 0.75
"""The sensitivity of Trapp et al. 2017 (section 5), the default of P-WMD."""

COSINE, VECTOR, PRIOR = "cosine", "vector", "prior"
NAMES = (*DISTANCES, COSINE, *SCORERS, *ENCODERS, VECTOR, PRIOR)
"""What can be ranked by: distances of bags, the cosine of their centroids, scorers, encoders, vectors, and a field."""

PRIOR_SCALES = ("log", "linear")
_TRANSPORT = ("wmd", "pwmd")
_BAG_OPTIONS = ("gamma", "weights")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(DISTANCES, (*_BAG_OPTIONS, "mu")),
    **dict.fromkeys(SCORERS, ("gamma", "stem")),
    **dict.fromkeys((COSINE, *ENCODERS), _BAG_OPTIONS),
    VECTOR: (),
    PRIOR: ("field", "scale"),
}
"""The options of each term that are not options of its scorer or encoder."""

# A plus sign begins a term if a name follows, perhaps after a weight: it may also be part of a number, as in 1e+3.
_NEXT_TERM = re.compile(r"\+(?=\s*(?:[^*+,:=]*\*)?\s*[a-z])")


class ScorerChoice(NamedTuple):
    """The name of a scorer, its options as typed, and the language whose stems replace the words, or None."""

    name: str
    options: tuple[tuple[str, str], ...] = ()
    stem: str | None = None


class EncoderChoice(NamedTuple):
    """The name of an encoder, and its options as typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: `weight` times what is called `name`, with `options` as typed, sorted by name.

    `own` are the options of its scorer or encoder. `gamma` and `weights` are None unless given. `mu` is the number of
    words at which a document's length counts half: shorter documents are drawn to the typical distance of the query.
    """

    weight: float
    name: str
    options: tuple[tuple[str, str], ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    gamma: float | None = None
    weights: Weights | None = None
    mu: float = 0.0

    def __str__(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.name}:{options}" if options else self.name

    @property
    def is_distance(self) -> bool:
        """Return whether the term is a distance of bags."""
        return self.name in DISTANCES

    @property
    def distance(self) -> Distance:
        """Return the name of the distance; ValueError for another term."""
        for distance in DISTANCES:
            if distance == self.name:
                return distance
        raise ValueError(f"{self.name} is no distance")

    @property
    def has_bag(self) -> bool:
        """Return whether the term depends on the weights of bags."""
        return self.is_distance or self.name in (COSINE, *ENCODERS)

    @property
    def scorer(self) -> ScorerChoice | None:
        """Return the scorer, None for another term."""
        return ScorerChoice(self.name, self.own, dict(self.options).get("stem")) if self.name in SCORERS else None

    @property
    def encoder(self) -> EncoderChoice | None:
        """Return the encoder, None for another term."""
        return EncoderChoice(self.name, self.own) if self.name in ENCODERS else None


@dataclass(frozen=True, slots=True)
class RankingSpec:
    """A ranking: documents with a smaller sum of `terms` are better.

    Bags are weighted by `gamma` and `weights`, which all terms of a sum share; each scorer has a gamma of its own.
    """

    terms: tuple[Term, ...]
    gamma: float = 0.0
    weights: Weights = "tf"

    def __str__(self) -> str:
        if len(self.terms) == 1 and self.terms[0].weight == 1:
            return str(self.terms[0])
        return "+".join((f"{term.weight:g}*" if term.weight != 1 else "") + str(term) for term in self.terms)

    @property
    def plain(self) -> Distance | None:
        """Return the only term if that is a distance without a weight or shrinkage, else None."""
        (first, *others) = self.terms
        alone = not others and first.is_distance and first.weight == 1 and not first.mu
        return first.distance if alone else None

    @property
    def single_scorer(self) -> ScorerChoice | None:
        """Return the only term if that is a scorer, else None."""
        return self.terms[0].scorer if len(self.terms) == 1 else None

    @property
    def has_transport(self) -> bool:
        """Return whether transport problems are solved."""
        return any(term.name in _TRANSPORT for term in self.terms)

    @property
    def distances(self) -> tuple[Term, ...]:
        """Return the terms that are distances of bags."""
        return tuple(term for term in self.terms if term.is_distance)

    @property
    def scorers(self) -> tuple[Term, ...]:
        """Return the terms that are scorers."""
        return tuple(term for term in self.terms if term.scorer)


def parse_ranking(text: str) -> RankingSpec:
    """Parse a specification; `gamma` and `weights` of the result are not resolved yet: see `resolve`.

    Raises UsageError for an unknown name or option, an invalid value, and a sum that cannot be computed.
    """
    terms = tuple(_term(term.strip()) for term in _NEXT_TERM.split(text))
    if sum(term.name in _TRANSPORT for term in terms) > 1:
        raise UsageError(f"a sum can have only one of wmd and pwmd: {text!r}")
    for option in _BAG_OPTIONS:
        if len({getattr(term, option) for term in terms if term.has_bag} - {None}) > 1:
            raise UsageError(f"all distances and encoders of a sum have the same {option}: {text!r}")
    return RankingSpec(terms)


def resolve(text: str | None, gamma: float | None, own: RankingSpec) -> RankingSpec:
    """Return the ranking specified by `text`, or by None the collection's `own`, with `gamma` where that is given.

    `own` has the collection's default gamma and weights. WMD is P-WMD at gamma 0. Raises UsageError for an invalid
    specification or gamma, and for "wmd" with a gamma above 0.
    """
    if gamma is not None and not 0 <= gamma < float("inf"):
        raise UsageError(f"gamma must be a number of 0 or more, not {gamma}")
    spec = own if text is None else parse_ranking(text)
    names = {term.name for term in spec.terms}
    if gamma and text is not None and "wmd" in names:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
    if gamma and text is None:
        spec = replace(spec, terms=tuple(replace(t, name="pwmd") if t.name == "wmd" else t for t in spec.terms))
        names = {term.name for term in spec.terms}
    fallback = own.gamma if gamma is None else gamma
    of_bags = next((t.gamma for t in spec.terms if t.has_bag and t.gamma is not None), None)
    if of_bags is None and "wmd" in names:
        of_bags = 0.0
    if of_bags is None:
        of_bags = gamma if gamma is not None else own.gamma or (PAPER_GAMMA if "pwmd" in names else 0.0)
    weights = next((t.weights for t in spec.terms if t.has_bag and t.weights is not None), own.weights)
    terms = tuple(replace(t, gamma=fallback if t.scorer and t.gamma is None else t.gamma) for t in spec.terms)
    return RankingSpec(terms, of_bags, weights)


def own_ranking(rank: str, gamma: float, weights: Weights) -> RankingSpec:
    """Return the ranking of a collection with these settings; an empty `rank` is P-WMD with a gamma, else WMD."""
    spec = parse_ranking(rank or ("pwmd" if gamma else "wmd"))
    return replace(spec, gamma=gamma, weights=weights)


def scorer_named(typed: str) -> ScorerChoice | None:
    """Return the scorer specified as `NAME` or `NAME:KEY=VALUE,...`; None if no scorer has that name.

    Raises UsageError for invalid options.
    """
    return _term(typed).scorer if typed.partition(":")[0] in SCORERS else None


def _term(text: str) -> Term:
    weight, times, rest = text.partition("*")
    name, colon, listed = (rest if times else text).strip().partition(":")
    if name not in NAMES:
        raise UsageError(f"there is no ranking {name!r}: choose {', '.join(NAMES)}")
    try:
        options = key_values(listed.split(",") if colon else ())
    except OptionError as error:
        raise UsageError(f"{text!r}: the option {error}") from error
    common = {key: options[key] for key in _OPTIONS[name] if key in options}
    own = {key: value for key, value in options.items() if key not in common}
    _check(name, common, own)
    return Term(
        _number("the weight of a term", weight, above=True) if times else 1.0,
        name,
        tuple(sorted(options.items())),
        tuple(sorted(own.items())),
        _number("gamma", common["gamma"]) if "gamma" in common else None,
        _weights(common["weights"]) if "weights" in common else None,
        _number("mu", common.get("mu", "0")),
    )


def _check(name: str, common: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Raise UsageError for options that a term does not have, and for invalid values."""
    if name == "wmd" and "gamma" in common:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
    if common.get("stem", LANGUAGES[0]) not in LANGUAGES:
        raise UsageError(f"there are no stems for {common['stem']!r}: choose {', '.join(LANGUAGES)}")
    if common.get("scale", PRIOR_SCALES[0]) not in PRIOR_SCALES:
        raise UsageError(f"the scale of a prior is {' or '.join(PRIOR_SCALES)}, not {common['scale']!r}")
    if "stem" in common and SCORERS[name].needs_vectors:
        raise UsageError(f"{name} compares words by their vectors: leave stem out")
    if name == PRIOR and "field" not in common:
        raise UsageError("a prior needs the name of a numeric field: prior:field=votes")
    try:
        if name in SCORERS:
            choose_scorer(name, own)
        elif name in ENCODERS:
            choose_encoder(name, own)
        elif own:
            known = ", ".join(_OPTIONS[name]) or "it has none"
            raise UsageError(f"{name} has no option {next(iter(own))!r}: choose {known}")
    except (ScorerError, EncoderError) as error:
        raise UsageError(str(error)) from error


def _weights(text: str) -> Weights:
    for weights in get_args(Weights):
        if text == weights:
            return text  # type: ignore[return-value]  # one of the literals
    raise UsageError(f"weights must be tf or tfidf, not {text!r}")


def _number(what: str, text: str, *, above: bool = False) -> float:
    """Parse a finite number of 0 or more, or if `above` more than 0; UsageError names `what` it is."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not isfinite(value) or value < 0 or (above and value == 0):
        raise UsageError(f"{what} must be a number {'above 0' if above else 'of 0 or more'}, not {text.strip()!r}")
    return value
