"""The scorers by name: built-in scorers and plug-ins of other packages."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import check_options, did_you_mean
from moverank.rerank.plug_ins import PlugIns
from moverank.rerank.scorers.bm25 import Bm25
from moverank.rerank.scorers.bow import Bow, Tfidf
from moverank.rerank.scorers.interpolation import Interpolation
from moverank.rerank.scorers.pl2 import Pl2
from moverank.rerank.scorers.scorer import Scorer
from moverank.rerank.scorers.translation import Translation

_ALL: tuple[type[Scorer], ...] = (Bow, Tfidf, Bm25, Pl2, Translation, Interpolation)

SCORERS: Mapping[str, type[Scorer]] = MappingProxyType({scorer.name: scorer for scorer in _ALL})
"""The scorer classes by their names on the command line."""


PLUG_INS = PlugIns[Scorer]("scorer", ("fit", "score"), ScorerError, ("options", "ascending", "needs_vectors"))
"""The scorers of other packages."""


def is_scorer(name: str) -> bool:
    """Return whether there is a scorer of that name."""
    return name in SCORERS or name in PLUG_INS.names()


def scorer_class(name: str) -> type[Scorer]:
    """Return the scorer class of that name; no package replaces a built-in one.

    Raises ScorerError for an unknown name, and for a class that cannot be loaded.
    """
    found = SCORERS.get(name) or PLUG_INS.named(name)
    if found is None:
        names = (*SCORERS, *PLUG_INS.names())
        guess = did_you_mean(name, names)
        raise ScorerError(
            f"there is no scorer {name!r}{guess}: choose {', '.join(names)}, or install the package that provides it"
        )
    return found


def choose_scorer(name: str, options: Mapping[str, str]) -> type[Scorer]:
    """Return the scorer class of that name, and validate the `options` of its `fit`.

    Raises ScorerError for an unknown name, an unknown option and an invalid value, before any document is read.
    """
    scorer = scorer_class(name)
    check_options(name, scorer.options, options, ScorerError)
    return scorer
