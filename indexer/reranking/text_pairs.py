"""The nearest pairs of counted texts."""

from collections.abc import Sequence
from pathlib import Path

from moverank.indexer.options import Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.pairs import Pair, Pairs, check_pair_ranking, pairs_of_bags


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
    check_pair_ranking(ranking, far=far)
    factors = texts.factors(ranking.weights)
    rows, bags = texts.bags_of_all_words(ranking.gamma, factors) if far else texts.bags(ranking.gamma, factors)
    run = texts.digest + repr((str(ranking), ranking.gamma, ranking.weights, within, k, far)).encode()
    vectors, known = texts.vocabulary.vectors, texts.vocabulary.known if far else None
    found = pairs_of_bags(rows, bags, vectors, within, k, directory, run, progress, known)
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
