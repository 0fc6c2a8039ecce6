"""The terms of the default ranking for every query and document, from which sums are computed without a search."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.cached_arrays import read_arrays, write_arrays
from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import RankingSpec, own_ranking, resolve
from moverank.indexer.ranking_term import Weights
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.reranking.search_pool import SearchPool
from moverank.indexer.search.known_parts import known_parts
from moverank.indexer.search.query import Query
from moverank.indexer.search.sum_weights import typical_distance
from moverank.indexer.search.view import View
from moverank.indexer.settings import DEFAULT_K1
from moverank.rerank.distance.relaxed import sides_floor
from moverank.rerank.runtime.look_ahead import map_ahead

_Costs = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Costs (q, n) of each term, in the units of a sum, and the lengths (n,) of the documents.

    RWMD stands for WMD: it is a tight lower bound, and needs no transport problem. A document that a term cannot rank
    costs 1.
    """

    rwmd: _Costs
    cover: _Costs
    cosine: _Costs
    bm25: _Costs
    lengths: _Costs

    def totals(self, mu: float, cover: float, cosine: float, bm25: float) -> _Costs:
        """Return the totals (q, n) of the sum with these weights and this `mu`."""
        share = self.lengths / (self.lengths + np.float32(mu or 1e-9))
        totals: _Costs = share * self.rwmd + (1 - share) + np.float32(cover) * self.cover
        totals += np.float32(cosine) * self.cosine + np.float32(bm25) * self.bm25
        return totals


@dataclass(frozen=True, slots=True)
class Weighting:
    """What determines the components: gamma, word weights, title weight, and the language of stems or None."""

    gamma: float
    weights: Weights
    title_weight: int
    stem: str | None

    @property
    def ranking(self) -> RankingSpec:
        """Return a ranking that has all terms."""
        stem = f",stem={self.stem}" if self.stem else ""
        own = own_ranking("", self.gamma, self.weights)
        return resolve(f"{'pwmd' if self.gamma else 'wmd'}+cover+cosine+bm25:k1={DEFAULT_K1}{stem}", None, own)


def components_of(
    weighting: Weighting,
    pool: Texts,
    queries: Texts,
    own_rows: NDArray[np.int64],
    cache: Path | None,
    progress: Progress,
) -> Components:
    """Return the components of `queries` and `pool`, from the file `cache` or computed and stored there.

    `own_rows` (q,) are the rows of the queries themselves, -1 for none. `cache` is None if nothing is cached.
    `progress` is called after each query.
    """
    stored = _read(cache, (len(queries), len(pool))) if cache else None
    if stored is not None:
        return stored
    weighted = replace(pool, title_weight=float(weighting.title_weight))
    asked = replace(queries, title_weight=float(weighting.title_weight))
    found = _computed(weighting.ranking, SearchPool(weighted), asked, own_rows, progress)
    if cache:
        cache.parent.mkdir(exist_ok=True)
        write_arrays(cache, {field.name: getattr(found, field.name) for field in fields(found)})
    return found


def _read(cache: Path, shape: tuple[int, int]) -> Components | None:
    """Return stored components of this shape; None if the file is missing, damaged, or of other arrays."""
    arrays = read_arrays(cache)
    if arrays is None or arrays.keys() != {field.name for field in fields(Components)}:
        return None
    stored = Components(**arrays)
    return stored if stored.rwmd.shape == shape else None


def _computed(
    ranking: RankingSpec, search: SearchPool, queries: Texts, own_rows: NDArray[np.int64], progress: Progress
) -> Components:
    view, rows = search.view, search.rows
    n, lengths = len(rows), np.ones(len(rows), np.float32)
    for part in view.segments:
        lengths[rows[np.searchsorted(search.ids, part.segment.ids)]] = part.lengths
    costs = np.ones((4, len(queries), n), np.float32)

    def work(numbered: tuple[int, Query | str]) -> None:
        number, query = numbered
        if isinstance(query, str):
            return
        for i, (ids, values) in enumerate(_costs_of(view, query)):
            costs[i, number, rows[np.searchsorted(search.ids, ids)]] = values

    asked = enumerate(search.queries(ranking, queries, 1, own_rows))
    for done, _ in enumerate(map_ahead(work, asked, initialises=lambda item: not isinstance(item[1], str)), start=1):
        progress("Comparing", done, len(queries), "queries")
    rwmd, cover, cosine, bm25 = costs
    return Components(rwmd, cover, cosine, bm25, lengths)


def _costs_of(view: View, query: Query) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield ids and costs of RWMD, cover, cosine and BM25."""
    nothing = np.empty(0, np.int64), np.empty(0)
    if len(query.words.weights) and view.segments:
        (part,) = view.segments
        bags = part.bags(np.arange(len(part.segment.ids)), query.ranking.gamma, query.ranking.weights)
        sides = sides_floor(query.words.over(part.segment.word_ids), bags, part.segment.vectors)
        typical = typical_distance(view, query)
        yield part.segment.ids, np.maximum(*sides) / typical
        yield part.segment.ids, sides.query / typical
    else:
        yield from (nothing, nothing)
    for part_known in known_parts(view, query):
        yield part_known.ids, part_known.costs
