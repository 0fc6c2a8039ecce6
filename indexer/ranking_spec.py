"""Specifications of a ranking: `pwmd`, `bm25:k1=0.9,stem=english`, or a sum, `wmd:weights=tfidf+0.5*cover+1.5*bm25`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from moverank.indexer.arguments import finite_number
from moverank.indexer.arguments import text as checked_text
from moverank.indexer.errors import UsageError
from moverank.indexer.ranking_term import BAG_OPTIONS, PRIOR, TRANSPORT, ScorerChoice, Term, Weights, parse_term
from moverank.rerank.distance.mutual_proximity import Kind
from moverank.rerank.ranking import AUTO_RANK, Distance
from moverank.rerank.scorers import is_scorer

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
    def plain(self) -> Distance | None:
        """Return the only term if that is a distance without a weight, shrinkage or mutual proximity, else None."""
        (first, *others) = self.terms
        alone = not others and first.is_distance and first.weight == 1 and not first.mu and not first.proximity
        return first.distance if alone else None

    @property
    def proximity(self) -> Kind | None:
        """Return the kind of mutual proximity that replaces the distance, or None."""
        return next((term.proximity for term in self.terms if term.proximity), None)

    @property
    def single_scorer(self) -> ScorerChoice | None:
        """Return the only term if that is a scorer, else None."""
        return self.terms[0].scorer if len(self.terms) == 1 else None

    @property
    def has_transport(self) -> bool:
        """Return whether transport problems are solved."""
        return any(term.name in TRANSPORT for term in self.terms)

    @property
    def counted(self) -> tuple[ScorerChoice, ...]:
        """Return the scorers, which count words, with a vector or without."""
        return tuple(term.scorer for term in self.terms if term.scorer)

    @property
    def compares_vectors(self) -> bool:
        """Return whether any term compares words by their vectors."""
        return any(term.scorer.kind.needs_vectors if term.scorer else term.name != PRIOR for term in self.terms)

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
    terms = _distinct(parse_term(term.strip()) for term in _NEXT_TERM.split(checked_text("a ranking", text)))
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


def resolve(text: str | None, gamma: float | None, own: RankingSpec) -> RankingSpec:
    """Return the ranking specified by `text`, by None or "auto" the collection's `own`, with `gamma` where given.

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
    return parse_term(typed).scorer if is_scorer(typed.partition(":")[0]) else None
