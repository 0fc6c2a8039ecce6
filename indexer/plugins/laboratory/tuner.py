"""`tune`: the ranking that is best on a user's judgments, found by coordinate search and measured by cross-validation.

The search computes sums from components, with RWMD in the place of WMD, so that hundreds of settings take seconds; the
figures before and after come from certified searches by the rankings themselves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import read_arrays, write_arrays
from moverank.indexer.plugins.laboratory.method import Method, baselines
from moverank.indexer.plugins.laboratory.trial import Trial, best_of, placing_relevant, run_of
from moverank.indexer.reranking.pool import Costs, PoolQueries, SearchPool
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.values.ranking_spec import VECTOR, RankingSpec, Weights, own_ranking, parse_ranking, resolve
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import DEFAULT_K1
from moverank.indexer.values.word_factors import usable_weights
from moverank.rerank.bags.bag import TITLE
from moverank.rerank.evaluation.knn import folds
from moverank.rerank.evaluation.measures import Judgments, evaluate_measures, join_run
from moverank.rerank.words.term_rules import option_of

Figures = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Costs (q, n) of each term, in the units of a sum, and the lengths (n,) of the documents.

    RWMD stands for WMD: it is a tight lower bound, and needs no transport problem. A document that a term cannot rank
    costs 1.
    """

    rwmd: Costs
    cover: Costs
    cosine: Costs
    bm25: Costs
    lengths: Costs

    def totals(self, mu: float, cover: float, cosine: float, bm25: float) -> Costs:
        """Return the totals (q, n) of the sum with these weights and this `mu`."""
        share = self.lengths / (self.lengths + np.float32(mu or 1e-9))
        totals: Costs = share * self.rwmd + (1 - share) + np.float32(cover) * self.cover
        totals += np.float32(cosine) * self.cosine + np.float32(bm25) * self.bm25
        return totals


@dataclass(frozen=True, slots=True)
class Weighting:
    """The settings that the components depend on: gamma, word weights, title weight, the rule of terms or None.

    `phrases`: whether the collection has phrases.
    """

    gamma: float
    weights: Weights
    title_weight: int
    rule: str | None
    phrases: bool = False

    @property
    def ranking(self) -> RankingSpec:
        """Return a ranking that has all terms."""
        own = own_ranking("", self.gamma, self.weights, phrases=self.phrases)
        return resolve(f"{'pwmd' if self.gamma else 'wmd'}+cover+cosine+{_bm25(self.rule)}", None, own)


def _bm25(rule: str | None) -> str:
    return f"bm25:k1={DEFAULT_K1}" + (f",{option_of(rule)}" if rule else "")


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
    titled = replace(queries, title_weight=float(weighting.title_weight))
    costs, lengths = SearchPool(weighted).costs(weighting.ranking, PoolQueries(titled, own_rows), progress)
    rwmd, cover, cosine, bm25 = costs
    found = Components(rwmd, cover, cosine, bm25, lengths)
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


@dataclass(frozen=True, slots=True)
class TriedRanking:
    """A ranking that `tune` tries, with the gamma and the title weight of the collection."""

    gamma: float = 0.0
    title_weight: int = 1
    weights: Weights = "tfidf"
    rule: str | None = None
    mu: float = 20.0
    cover: float = 0.5
    bm25: float = 2.0
    cosine: float = 1.0
    vector: float = 0.0
    phrases: bool = False
    """Whether the collection has phrases."""

    @property
    def rank(self) -> str:
        """Return the specification of the ranking; the collection's settings have its gamma."""
        mu = f"mu={self.mu:g}," if self.mu else ""
        terms = [f"{'pwmd' if self.gamma else 'wmd'}:{mu}weights={self.weights}"]
        for weight, term in (
            (self.cover, "cover"),
            (self.bm25, _bm25(self.rule)),
            (self.cosine, "cosine"),
            (self.vector, VECTOR),
        ):
            if weight:
                terms.append(f"{weight:g}*{term}" if weight != 1 else term)
        return "+".join(terms)

    @property
    def ranking(self) -> RankingSpec:
        """Return the ranking, with its gamma."""
        return resolve(self.rank, None, own_ranking("", self.gamma, self.weights, phrases=self.phrases))

    @property
    def weighting(self) -> Weighting:
        """Return the weighting that determines the components."""
        return Weighting(self.gamma, self.weights, self.title_weight, self.rule, self.phrases)


GRID: Mapping[str, Sequence[object]] = {
    "bm25": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "cosine": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0),
    "vector": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "cover": (0.0, 0.25, 0.5, 1.0, 1.5),
    "mu": (0.0, 5.0, 20.0, 50.0, 100.0),
    "weights": get_args(Weights),
    "title_weight": (1, 2, 3, 5),
    "gamma": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5),
    "rule": (None, "ngrams=4"),
}
"""The values of each coordinate; cheap coordinates first: the last four need new components."""

_ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """The result: figures (q,) of certified rankings before and after, and the chosen setting.

    `baselines` are figures of other rankings by label, `held_out` of settings chosen on the other folds, `after` of
    `setting`, chosen on all queries.
    """

    queries: tuple[str, ...]
    baselines: Mapping[str, Figures]
    before: Figures
    held_out: Figures
    after: Figures
    setting: TriedRanking

    @property
    def is_better(self) -> bool:
        """Return whether the ranking after is better, also by settings chosen without the measured queries."""
        return bool(min(self.held_out.mean(), self.after.mean()) > self.before.mean())


class _Steps:
    """Reports the total progress: components of some weightings, then certified searches, each for some queries.

    `planned` is the number of steps expected; a step takes about as long for components as for a search.
    """

    def __init__(self, progress: Progress, planned: int) -> None:
        self._progress, self._planned, self._begun, self._shown = progress, planned, 0, 0

    def part(self, count: int) -> Progress:
        """Return the callback of the next part, which has `count` steps."""
        before = self._begun
        self._begun += count

        def report(task: str, done: int, total: int | None, unit: str) -> None:  # noqa: ARG001 - a `Progress`
            self._shown = max(self._shown, before + round(count * done / max(1, total or count)))
            self._progress("Tuning", self._shown, max(self._begun, self._planned), unit)

        return report

    def plan(self, more: int) -> None:
        """Expect `more` steps, or fewer if it is negative."""
        self._planned += more


@dataclass(frozen=True, slots=True, eq=False)
class TuningGoal:
    """What `tune` maximises: a measure of the first `cutoff` documents by the `judgments`.

    The search takes `limit` queries, drawn at random, into account.
    """

    judgments: Judgments
    measure: str
    cutoff: int
    limit: int


class Tuner:
    """Tunes the ranking of `trial` to a goal; `own` is the collection's ranking.

    `cache` is a directory for components, so that an interrupted run continues; None if nothing is cached. If the
    trial has candidates, only these are ranked, and if it has their scores, these are a term.
    """

    def __init__(self, trial: Trial, goal: TuningGoal, own: RankingSpec, *, cache: Path | None) -> None:
        self.queries = tuple(query for query in goal.judgments.queries if query in trial.queries.row_of)
        self._trial = trial.of_queries([trial.queries.row_of[query] for query in self.queries])
        self._goal, self._own, self._cache = goal, own, cache
        self._components: dict[Weighting, Components] = {}
        self._figures: dict[TriedRanking, Figures] = {}
        self._sample = np.sort(np.random.default_rng(0).permutation(len(self.queries))[: goal.limit])
        self._sampled = self._trial.of_queries(self._sample)
        self._vector: NDArray[np.float32] | None = None
        self._steps, self._planned = _Steps(trial.progress, 0), 0

    def run(self, start: TriedRanking, count: int, stem: str | None) -> Tuned:
        """Return the setting found from `start`, and its figures by `count` folds; `stem` is a rule to try, too."""
        grid, others = self._grid(stem), baselines(self._own, stem)
        searches = len(self.queries) * (len(others) + 3)
        self._planned = 1 + sum(len(grid[name]) - 1 for name in ("weights", "title_weight", "gamma", "rule"))
        self._steps = _Steps(self._trial.progress, len(self._sample) * self._planned + searches)
        if self._trial.scores is not None:
            self._vector = self._vector_costs()
        fold = folds(len(self.queries), count)
        sampled = fold[self._sample]
        by_fold = [self._search(start, grid, sampled != own) for own in range(count)]
        best = self._search(start, grid, np.ones(len(sampled), bool))
        self._steps.plan(len(self._sample) * min(0, len(self._components) - self._planned))
        weight = self._trial.pool.title_weight
        measured = {each: self._certified(resolve(each, None, self._own), weight) for each in others}
        before = self._certified(self._own, weight)
        held_out = np.empty(len(self.queries))
        for own, setting in enumerate(by_fold):
            chosen = np.flatnonzero(fold == own)
            held_out[chosen] = self._certified(setting.ranking, setting.title_weight, chosen)
        after = self._certified(best.ranking, best.title_weight)
        return Tuned(self.queries, measured, before, held_out, after, best)

    def _vector_costs(self) -> NDArray[np.float32]:
        """Return the costs (s, n) of the engine's scores: the totals of a search that ranks by them alone."""
        trial = replace(self._sampled, progress=self._steps.part(0))
        costs = np.ones((len(trial.queries), len(trial.pool)), np.float32)
        for row, (rows, values) in enumerate(trial.ranked(parse_ranking(VECTOR), len(trial.pool))):
            costs[row, rows] = values
        return costs

    def _grid(self, stem: str | None) -> dict[str, Sequence[object]]:
        """Return the values of the coordinates that have an effect on these documents."""
        ranks = self._trial.pool.counts.ranks
        grid = {**GRID, "weights": usable_weights(self._trial.pool.vocabulary.factors)}
        if stem:
            grid["rule"] = (*grid["rule"], stem)
        if not np.any(ranks > 0):
            grid["gamma"] = (0.0,)
        if not np.any(ranks == TITLE):
            grid["title_weight"] = (1,)
        if self._trial.scores is None:
            grid["vector"] = (0.0,)
        return grid

    def _search(
        self, start: TriedRanking, grid: Mapping[str, Sequence[object]], used: NDArray[np.bool_]
    ) -> TriedRanking:
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

    def estimated(self, setting: TriedRanking) -> Figures:
        """Return the figures (s,) of the sampled queries by a setting, from components."""
        if setting not in self._figures:
            trial, weighting = self._sampled, setting.weighting
            if weighting not in self._components:
                self._components[weighting] = self._load(weighting)
            found = self._components[weighting]
            totals = found.totals(setting.mu, setting.cover, setting.cosine, setting.bm25)
            if self._vector is not None:
                totals += np.float32(setting.vector) * self._vector
            in_pool = np.flatnonzero(trial.own_rows >= 0)
            totals[in_pool, trial.own_rows[in_pool]] = np.inf
            if trial.wanted is not None:
                totals[~trial.wanted] = np.inf
            rows = [order[np.isfinite(row[order])] for row in totals for order in (_first(row, self._longest),)]
            self._figures[setting] = self._measured(trial, rows)
        return self._figures[setting]

    def _load(self, weighting: Weighting) -> Components:
        pool, queries, own_rows = self._trial.pool, self._sampled.queries, self._sampled.own_rows
        total = hashlib.sha256(pool.digest + queries.digest + repr(asdict(weighting)).encode())
        total.update(own_rows.astype("<i8").tobytes())
        path = self._cache and self._cache / f"components-{total.hexdigest()[:24]}.npz"
        if len(self._components) >= self._planned:
            self._steps.plan(len(queries))
        return components_of(weighting, pool, queries, own_rows, path, self._steps.part(len(queries)))

    def _certified(self, ranking: RankingSpec, title_weight: float, rows: NDArray[np.int64] | None = None) -> Figures:
        """Return the figures of queries, `rows` (m,) of all, by a ranking with this title weight."""
        own = self._trial if rows is None else self._trial.of_queries(rows)
        trial = replace(
            own,
            pool=replace(own.pool, title_weight=title_weight),
            queries=replace(own.queries, title_weight=title_weight),
            progress=self._steps.part(len(own.queries)),
        )
        placing = placing_relevant(trial, self._goal.judgments)
        return self._measured(trial, best_of(Method(str(ranking), ranking), placing, self._longest))

    def _measured(self, trial: Trial, best: Sequence[NDArray[np.int64]]) -> Figures:
        """Return the figures (q,) of the queries of a trial by their best rows (m,)."""
        judged = Judgments({query: self._goal.judgments.grades[query] for query in trial.queries.keys})
        return evaluate_measures(join_run(judged, run_of(best, trial)).values(), [self._goal.measure])[
            self._goal.measure
        ]

    @property
    def _longest(self) -> int:
        """Return the number of documents that are ranked: as in `evaluate retrieval`, all candidates."""
        return self._goal.cutoff if self._trial.candidates is None else len(self._trial.pool)


def _first(row: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` smallest values, in order."""
    if count < len(row):
        some = np.argpartition(row, count)[:count]
        some.sort()
        return some[np.argsort(row[some], kind="stable")]
    return np.argsort(row, kind="stable")
