"""The words of a query that have no effect on a ranking."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.search.term_scores import TermScores


def ignored_words(
    texts: Sequence[str],
    known: AbstractSet[str],
    ranking: RankingSpec,
    occurring: Callable[[Sequence[str]], Iterable[str]],
    scores: TermScores,
) -> tuple[str, ...]:
    """Return those of the words `texts` that neither a vector nor a document gives a meaning.

    `known` are those with a vector; `occurring` returns those of some words that are in a document, and `scores` are
    of the same documents.
    """
    counted = set(occurring(texts)) if any(not term.stem for term in ranking.counted) else set[str]()
    for term in ranking.counted:
        counted |= scores.stems(term.stem).known(texts) if term.stem else set()
    compared = known if ranking.compares_vectors else set[str]()
    return tuple(word for word in texts if word not in counted and word not in compared)
