"""The nearest pairs of counted texts, and the texts that are kept if no two may be near each other."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from moverank.indexer.options import KeepOrder, Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.deduplication import Deduplication, separated
from moverank.indexer.search.differences import Facts
from moverank.indexer.search.pairs import FoundPairs, PairedDocument, Pairs, check_pair_ranking, pairs_of_bags

FactsOf = Callable[[Sequence[str]], Mapping[str, Facts]]
"""Returns what the documents with some keys state, and how they begin."""


def pairs_of_texts(
    texts: Texts,
    titles: Sequence[str],
    ranking: RankingSpec,
    within: float,
    k: int | None,
    directory: Path | None,
    progress: Progress,
    facts_of: FactsOf,
    *,
    far: bool = False,
) -> Pairs:
    """Find the nearest pairs of `texts` (n,), whose titles are `titles` (n,), by WMD; see `find_pairs`.

    A file in `directory` lets an interrupted run continue, None: it begins again. `facts_of` reads what texts state and
    begin with. Raises UsageError for a ranking that is not WMD.
    """
    found = _found(texts, ranking, within, k, directory, progress, far=far)
    return _shown(found, texts, titles, ranking, _facts(found, texts, facts_of))


def deduplicated_texts(
    texts: Texts,
    titles: Sequence[str],
    ranking: RankingSpec,
    within: float,
    keep: KeepOrder,
    directory: Path | None,
    progress: Progress,
    facts_of: FactsOf,
    *,
    far: bool = False,
) -> Deduplication:
    """Choose the texts to keep, the first or the longest ones; for the arguments see `pairs_of_texts`."""
    found = _found(texts, ranking, within, None, directory, progress, far=far)
    lengths = texts.counts.take(found.ids).lengths(texts.title_weight)
    order = np.argsort(-lengths, kind="stable") if keep.by == "longest" else np.arange(len(found.ids))
    facts = _facts(found, texts, facts_of)
    removals, kept, differing = separated(found, order, facts, differing=keep.differing)
    copies, others = (_shown(each, texts, titles, ranking, facts) for each in (removals, differing))
    return Deduplication.of(copies, [texts.keys[row] for row in kept.tolist()], within, others)


def _facts(found: FoundPairs, texts: Texts, facts_of: FactsOf) -> dict[int, Facts]:
    """Return the facts of the rows of all pairs."""
    rows = found.documents
    facts = facts_of([texts.keys[row] for row in rows])
    return {row: facts[texts.keys[row]] for row in rows}


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


def _shown(
    found: FoundPairs, texts: Texts, titles: Sequence[str], ranking: RankingSpec, facts: Mapping[int, Facts]
) -> Pairs:
    """Return pairs of rows with keys, titles, words without a vector, and facts."""
    paired = {
        row: PairedDocument(texts.keys[row], titles[row], texts.unknown_words(row), *facts[row])
        for row in found.documents
    }
    return Pairs.of(found, paired, str(ranking))
