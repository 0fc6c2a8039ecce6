"""Scorers rank documents by word counts, segment by segment, with the statistics of the whole collection."""

from moverank.rerank.scorers.merged_terms import merged_terms
from moverank.rerank.scorers.normalisers import translation_normalisers
from moverank.rerank.scorers.postings import Postings
from moverank.rerank.scorers.scorer import Scorer, Statistics, TermCounts, TermQuery
from moverank.rerank.scorers.scorer_registry import SCORERS, choose, is_scorer, named
from moverank.rerank.scorers.word_vectors import WordVectors

__all__ = [
    "SCORERS",
    "Postings",
    "Scorer",
    "Statistics",
    "TermCounts",
    "TermQuery",
    "WordVectors",
    "choose",
    "is_scorer",
    "merged_terms",
    "named",
    "translation_normalisers",
]
