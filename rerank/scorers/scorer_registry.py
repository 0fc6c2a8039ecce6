"""The scorers by name."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import check_options, did_you_mean
from moverank.rerank.scorers.bm25 import Bm25
from moverank.rerank.scorers.bow import Bow
from moverank.rerank.scorers.interpolation import Interpolation
from moverank.rerank.scorers.pl2 import Pl2
from moverank.rerank.scorers.scorer import Scorer
from moverank.rerank.scorers.tfidf import Tfidf
from moverank.rerank.scorers.translation import Translation

_ALL: tuple[type[Scorer], ...] = (Bow, Tfidf, Bm25, Pl2, Translation, Interpolation)

SCORERS: Mapping[str, type[Scorer]] = MappingProxyType({scorer.name: scorer for scorer in _ALL})
"""The scorer classes by their names on the command line."""


def choose(name: str, options: Mapping[str, str]) -> type[Scorer]:
    """Return the scorer class of that name, and validate the `options` of its `fit`.

    Raises ScorerError for an unknown name, an unknown option and an invalid value, before any document is read.
    """
    if name not in SCORERS:
        raise ScorerError(f"there is no scorer {name!r}{did_you_mean(name, SCORERS)}: choose {', '.join(SCORERS)}")
    scorer = SCORERS[name]
    check_options(name, scorer.options, options, ScorerError)
    return scorer
