"""One term of a ranking, such as `pwmd:gamma=0.5` or `bm25:k1=0.9,stem=english`: parsed and validated."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, get_args

from moverank.indexer.errors import UsageError
from moverank.rerank.distance.mutual_proximity import KINDS, Kind
from moverank.rerank.encoders.encoder_registry import ENCODERS, is_encoder
from moverank.rerank.encoders.encoder_registry import PLUG_INS as ENCODERS_OF_PACKAGES
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.errors import EncoderError, OptionError, ScorerError
from moverank.rerank.options import did_you_mean, key_values
from moverank.rerank.ranking import DISTANCES, Distance
from moverank.rerank.scorers import SCORERS, Scorer, is_scorer
from moverank.rerank.scorers import choose as choose_scorer
from moverank.rerank.scorers import named as named_scorer
from moverank.rerank.scorers.scorer_registry import PLUG_INS as SCORERS_OF_PACKAGES
from moverank.rerank.words.stems import LANGUAGES

Weights = Literal["tf", "tfidf"]

COSINE, VECTOR, PRIOR = "cosine", "vector", "prior"
NAMES = (*DISTANCES, COSINE, *SCORERS, *ENCODERS, VECTOR, PRIOR)
"""What can be ranked by: distances of bags, the cosine of their centroids, scorers, encoders, vectors, and a field."""

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
_SCORER_OPTIONS = ("gamma", "stem")
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
    """The name of a scorer, its options as typed, and the language whose stems replace the words, or None."""

    name: str
    options: tuple[tuple[str, str], ...] = ()
    stem: str | None = None

    @property
    def kind(self) -> type[Scorer]:
        """Return the class, built-in or of another package."""
        return named_scorer(self.name)


class EncoderChoice(NamedTuple):
    """The name of an encoder, and its options as typed."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: `weight` times what is called `name`, with `options` as typed, sorted by name.

    `own` are the options of its scorer or encoder. `gamma` and `weights` are None unless given. `mu` is the number of
    words at which a document's length counts half: shorter documents are drawn to the typical distance of the query.
    `proximity` is the kind of mutual proximity that replaces the distance, or None.
    """

    weight: float
    name: str
    options: tuple[tuple[str, str], ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    gamma: float | None = None
    weights: Weights | None = None
    mu: float = 0.0
    proximity: Kind | None = None

    def __str__(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.name}:{options}" if options else self.name

    @property
    def words(self) -> str:
        """Return what the term compares, in words; of a prior its field, of another package's encoder its name."""
        if self.scorer:
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
    def scorer(self) -> ScorerChoice | None:
        """Return the scorer, built-in or of another package, None for another term."""
        return ScorerChoice(self.name, self.own, dict(self.options).get("stem")) if _is_scorer(self.name) else None

    @property
    def encoder(self) -> EncoderChoice | None:
        """Return the encoder, built-in or of another package, None for another term."""
        return EncoderChoice(self.name, self.own) if _is_encoder(self.name) else None


def _is_scorer(name: str) -> bool:
    return name in SCORERS if name in NAMES else is_scorer(name)


def _is_encoder(name: str) -> bool:
    return name not in _NO_ENCODERS and not _is_scorer(name)


def _common(name: str) -> tuple[str, ...]:
    """Return the options of a term that are not those of its scorer or encoder."""
    return _OPTIONS[name] if name in NAMES else _SCORER_OPTIONS if is_scorer(name) else BAG_OPTIONS


def parse_term(text: str) -> Term:
    """Parse a term, perhaps with a weight: `0.5*bm25`. Raises UsageError for an unknown name or option."""
    weight, times, rest = text.partition("*")
    name, colon, listed = (rest if times else text).strip().partition(":")
    if name not in NAMES and not is_scorer(name) and not is_encoder(name):
        names = (*NAMES, *SCORERS_OF_PACKAGES.names(), *ENCODERS_OF_PACKAGES.names())
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
        _number("the weight of a term", weight, above=True) if times else 1.0,
        name,
        tuple(sorted(options.items())),
        tuple(sorted(own.items())),
        _number("gamma", common["gamma"]) if "gamma" in common else None,
        _weights(common["weights"]) if "weights" in common else None,
        _number("mu", common.get("mu", "0")),
        _proximity(common["proximity"]) if "proximity" in common else None,
    )


def _check_values(name: str, common: Mapping[str, str]) -> None:
    """Raise UsageError for invalid values of `common` options, and for those that exclude each other."""
    if name == "wmd" and "gamma" in common:
        raise UsageError("wmd weighs all parts alike: leave gamma out, or choose pwmd")
    if common.get("stem", LANGUAGES[0]) not in LANGUAGES:
        similar = did_you_mean(common["stem"], LANGUAGES)
        raise UsageError(f"there are no stems for {common['stem']!r}{similar}: choose {', '.join(LANGUAGES)}")
    if common.get("scale", PRIOR_SCALES[0]) not in PRIOR_SCALES:
        raise UsageError(f"the scale of a prior is {' or '.join(PRIOR_SCALES)}, not {common['scale']!r}")
    if "stem" in common and named_scorer(name).needs_vectors:
        raise UsageError(f"{name} compares words by their vectors: leave stem out")
    if "mu" in common and "proximity" in common:
        raise UsageError("mutual proximity has no shrinkage by length: leave mu or proximity out")
    if name == PRIOR and "field" not in common:
        raise UsageError("a prior needs the name of a numeric field: prior:field=votes")


def _check_own(name: str, own: Mapping[str, str]) -> None:
    """Raise UsageError for options that a term does not have, and for invalid values of a scorer or encoder."""
    try:
        if _is_scorer(name):
            every = {*_common(name)}.union(option.name for option in named_scorer(name).options)
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


def _weights(text: str) -> Weights:
    for weights in get_args(Weights):
        if text == weights:
            return text  # type: ignore[return-value]  # one of the literals
    raise UsageError(f"weights must be tf or tfidf, not {text!r}")


def _proximity(text: str) -> Kind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise UsageError(f"proximity must be one of {', '.join(KINDS)}, not {text!r}")


def _number(what: str, text: str, *, above: bool = False) -> float:
    """Parse a finite number of 0 or more, or if `above` more than 0; UsageError names `what` it is."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not isfinite(value) or value < 0 or (above and value == 0):
        raise UsageError(f"{what} must be a number {'above 0' if above else 'of 0 or more'}, not {text.strip()!r}")
    return value
