"""The experiment of `moverank tune`: from judgments and options to a table, and to the collection's ranking."""

from pathlib import Path

import numpy as np

from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.cache_directory import cache_directory
from moverank.indexer.evaluation.corpus import corpus_of
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.experiments import CUTOFF, check_measures
from moverank.indexer.evaluation.method import check_no_given
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.evaluation.trial import Trial
from moverank.indexer.evaluation.tuning import Setting, Tuned, Tuner
from moverank.indexer.progress import Progress, silent
from moverank.indexer.ranking_spec import resolve
from moverank.indexer.readers.queries import read_queries
from moverank.rerank.evaluation.judgments import Judgments
from moverank.rerank.evaluation.significance import randomisation

_NO_BETTER = "the result is no better than the ranking before, on these queries or on others: nothing is stored"

TUNED_QUERIES = 200
"""Number of judged queries, drawn at random, that the search of `tune` takes into account."""


# Over 40 lines: half of them list its parameters.
def tune(
    index: Path,
    judgments: Judgments,
    *,
    queries: str | None = None,
    measure_name: str = "map",
    without_self: bool = False,
    folds: int = 5,
    cutoff: int = CUTOFF,
    language: str | None = "english",
    save: bool = False,
    progress: Progress = silent,
) -> Table:
    """Find the sum that ranks best by judged queries; with `save`, store it as the collection's if it is better.

    `index`: the collection. `judgments`, `queries`, `without_self`, `cutoff`: as in `evaluate_retrieval`.
    `measure_name`: what is maximised. `folds`: number of folds of the cross-validation. `language`: that of stems, None
    for words as they are. `progress`: called after each step.

    Raises ReadError, UsageError, EvaluationError, CollectionError.
    """
    check_measures([measure_name])
    texts = [(id_, text) for id_, text in read_queries(queries)] if queries is not None else None
    with Collection.open(index) as collection:
        settings = collection.settings
        check_no_given(settings.ranking, settings)
        corpus = corpus_of(collection, [each for each in texts or () if each[0] in judgments.grades])
    pool = corpus.documents
    keys = [key for key in judgments.queries if key in pool.row_of]
    counted = pool.take([pool.row_of[key] for key in keys]) if texts is None else corpus.queries
    own_row = pool.row_of if texts is None or without_self else {}
    own_rows = np.array([own_row.get(query, -1) for query in counted.keys], np.int64)
    cache = cache_directory(index)
    trial = Trial(pool, counted, own_rows, DistanceCache(cache), progress, directory=index)
    own = resolve(None, None, settings.ranking)
    start = Setting(gamma=settings.gamma, title_weight=settings.title_weight, stem=language)
    tuner = Tuner(trial, judgments, measure_name, own, cache=cache, cutoff=cutoff, limit=TUNED_QUERIES)
    if len(tuner.queries) < max(2, folds):
        raise UsageError(f"{len(tuner.queries)} judged queries are too few for {folds} folds: judge more")
    tuned = tuner.run(start, folds, language)
    if save and tuned.is_better:
        with Collection.open(index) as collection:
            chosen = tuned.setting
            collection.change_settings(rank=chosen.rank, gamma=chosen.gamma, title_weight=chosen.title_weight)
    return _tuning_table(tuned, str(own), measure_name, saved=save and tuned.is_better)


def _tuning_table(tuned: Tuned, before: str, measure_name: str, *, saved: bool) -> Table:
    """Return the figures before and after; p is that of settings chosen on other queries against the ranking before."""
    setting = tuned.setting
    rows: tuple[dict[str, Value], ...] = (
        {"ranking": before, "figures": "before", measure_name: float(tuned.before.mean()), "p": None},
        {
            "ranking": "chosen for each fold",
            "figures": "cross-validated",
            measure_name: float(tuned.held_out.mean()),
            "p": randomisation(tuned.held_out, tuned.before),
        },
        {"ranking": setting.rank, "figures": "on the same queries", measure_name: float(tuned.after.mean()), "p": None},
    )
    facts = {
        "queries": len(tuned.queries),
        "rank": setting.rank,
        "gamma": setting.gamma,
        "title_weight": setting.title_weight,
        "saved": saved,
    }
    notes = () if tuned.is_better else (_NO_BETTER,)
    return Table("tune", rows, facts, notes, higher=(measure_name,))
