"""The nearest pairs of documents of a collection, and the graph of the k nearest neighbours of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.files.checksums import checksum
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.differences import Facts, FactsIn
from moverank.indexer.search.document_words import row_words
from moverank.indexer.search.near_documents import PairedDocument, Pairs
from moverank.indexer.search.pair_search import (
    ComparedBags,
    FoundPairs,
    SearchOf,
    pairs_by_searches,
    pairs_of_bags,
)
from moverank.indexer.search.phases import Search, answer_many
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.indexer.values.pair_options import PairSearch
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.search_options import Progress
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import inverse_document_frequency, with_factors
from moverank.rerank.distance.near_words import NearWords


def check_pair_ranking(ranking: RankingSpec, *, far: bool) -> None:
    """Raise UsageError for a ranking that is not the same from both sides, or not exact.

    `far`: words without a vector are far from all others, so they need weights.
    """
    if not is_wmd(ranking):
        raise UsageError(f"such pairs are compared by wmd or pwmd, not by {ranking}: both sides count alike there")
    if far and not ranking.can_have_far_words:
        raise UsageError(
            f"words without a vector have no weight by weights={ranking.weights}: ignore them, or choose tf or tfidf"
        )


def is_wmd(ranking: RankingSpec) -> bool:
    """Return whether a ranking is WMD itself; UsageError if it has no totals or distances."""
    if ranking.single_scorer:
        raise UsageError(f"pairs are compared by wmd or pwmd, or a sum, not by {ranking}: a score is no distance")
    return ranking.plain in ("wmd", "pwmd")


@dataclass(frozen=True, slots=True, eq=False)
class PairSource:
    """The documents of `view` whose pairs are compared by `ranking`, and their facts to show.

    `keys`, and `named` with titles and words without a vector, are by id. `far`: words without a vector are far from
    all others. `allowed` are the ids of documents considered, None: all; `why_empty` says why there are none.
    `search_of` compares documents by a sum, None: only WMD compares them. `size` counts what is shown.
    """

    view: View
    ranking: RankingSpec
    keys: Callable[[Sequence[int]], Mapping[int, str]]
    named: Callable[[Sequence[int]], Mapping[int, tuple[str, str, Sequence[str]]]]
    facts: FactsIn
    far: bool = False
    allowed: NDArray[np.int64] | None = None
    why_empty: str | None = None
    search_of: SearchOf | None = None
    size: AnswerSize = field(default_factory=lambda: AnswerSize(None))

    def pairs(self, search: PairSearch) -> Pairs:
        """Find the nearest pairs of documents, with their facts to show; see `find`."""
        found = self.find(search)
        return self.shown(found, self.facts(found.documents))

    def find(self, search: PairSearch) -> FoundPairs:
        """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them.

        The distance is WMD with the gamma and the weights of the ranking, or a total. Raises UsageError for a ranking
        that cannot compare pairs.
        """
        if self.search_of is None or self.far or is_wmd(self.ranking):
            check_pair_ranking(self.ranking, far=self.far)
            documents = self._compared()
            if self.allowed is not None:
                documents = documents.take(np.flatnonzero(np.isin(documents.ids, self.allowed)))
            weights = self.ranking.gamma, self.ranking.weights, {part.title_weight for part in self.view.segments}
            compared = checksum(repr((str(self.ranking), *weights, self.far)).encode() + documents.ids.tobytes())

            def near_words(*of: Any) -> NearWords:
                return self.view.computed.get(("near words", compared), lambda: NearWords.of(*of))

            return pairs_of_bags(documents, search, self.view.directory if search.resumed else None, near_words)
        ids = np.sort(self.view.scores.ids)
        return pairs_by_searches(
            ids if self.allowed is None else ids[np.isin(ids, self.allowed)], self.search_of, search
        )

    def find_of(self, new: NDArray[np.int64], search: PairSearch) -> tuple[FoundPairs, NDArray[np.int64]]:
        """Find the pairs of one of the documents `new` with any other one whose distance is at most `within`.

        `first` are new documents. A new document is a copy if a new one of a smaller id has the same bag and states the
        same; a copy is in no pair, since its distances are the same. The ids of copies are returned, too.
        """
        documents = self._compared()
        ids, bags = documents.ids, documents.bags
        rows, equal = np.flatnonzero(np.isin(ids, new)), dict[bytes, list[int]]()
        for row in rows.tolist():
            equal.setdefault(bags[row].words.tobytes() + bags[row].weights.tobytes(), []).append(row)
        several = [row for group in equal.values() if len(group) > 1 for row in group]
        facts = self.facts(ids[several].tolist())
        first_of = dict[tuple[bytes, frozenset[str]], int]()
        for bag, group in equal.items():
            for row in group:
                first_of.setdefault((bag, frozenset(facts[int(ids[row])].stated if len(group) > 1 else ())), row)
        once = np.array(sorted(first_of.values()), np.int64)
        order = np.append(once, np.setdiff1d(np.arange(len(ids)), rows))
        found = pairs_of_bags(documents.take(order), search, count=len(once))
        return replace(found, ids=np.sort(ids[order])), ids[np.setdiff1d(rows, once)]

    def shown(self, found: FoundPairs, facts: Mapping[int, Facts]) -> Pairs:
        """Return pairs with keys, titles, words without a vector, and what each document states."""
        documents = {id_: PairedDocument(*own, *facts[id_]) for id_, own in self.named(found.documents).items()}
        characters = {id_: one.characters for id_, one in documents.items()}
        self.size.add_facts(sum(characters[id_] for ids in (found.first, found.second) for id_ in ids.tolist()))
        return Pairs.of(found, documents, str(self.ranking), self.why_empty)

    def _compared(self) -> ComparedBags:
        """Return all documents in the order of their ids; words without a vector have a place if they are far."""
        if self.far:
            return _all_words(self.view, self.ranking)
        joined = self.view.all_bags(self.ranking.gamma, self.ranking.weights)
        return ComparedBags(joined.ids, joined.bags, joined.vectors).take(np.argsort(joined.ids))


def _all_words(view: View, ranking: RankingSpec) -> ComparedBags:
    """Return all documents in the order of their ids, with the words without a vector."""
    counts, statistics = view.scores.every_document(ranking.gamma)
    if counts.word_vectors is None or not len(view.scores.ids):
        return ComparedBags(np.empty(0, np.int64), Bags.of([]), np.empty((0, view.dim), np.float32), np.empty(0, bool))
    factors = np.ones(len(statistics.document_frequencies))
    if ranking.weights == "tfidf":
        factors = inverse_document_frequency(statistics.document_frequencies, statistics.documents)
    bags = with_factors(Bags(counts.starts, counts.terms, counts.counts.astype(np.float64)), factors)
    own = counts.word_vectors
    return ComparedBags(view.scores.ids, bags, own.vectors, own.known).take(np.argsort(view.scores.ids))


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Keys of the n documents that have a bag, and for each the k nearest others, nearest first.

    `places` (n, k) int64 are the neighbours' positions in `keys`, `distances` (n, k) float64 their distances; with
    fewer than k others, the rest are -1 and infinity.
    """

    keys: tuple[str, ...]
    places: NDArray[np.int64]
    distances: NDArray[np.float64]


def find_neighbours(reader: Reader, view: View, query: Query, progress: Progress) -> Neighbours:
    """Search with every document of `view` that has a bag; `query` has the options, `reader` sees the same state.

    `progress` is called after each search.
    """
    documents = [
        (part, row, id_)
        for part in view.segments
        for row, id_ in zip(np.flatnonzero(part.live).tolist(), part.segment.ids[part.live].tolist(), strict=True)
    ]
    searches = (
        Search(view, replace(query, words=row_words(part, row, query.ranking), without=id_, partial=False))
        for part, row, id_ in documents
    )
    ids = np.array([id_ for _, _, id_ in documents], np.int64)
    order = np.argsort(ids)
    increasing = ids[order]
    places, distances = np.full((len(ids), query.k), -1), np.full((len(ids), query.k), np.inf)
    for position, (_, outcome) in enumerate(answer_many(searches)):
        if outcome is not None:
            found = len(outcome.ids)
            places[position, :found] = order[np.searchsorted(increasing, outcome.ids)]
            distances[position, :found] = outcome.distances
        progress("Finding neighbours", position + 1, len(ids), "documents")
    shown = reader.shown(ids.tolist())
    return Neighbours(tuple(shown[id_].key for id_ in ids.tolist()), places, distances)
