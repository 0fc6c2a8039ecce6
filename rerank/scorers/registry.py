"""The scorers by name."""

from collections.abc import Mapping
from types import MappingProxyType

from rerank.errors import ScorerError
from rerank.options import check_options
from rerank.scorers.bm25 import Bm25
from rerank.scorers.bow import Bow
from rerank.scorers.interpolation import Interpolation
from rerank.scorers.pl2 import Pl2
from rerank.scorers.scorer import Scorer
from rerank.scorers.tfidf import Tfidf
from rerank.scorers.translation import Translation

_ALL: tuple[type[Scorer], ...] = (Bow, Tfidf, Bm25, Pl2, Translation, Interpolation)

SCORERS: Mapping[str, type[Scorer]] = MappingProxyType({scorer.name: scorer for scorer in _ALL})
"""Every scorer, by its name on the command line."""


def choose(name: str, options: Mapping[str, str]) -> type[Scorer]:
    """Return the scorer of that name, to be fitted with these options as typed.

    Raises ScorerError for a name, an option or a value that there is not, before any document is read.
    """
    if name not in SCORERS:
        raise ScorerError(f"there is no scorer {name!r}: choose {', '.join(SCORERS)}")
    scorer = SCORERS[name]
    check_options(name, scorer.options, options, ScorerError)
    return scorer
