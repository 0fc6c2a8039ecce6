"""The scorers by name: built-in scorers, and those of plug-ins and other packages."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.errors import ScorerError
from moverank.rerank.plug_ins import PlugIns
from moverank.rerank.scorers.bm25 import Bm25
from moverank.rerank.scorers.bow import Bow, Tfidf
from moverank.rerank.scorers.scorer import Scorer

SCORERS: Mapping[str, type[Scorer] | None] = MappingProxyType(
    {"bow": Bow, "tfidf": Tfidf, "bm25": Bm25, "pl2": None, "translation": None, "interpolation": None}
)
"""The classes of the own scorers by their names on the command line.

None: in the plug-in `methods`, which may have been removed.
"""
PLUG_INS = PlugIns[Scorer]("scorer", SCORERS, ("fit", "score"), ScorerError, ("ascending", "needs_vectors"))
"""All scorers that are installed."""
is_scorer, scorer_class, choose_scorer = PLUG_INS.has, PLUG_INS.of, PLUG_INS.choose
