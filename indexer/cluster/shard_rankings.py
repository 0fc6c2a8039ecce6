"""Which rankings shards can compute together."""

from moverank.indexer.errors import UsageError
from moverank.indexer.given_vectors import GIVEN
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import VECTOR
from moverank.indexer.settings import Settings

_INSTEAD = "rank by distances, cosine, word counts (bm25, tfidf, ...) or fields, or put all documents in one collection"


def checked_ranking(ranking: RankingSpec, settings: Settings) -> RankingSpec:
    """Return a ranking; UsageError for one that depends on all documents by more than statistics of words.

    Encoders are fitted to the documents of one collection, mutual proximity compares with a sample of them, and some
    scorers compare the words of all.
    """
    for term in ranking.terms:
        fitted = term.encoder is not None or (term.name == VECTOR and settings.encoder != GIVEN)
        compares = term.scorer is not None and term.scorer.kind.needs_vectors
        if fitted or compares or term.proximity:
            raise UsageError(f"shards cannot rank by {term}: {_INSTEAD}")
    return ranking
