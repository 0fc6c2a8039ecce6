"""Rankers by word counts, fitted segment by segment with the statistics of the whole collection."""

from rerank.scorers.normalisers import translation_normalisers
from rerank.scorers.registry import SCORERS, choose
from rerank.scorers.scorer import Scorer, Statistics, TermCounts, TermQuery
from rerank.scorers.word_vectors import WordVectors

__all__ = [
    "SCORERS",
    "Scorer",
    "Statistics",
    "TermCounts",
    "TermQuery",
    "WordVectors",
    "choose",
    "translation_normalisers",
]
