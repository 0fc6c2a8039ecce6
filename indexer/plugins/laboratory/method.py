"""The methods of an experiment: rankings, `random`, and mutual proximity; and the table of their figures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from moverank.indexer.errors import UsageError
from moverank.indexer.values.documents import GIVEN
from moverank.indexer.values.ranking_spec import (
    VECTOR,
    RankingSpec,
    own_ranking,
    parse_ranking,
    resolve,
)
from moverank.indexer.values.settings import Settings
from moverank.rerank.distance.mutual_proximity import KINDS
from moverank.rerank.words.term_rules import PARTS, option_of

RANDOM = "random"
_PROXIMITY = re.compile(r"(?P<before>[:,])proximity=(?P<kind>[^,+]*)(?P<after>,?)")


@dataclass(frozen=True, slots=True)
class Method:
    """One row: its `label`, and its `ranking`, None for a random one.

    `proximity` is the kind of mutual proximity of a ranking without transport; other rankings name it themselves.
    """

    label: str
    ranking: RankingSpec | None = None
    proximity: str | None = None

    @property
    def is_random(self) -> bool:
        """Return whether the method ranks at random."""
        return self.ranking is None

    @property
    def has_proximity(self) -> bool:
        """Return whether mutual proximity ranks."""
        return bool(self.proximity or (self.ranking and self.ranking.proximity))

    @property
    def uses_all_cores(self) -> bool:
        """Return whether a single ranking uses all cores: by distances of bags, or by distances of all pairs."""
        return bool(self.proximity or (self.ranking and self.ranking.distances))


def parse_method(text: str, own: RankingSpec | None = None) -> Method:
    """Parse one row; `own` is the ranking of the collection, which has its gamma and weights.

    Raises UsageError for an unknown name or option, and for an invalid value.
    """
    if text.strip() == RANDOM:
        return Method(text)
    found = _PROXIMITY.search(text)
    spec = _PROXIMITY.sub(lambda match: match["before"] if match["after"] else "", text).strip()
    fallback = own or own_ranking("", 0.0, "tf")
    if found is None or parse_ranking(spec).has_transport:
        return Method(text, resolve(text.strip(), None, fallback))
    kind = found["kind"]
    if kind not in KINDS:
        raise UsageError(f"proximity must be one of {', '.join(KINDS)}, not {kind!r}")
    if len(parse_ranking(spec).terms) > 1:
        raise UsageError(f"a sum has mutual proximity only by wmd or pwmd: {text!r}")
    return Method(text, resolve(spec, None, fallback), kind)


def baselines(own: RankingSpec, rule: str | None) -> tuple[str, ...]:
    """Return BM25 of words, and of terms by the first rule of the `own` ranking, or else by `rule`, if there is one."""
    rule = next((scorer.rule for scorer in own.counted if scorer.rule not in (None, PARTS)), rule)
    return ("bm25", f"bm25:{option_of(rule)}") if rule else ("bm25",)


def reference_row(named: str | None, methods: Sequence[Method], labels: Sequence[str]) -> str:
    """Return the row of `labels` that the others are tested against: the `named` row, or by default the usual one.

    By default it is BM25 with stems or n-grams, else without, else the first row: a stemmer's gain is not a ranking's
    gain. Raises UsageError for a name that is no row.
    """
    if named is not None and named not in labels:
        raise UsageError(f"the reference {named!r} is none of the methods: {', '.join(labels)}")
    scorers = [(each.label, each.ranking.single_scorer) for each in methods if each.ranking and not each.proximity]
    bm25 = ((label, scorer.rule in (None, PARTS)) for label, scorer in scorers if scorer and scorer.name == "bm25")
    rows = sorted((whole, labels.index(label)) for label, whole in bm25)
    return named or (labels[rows[0][1]] if rows else labels[0])


def compares_given(ranking: RankingSpec | None, settings: Settings, *, has_scores: bool = False) -> bool:
    """Return whether a ranking compares given vectors in a collection with these settings.

    With `has_scores`, the candidates have scores of their engine, for which the term `vector` stands.
    """
    if ranking is None or has_scores or settings.encoder != GIVEN:
        return False
    return any(term.name == VECTOR for term in ranking.terms)


def check_no_given(ranking: RankingSpec | None, settings: Settings, *, has_scores: bool = False) -> None:
    """Raise UsageError for a ranking that compares given vectors: experiments have words, and scores of candidates."""
    if compares_given(ranking, settings, has_scores=has_scores):
        raise UsageError(
            f"experiments compare words, not given vectors: {str(ranking)!r} has the term vector; rank by `search "
            "--queries --format trec`, and measure that run, or give it as --candidates: the term is then its score"
        )


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


Figure = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures by column name, in the order of the columns; None for a missing figure.

    `facts` describe what was measured (numbers of documents, queries, duplicates), `notes` are warnings. `higher` and
    `lower` name the columns in which the highest or the lowest figure is the best.
    """

    name: str
    rows: tuple[Mapping[str, Figure], ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    higher: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))
