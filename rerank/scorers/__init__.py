"""Scorers rank documents by word counts, segment by segment, with the statistics of the whole collection."""

from moverank.rerank.scorers.postings import Postings as Postings
from moverank.rerank.scorers.scorer import Scorer as Scorer
from moverank.rerank.scorers.scorer import Statistics as Statistics
from moverank.rerank.scorers.scorer import SummingScorer as SummingScorer
from moverank.rerank.scorers.scorer import TermCounts as TermCounts
from moverank.rerank.scorers.scorer import TermQuery as TermQuery
from moverank.rerank.scorers.scorer import has_sums as has_sums
from moverank.rerank.scorers.scorer_registry import SCORERS as SCORERS
from moverank.rerank.scorers.scorer_registry import choose_scorer as choose_scorer
from moverank.rerank.scorers.scorer_registry import is_scorer as is_scorer
from moverank.rerank.scorers.scorer_registry import scorer_class as scorer_class
from moverank.rerank.scorers.word_vectors import WordVectors as WordVectors
