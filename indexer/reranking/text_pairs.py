"""The nearest pairs of counted texts, and the texts that are kept if no two may be near each other."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from moverank.indexer.options import KeepOrder, Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.deduplication import Deduplication, deduplicated
from moverank.indexer.search.pairs import FoundPairs, Pair, Pairs, check_pair_ranking, pairs_of_bags


def pairs_of_texts(
    texts: Texts,
    titles: Sequence[str],
    ranking: RankingSpec,
    within: float,
    k: int | None,
    directory: Path | None,
    progress: Progress,
    *,
    far: bool = False,
) -> Pairs:
    """Find the nearest pairs of `texts` (n,), whose titles are `titles` (n,), by WMD; see `find_pairs`.

    A file in `directory` lets an interrupted run continue, None: it begins again. Raises UsageError for a ranking
    that is not WMD.
    """
    return _shown(_found(texts, ranking, within, k, directory, progress, far=far), texts, titles, ranking)


def deduplicated_texts(
    texts: Texts,
    titles: Sequence[str],
    ranking: RankingSpec,
    within: float,
    keep: KeepOrder,
    directory: Path | None,
    progress: Progress,
    *,
    far: bool = False,
) -> Deduplication:
    """Choose the texts to keep, the first or the longest ones; for the arguments see `pairs_of_texts`."""
    found = _found(texts, ranking, within, None, directory, progress, far=far)
    lengths = texts.counts.take(found.ids).lengths(texts.title_weight)
    order = np.argsort(-lengths, kind="stable") if keep.by == "longest" else np.arange(len(found.ids))
    removals, kept = deduplicated(found, order)
    return Deduplication.of(
        _shown(removals, texts, titles, ranking), [texts.keys[row] for row in kept.tolist()], within
    )


def _found(
    texts: Texts,
    ranking: RankingSpec,
    within: float,
    k: int | None,
    directory: Path | None,
    progress: Progress,
    *,
    far: bool,
) -> FoundPairs:
    """Return the pairs of rows of `texts`; see `pairs_of_texts`."""
    check_pair_ranking(ranking, far=far)
    factors = texts.factors(ranking.weights)
    rows, bags = texts.bags_of_all_words(ranking.gamma, factors) if far else texts.bags(ranking.gamma, factors)
    vectors, known = texts.vocabulary.vectors, texts.vocabulary.known if far else None
    return pairs_of_bags(rows, bags, vectors, within, k, directory, progress, known)


def _shown(found: FoundPairs, texts: Texts, titles: Sequence[str], ranking: RankingSpec) -> Pairs:
    """Return pairs of rows with keys, titles and words without a vector."""
    keys, unknown = (
        texts.keys,
        {row: texts.unknown_words(row) for row in {*found.first.tolist(), *found.second.tolist()}},
    )
    pairs = tuple(
        Pair.of((keys[one], keys[other]), (titles[one], titles[other]), distance, unknown[one], unknown[other])
        for one, other, distance in zip(
            found.first.tolist(), found.second.tolist(), found.distances.tolist(), strict=True
        )
    )
    return Pairs(pairs, found.compared, found.counts, str(ranking))
