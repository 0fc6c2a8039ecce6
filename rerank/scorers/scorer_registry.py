"""The scorers by name: built-in scorers and plug-ins of other packages."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.errors import ScorerError
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
PLUG_INS = PlugIns[Scorer]("scorer", SCORERS, ("fit", "score"), ScorerError, ("ascending", "needs_vectors"))
"""The scorers of other packages."""
is_scorer, scorer_class, choose_scorer = PLUG_INS.has, PLUG_INS.of, PLUG_INS.choose
