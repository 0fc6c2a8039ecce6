"""Specifications of a ranking, parsed and validated: one term, or a sum of several.

Examples are `pwmd:gamma=0.5`, `bm25:k1=0.9,stem=english` and `wmd:weights=tfidf+0.5*cover+1.5*bm25`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, NamedTuple, get_args

from moverank.indexer.errors import UsageError
from moverank.indexer.values.arguments import finite_number
from moverank.indexer.values.arguments import text as checked_text
from moverank.rerank.distance.mutual_proximity import KINDS, ProximityKind
from moverank.rerank.encoders.first_stages import ENCODERS, choose_encoder, is_encoder
from moverank.rerank.encoders.first_stages import PLUG_INS as ALL_ENCODERS
from moverank.rerank.errors import EncoderError, OptionError, ScorerError
from moverank.rerank.options import did_you_mean, key_values
from moverank.rerank.ranking import AUTO_RANK, DISTANCES, Distance
from moverank.rerank.scorers import SCORERS, Scorer, choose_scorer, is_scorer, scorer_class
from moverank.rerank.scorers.scorer_registry import PLUG_INS as ALL_SCORERS
from moverank.rerank.words.term_rules import NGRAMS, PARTS, STEM, is_ngrams, option_of, rule_of

Weights = Literal["tf", "tfidf", "norm", "model"]
"""The weights of words: counts, or counts times idf, the length of the vector, or the weight in a static model."""

COSINE, VECTOR, PRIOR = "cosine", "vector", "prior"
_NAMES = (*DISTANCES, COSINE, *SCORERS, *ENCODERS, VECTOR, PRIOR)
"""Own names of values to rank by: distances of bags, the cosine of centroids, scorers, encoders, vectors, a field."""

_IN_WORDS: Mapping[str, str] = {
    "wmd": "distance",
    "pwmd": "distance",
    "rwmd": "relaxed distance",
    "chamfer": "nearest words",
    "cover": "covered",
    "wcd": "distance of means",
    **dict.fromkeys((COSINE, *ENCODERS), "topic"),
    VECTOR: "vectors",
}
PRIOR_SCALES = ("log", "linear")
TRANSPORT = ("wmd", "pwmd")
BAG_OPTIONS = ("gamma", "weights")
_SCORER_OPTIONS = ("gamma", STEM, NGRAMS)
_NO_ENCODERS = {*DISTANCES, COSINE, *SCORERS, VECTOR, PRIOR}
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(DISTANCES, (*BAG_OPTIONS, "mu")),
    **dict.fromkeys(TRANSPORT, (*BAG_OPTIONS, "mu", "proximity")),
    **dict.fromkeys(SCORERS, _SCORER_OPTIONS),
    **dict.fromkeys((COSINE, *ENCODERS), BAG_OPTIONS),
    VECTOR: (),
    PRIOR: ("field", "scale"),
}
"""The options of each term that are not options of its scorer or encoder."""


class ScorerChoice(NamedTuple):
    """The name of a scorer, its options as typed, and the rule whose terms replace the words, or None."""

    name: str
    options: tuple[tuple[str, str], ...] = ()
    rule: str | None = None

    @property
    def kind(self) -> type[Scorer]:
        """Return the class, built-in or of another package."""
        return scorer_class(self.name)


class EncoderChoice(NamedTuple):
    """The name of an encoder, and its options as typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: a weight times a value."""

    weight: float
    name: str
    """The name of the distance, scorer, encoder or other value."""
    options: tuple[tuple[str, str], ...] = ()
    """All options as typed, sorted by name."""
    own: tuple[tuple[str, str], ...] = ()
    """The options of the scorer or encoder."""
    gamma: float | None = None
    """The sensitivity to rank, None unless given."""
    weights: Weights | None = None
    """The weights of words, None unless given."""
    mu: float = 0.0
    """The number of words at which the length of a document counts half: shorter documents are drawn to the typical
    distance of the query."""
    proximity: ProximityKind | None = None
    """The kind of mutual proximity that replaces the distance, or None."""
    phrases: bool = False
    """Whether the collection has phrases: a scorer that would count whole words counts the words of a phrase."""

    def __str__(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.name}:{options}" if options else self.name

    @property
    def words(self) -> str:
        """Return in words what the term compares; for a prior its field, for another package's encoder its name."""
        if self.scorer:
            if self.scorer.rule and is_ngrams(self.scorer.rule):
                return "shared letters"
            return "related words" if self.scorer.kind.needs_vectors else "shared words"
        return dict(self.options)["field"] if self.name == PRIOR else _IN_WORDS.get(self.name, self.name)

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
        return self.is_distance or self.name == COSINE or self.encoder is not None

    @property
    def is_fitted(self) -> bool:
        """Return whether the term needs vectors of all documents, or distances, and not only counts of words."""
        compares = self.scorer is not None and self.scorer.kind.needs_vectors
        return compares or self.encoder is not None or self.proximity is not None

    @property
    def scorer(self) -> ScorerChoice | None:
        """Return the scorer, built-in or of another package, None for another term."""
        if not _is_scorer(self.name):
            return None
        rule = rule_of(dict(self.options))
        if rule is None and self.phrases and not scorer_class(self.name).needs_vectors:
            rule = PARTS
        return ScorerChoice(self.name, self.own, rule)

    @property
    def encoder(self) -> EncoderChoice | None:
        """Return the encoder, built-in or of another package, None for another term."""
        return EncoderChoice(self.name, self.own) if _is_encoder(self.name) else None


def _is_scorer(name: str) -> bool:
    return name in SCORERS if name in _NAMES else is_scorer(name)


def _is_encoder(name: str) -> bool:
    return name not in _NO_ENCODERS and not _is_scorer(name)


def _common(name: str) -> tuple[str, ...]:
    """Return the options of a term that are no options of its scorer or encoder."""
    return _OPTIONS[name] if name in _NAMES else _SCORER_OPTIONS if is_scorer(name) else BAG_OPTIONS


def _is_there(name: str) -> bool:
    """Return whether there is a term of that name; no entry point is read for one of the core."""
    if name in SCORERS:
        return is_scorer(name)
    if name in ENCODERS:
        return is_encoder(name)
    return name in _NAMES or is_scorer(name) or is_encoder(name)


def ranking_names() -> tuple[str, ...]:
    """Return the names of all values to rank by, with those of plug-ins and other packages."""
    return (*DISTANCES, COSINE, *ALL_SCORERS.names(), *ALL_ENCODERS.names(), VECTOR, PRIOR)


def parse_term(text: str) -> Term:
    """Parse a term, perhaps with a weight: `0.5*bm25`. Raises UsageError for an unknown name or option."""
    weight, times, rest = text.partition("*")
    name, colon, listed = (rest if times else text).strip().partition(":")
    if not _is_there(name):
        names = ranking_names()
        raise UsageError(
            f"there is no ranking {name!r}{did_you_mean(name, names)}: choose auto, the collection's own, alone, or "
            f"sums of {', '.join(names)}, or install the package of such a scorer or encoder"
        )
    try:
        options = key_values(listed.split(",") if colon else ())
    except OptionError as error:
        raise UsageError(f"{text!r}: the option {error}") from error
    common = {key: options[key] for key in _common(name) if key in options}
    own = {key: value for key, value in options.items() if key not in common}
    _check_values(name, common)
    _check_own(name, own)
    return Term(
        _weight(weight) if times else 1.0,
        name,
        tuple(sorted(options.items())),
        tuple(sorted(own.items())),
        _number("gamma", common["gamma"]) if "gamma" in common else None,
        weights_named(common["weights"]) if "weights" in common else None,
        _number("mu", common.get("mu", "0")),
        _proximity(common["proximity"]) if "proximity" in common else None,
    )


def _check_values(name: str, common: Mapping[str, str]) -> None:
    """Raise UsageError for invalid values of `common` options, and for options that exclude each other."""
    if name == "wmd" and "gamma" in common:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
    _check_rule(common)
    if common.get("scale", PRIOR_SCALES[0]) not in PRIOR_SCALES:
        raise UsageError(f"the scale of a prior is {' or '.join(PRIOR_SCALES)}, not {common['scale']!r}")
    for option in (STEM, NGRAMS):
        if option in common and scorer_class(name).needs_vectors:
            raise UsageError(f"{name} compares words by their vectors: leave {option} out")
    if "mu" in common and "proximity" in common:
        raise UsageError("mutual proximity has no shrinkage by length: leave mu or proximity out")
    if name == PRIOR and "field" not in common:
        raise UsageError("a prior needs the name of a numeric field: prior:field=votes")


def _check_rule(options: Mapping[str, str]) -> None:
    try:
        rule_of(options)
    except OptionError as error:
        raise UsageError(str(error)) from error


def check_rules(rules: Iterable[str]) -> None:
    """Raise UsageError unless there are rules of these names."""
    for rule in set(rules) - {PARTS}:
        _check_rule(key_values([option_of(rule)]))


def _check_own(name: str, own: Mapping[str, str]) -> None:
    """Raise UsageError for options that a term does not have, and for invalid values of a scorer or encoder."""
    try:
        if _is_scorer(name):
            every = {*_common(name)}.union(option.name for option in scorer_class(name).options)
            for option in own.keys() - every:
                if similar := did_you_mean(option, every):
                    raise UsageError(f"{name} has no option {option!r}{similar}: choose {', '.join(sorted(every))}")
            choose_scorer(name, own)
        elif _is_encoder(name):
            choose_encoder(name, own)
        elif own:
            known, option = ", ".join(_OPTIONS[name]) or "it has none", next(iter(own))
            raise UsageError(f"{name} has no option {option!r}{did_you_mean(option, _OPTIONS[name])}: choose {known}")
    except (ScorerError, EncoderError) as error:
        raise UsageError(str(error)) from error


def weights_named(text: str) -> Weights:
    """Return the weights named `text`; UsageError for an unknown name."""
    every: tuple[Weights, ...] = get_args(Weights)
    for weights in every:
        if text == weights:
            return weights
    raise UsageError(f"weights must be {', '.join(every[:-1])} or {every[-1]}, not {text!r}")


def _proximity(text: str) -> ProximityKind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise UsageError(f"proximity must be one of {', '.join(KINDS)}, not {text!r}")


def _number(what: str, text: str, *, above: bool = False) -> float:
    """Parse a finite number of 0 or more, or if `above` more than 0; UsageError calls it `what`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not isfinite(value) or value < 0 or (above and value == 0):
        raise UsageError(f"{what} must be a number {'above 0' if above else 'of 0 or more'}, not {text.strip()!r}")
    return value


def _weight(text: str) -> float:
    value = _number("the weight of a term", text, above=True)
    if value > _MOST_WEIGHT:
        raise UsageError(f"the weight of a term is at most {_MOST_WEIGHT:,.0f}, not {text.strip()}")
    return value


_MOST_WEIGHT, _MOST_TERMS, _LONGEST = 1e6, 20, 2000
PAPER_GAMMA = 0.75
"""The sensitivity of Trapp et al. 2017 (section 5), the default of P-WMD."""

# A plus sign begins a term if a name follows, perhaps after a weight: it may also be part of a number, as in 1e+3.
_NEXT_TERM = re.compile(r"\+(?=\s*(?:[^*+,:=]*\*)?\s*[a-z])")


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
    def phrases(self) -> bool:
        """Return whether the collection has phrases."""
        return self.terms[0].phrases

    @property
    def plain(self) -> Distance | None:
        """Return the only term if that is a distance without a weight, shrinkage or mutual proximity, else None."""
        (first, *others) = self.terms
        alone = not others and first.is_distance and first.weight == 1 and not first.mu and not first.proximity
        return first.distance if alone else None

    @property
    def proximity(self) -> ProximityKind | None:
        """Return the kind of mutual proximity that replaces the distance, or None."""
        return next((term.proximity for term in self.terms if term.proximity), None)

    @property
    def fits(self) -> frozenset[tuple[object, ...]]:
        """Return a key of each term that is fitted to all documents first: encoders, scorers and mutual proximity.

        Only scorers that compare vectors, and scorers of other packages, are fitted. Counts of n-grams take as much
        memory and time.
        """
        letters = {(rule, self.gamma) for rule in self.rules if is_ngrams(rule)}
        fitted = (term for term in self.terms if term.is_fitted or (term.scorer and term.name not in SCORERS))
        return frozenset(letters).union(
            (term.name, term.proximity, term.own, *((term.gamma,) if term.scorer else (self.gamma, self.weights)))
            for term in fitted
        )

    @property
    def single_scorer(self) -> ScorerChoice | None:
        """Return the only term if that is a scorer, else None."""
        return self.terms[0].scorer if len(self.terms) == 1 else None

    @property
    def scores_compare(self) -> bool:
        """Return whether the score of a reranked text with a known word does not depend on the other texts.

        The unit of a sum of distances depends on them, but all terms share the unit, so that it is left out of scores.
        A distance with `mu` keeps a part of the unit, mutual proximity compares with other texts, and scorers are
        scaled by their best.
        """
        of_bags = all(term.is_distance and not term.mu and not term.proximity for term in self.terms)
        return of_bags or [term.name for term in self.terms] == [COSINE]

    @property
    def has_transport(self) -> bool:
        """Return whether transport problems are solved."""
        return any(term.name in TRANSPORT for term in self.terms)

    @property
    def counted(self) -> tuple[ScorerChoice, ...]:
        """Return the scorers, which count all words, with or without a vector."""
        return tuple(term.scorer for term in self.terms if term.scorer)

    @property
    def rules(self) -> frozenset[str]:
        """Return the rules of the scorers that do not count whole words."""
        return frozenset(scorer.rule for scorer in self.counted if scorer.rule)

    @property
    def can_have_far_words(self) -> bool:
        """Return whether words without a vector can be far from all others: by WMD with weights that they have."""
        return self.plain in ("wmd", "pwmd") and self.weights in ("tf", "tfidf")

    @property
    def compares_vectors(self) -> bool:
        """Return whether any term compares words by their vectors."""
        return any(term.scorer.kind.needs_vectors if term.scorer else term.name != PRIOR for term in self.terms)

    @property
    def needs_word_vectors(self) -> bool:
        """Return whether any term needs vectors of words: all but scorers of counts, an engine's scores and fields."""
        return any(term.has_bag or (term.scorer and term.scorer.kind.needs_vectors) for term in self.terms)

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
    if len(checked_text("a ranking", text)) > _LONGEST:
        raise UsageError(f"a ranking has at most {_LONGEST:,} characters, not {len(text):,}")
    terms = _distinct(parse_term(term.strip()) for term in _NEXT_TERM.split(text))
    if len(terms) > _MOST_TERMS:
        raise UsageError(f"a ranking has at most {_MOST_TERMS} terms, not {len(terms)}")
    if sum(term.name in TRANSPORT for term in terms) > 1:
        raise UsageError(f"a sum can have only one of wmd and pwmd: {text!r}")
    for option in BAG_OPTIONS:
        if len({getattr(term, option) for term in terms if term.has_bag} - {None}) > 1:
            raise UsageError(f"all distances and encoders of a sum have the same {option}: {text!r}")
    return RankingSpec(terms)


def _distinct(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return each term once, with the sum of its weights."""
    found = dict[str, Term]()
    for term in terms:
        before = found.get(str(term))
        found[str(term)] = replace(term, weight=term.weight + before.weight) if before else term
    return tuple(found.values())


def distance_of(rank: str | None, gamma: float | None, own: RankingSpec) -> tuple[str, float | None]:
    """Return a ranking and its gamma; for None the distance of a collection, WMD or P-WMD, with its `own` weights."""
    if rank is not None:
        return rank, gamma
    used = own.gamma if gamma is None else gamma
    return f"{'pwmd' if used else 'wmd'}:weights={resolve(None, None, own).weights}", used or None


def resolve(text: str | None, gamma: float | None, own: RankingSpec) -> RankingSpec:
    """Return the ranking that `text` specifies (None or "auto": the collection's `own`), with `gamma` where given.

    `own` has the collection's default gamma and weights. WMD is P-WMD at gamma 0. Raises UsageError for an invalid
    specification or gamma, and for "wmd" with a gamma above 0.
    """
    text = None if text is not None and checked_text("a ranking", text).strip() == AUTO_RANK else text
    if gamma is not None:
        gamma = finite_number("gamma", gamma)
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
    terms = tuple(
        replace(t, gamma=fallback if t.scorer and t.gamma is None else t.gamma, phrases=own.phrases) for t in spec.terms
    )
    return RankingSpec(terms, of_bags, weights)


def own_ranking(rank: str, gamma: float, weights: Weights, *, phrases: bool = False) -> RankingSpec:
    """Return the ranking of a collection with these settings; an empty `rank` means P-WMD with a gamma, else WMD."""
    spec = parse_ranking(rank or ("pwmd" if gamma else "wmd"))
    terms = tuple(replace(term, phrases=phrases) for term in spec.terms)
    return RankingSpec(terms, gamma, weights)


def scorer_named(typed: str, *, phrases: bool = False) -> ScorerChoice | None:
    """Return the scorer specified as `NAME` or `NAME:KEY=VALUE,...`; None if no scorer has that name.

    `phrases`: whether the collection has some. Raises UsageError for invalid options.
    """
    return replace(parse_term(typed), phrases=phrases).scorer if is_scorer(typed.partition(":")[0]) else None
