"""`tune`: the ranking that is best on a user's judgments, found by coordinate search and measured by cross-validation.

The search computes sums from components, with RWMD in the place of WMD, so that hundreds of settings take seconds; the
figures before and after are those of certified searches by the rankings themselves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.components import Components, Weighting, components_of
from moverank.indexer.evaluation.method import Method
from moverank.indexer.evaluation.trial import Trial, best_of, placing_relevant
from moverank.indexer.ranking_spec import RankingSpec, own_ranking, resolve
from moverank.indexer.ranking_term import Weights
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.settings import DEFAULT_K1
from moverank.rerank.bags.title_rank import TITLE
from moverank.rerank.evaluation.judgments import GradedRanking, Judgments, join_run
from moverank.rerank.evaluation.measures import evaluate_measures, measure
from moverank.rerank.evaluation.selection import folds

Figures = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Setting:
    """A ranking of the family that is tuned, and the collection's gamma and title weight that go with it."""

    gamma: float = 0.0
    title_weight: int = 1
    weights: Weights = "tfidf"
    stem: str | None = "english"
    mu: float = 20.0
    cover: float = 0.5
    bm25: float = 2.0
    cosine: float = 1.0

    @property
    def rank(self) -> str:
        """Return the specification of the ranking; its gamma is that of the collection."""
        mu = f"mu={self.mu:g}," if self.mu else ""
        stem = f",stem={self.stem}" if self.stem else ""
        terms = [f"{'pwmd' if self.gamma else 'wmd'}:{mu}weights={self.weights}"]
        for weight, term in (
            (self.cover, "cover"),
            (self.bm25, f"bm25:k1={DEFAULT_K1}{stem}"),
            (self.cosine, "cosine"),
        ):
            if weight:
                terms.append(f"{weight:g}*{term}" if weight != 1 else term)
        return "+".join(terms)

    @property
    def ranking(self) -> RankingSpec:
        """Return the ranking, with its gamma."""
        return resolve(self.rank, None, own_ranking("", self.gamma, self.weights))

    @property
    def weighting(self) -> Weighting:
        """Return what determines the components."""
        return Weighting(self.gamma, self.weights, self.title_weight, self.stem)


GRID: Mapping[str, Sequence[object]] = {
    "bm25": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "cosine": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0),
    "cover": (0.0, 0.25, 0.5, 1.0, 1.5),
    "mu": (0.0, 5.0, 20.0, 50.0, 100.0),
    "weights": ("tf", "tfidf"),
    "title_weight": (1, 2, 3, 5),
    "gamma": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5),
    "stem": (None, "english"),
}
"""The values of each coordinate; cheap ones first: the last four need new components."""

_ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """The result: figures (q,) of certified rankings before and after, and the chosen setting.

    `held_out` are those of settings chosen on the other folds, `after` those of `setting`, chosen on all queries.
    """

    queries: tuple[str, ...]
    before: Figures
    held_out: Figures
    after: Figures
    setting: Setting

    @property
    def is_better(self) -> bool:
        """Return whether the result is better than before, also on queries that were not used to choose it."""
        return bool(min(self.held_out.mean(), self.after.mean()) > self.before.mean())


class Tuner:
    """Tunes the ranking of `trial` by `judgments` and the measure `name`, over the first `cutoff` documents.

    `own` is the collection's ranking. `language` is that of stems. `cache` is a directory for components, so that an
    interrupted run continues; None if nothing is cached. `limit` is the number of queries that the search takes into
    account.
    """

    def __init__(
        self,
        trial: Trial,
        judgments: Judgments,
        name: str,
        own: RankingSpec,
        *,
        cache: Path | None,
        cutoff: int,
        limit: int,
    ) -> None:
        self._trial, self._judgments, self._measure, self._own = trial, judgments, name, own
        self._cache, self._cutoff = cache, cutoff
        self.queries = tuple(query for query in judgments.queries if query in trial.queries.row_of)
        self._components: dict[Weighting, Components] = {}
        self._figures: dict[Setting, Figures] = {}
        chosen = np.random.default_rng(0).permutation(len(self.queries))[:limit]
        self._sample = np.sort(chosen)
        rows = [trial.queries.row_of[self.queries[i]] for i in self._sample.tolist()]
        self._sampled, self._sampled_rows = trial.queries.take(rows), trial.own_rows[rows]

    def run(self, start: Setting, count: int, language: str | None) -> Tuned:
        """Return the setting found from `start`, and its figures by `count` folds; `language` is that of stems."""
        grid = self._grid(language)
        fold = folds(len(self.queries), count)
        sampled = fold[self._sample]
        by_fold = [self._search(start, grid, sampled != own) for own in range(count)]
        best = self._search(start, grid, np.ones(len(sampled), bool))
        before = self._certified(self._own, self._trial.pool.title_weight)
        held_out = np.empty(len(self.queries))
        for own, setting in enumerate(by_fold):
            chosen = np.flatnonzero(fold == own)
            held_out[chosen] = self._certified(setting.ranking, setting.title_weight, chosen)
        after = self._certified(best.ranking, best.title_weight)
        return Tuned(self.queries, before, held_out, after, best)

    def _grid(self, language: str | None) -> dict[str, Sequence[object]]:
        """Return the values of the coordinates that make a difference for these documents."""
        ranks = self._trial.pool.counts.ranks
        grid = {**GRID, "stem": (None, language) if language else (None,)}
        if not np.any(ranks > 0):
            grid["gamma"] = (0.0,)
        if not np.any(ranks == TITLE):
            grid["title_weight"] = (1,)
        return grid

    def _search(self, start: Setting, grid: Mapping[str, Sequence[object]], used: NDArray[np.bool_]) -> Setting:
        """Return the best setting for the sampled queries that are `used` (s,), one coordinate at a time.

        A coordinate changes only if the gain is at least its standard error: smaller ones are mostly chance.
        """
        best = start
        for _ in range(_ROUNDS):
            before = best
            for name, values in grid.items():
                candidates = [replace(best, **{name: value}) for value in values]  # type: ignore[arg-type]  # of that field
                gains = [(self.estimated(each) - self.estimated(best))[used] for each in candidates]
                means = [float(gain.mean()) for gain in gains]
                top = int(np.argmax(means))
                if means[top] > max(1e-9, float(gains[top].std() / np.sqrt(len(gains[top])))):
                    best = candidates[top]
            if best == before:
                break
        return best

    def estimated(self, setting: Setting) -> Figures:
        """Return the figures (s,) of the sampled queries by a setting, from components."""
        if setting not in self._figures:
            weighting = setting.weighting
            if weighting not in self._components:
                self._components[weighting] = self._load(weighting)
            found = self._components[weighting]
            totals = found.totals(setting.mu, setting.cover, setting.cosine, setting.bm25)
            in_pool = np.flatnonzero(self._sampled_rows >= 0)
            totals[in_pool, self._sampled_rows[in_pool]] = np.inf
            function, keys = measure(self._measure), self._trial.pool.keys
            figures = []
            for query, row in zip(self._sampled.keys, totals, strict=True):
                order = _first(row, self._cutoff)
                ranked = [keys[i] for i in order.tolist() if np.isfinite(row[i])]
                figures.append(function(GradedRanking.of(ranked, self._judgments.grades[query])))
            self._figures[setting] = np.array(figures)
        return self._figures[setting]

    def _load(self, weighting: Weighting) -> Components:
        pool, queries = self._trial.pool, self._sampled
        total = hashlib.sha256(pool.digest + queries.digest + repr(asdict(weighting)).encode())
        total.update(self._sampled_rows.astype("<i8").tobytes())
        path = self._cache and self._cache / f"components-{total.hexdigest()[:24]}.npz"
        return components_of(weighting, pool, queries, self._sampled_rows, path, self._trial.progress)

    def _certified(self, ranking: RankingSpec, title_weight: float, rows: NDArray[np.int64] | None = None) -> Figures:
        """Return the figures of queries, `rows` (m,) of all, by a ranking with this title weight."""
        chosen = [self.queries[i] for i in (range(len(self.queries)) if rows is None else rows.tolist())]
        query_rows = [self._trial.queries.row_of[query] for query in chosen]
        pool, queries = (
            _titled(self._trial.pool, title_weight),
            _titled(self._trial.queries.take(query_rows), title_weight),
        )
        trial = Trial(pool, queries, self._trial.own_rows[query_rows], self._trial.cache, self._trial.progress)
        best = best_of(Method(str(ranking), ranking), placing_relevant(trial, self._judgments), self._cutoff)
        run = {query: [pool.keys[row] for row in found.tolist()] for query, found in zip(chosen, best, strict=True)}
        judged = Judgments({query: self._judgments.grades[query] for query in chosen})
        return evaluate_measures(join_run(judged, run).values(), [self._measure])[self._measure]


def _titled(texts: Texts, weight: float) -> Texts:
    return replace(texts, title_weight=weight)


def _first(row: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return the indices of the `count` smallest values, in order."""
    if count < len(row):
        some = np.argpartition(row, count)[:count]
        some.sort()
        return some[np.argsort(row[some], kind="stable")]
    return np.argsort(row, kind="stable")
