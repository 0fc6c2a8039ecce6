"""The experiment of `moverank tune`: from judgments and options to a table, and to the collection's ranking."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.laboratory.corpus import QueryFiles, missing_notes
from moverank.indexer.plugins.laboratory.distances import results_directory
from moverank.indexer.plugins.laboratory.experiments import CUTOFF, check_measures
from moverank.indexer.plugins.laboratory.method import Figure, Table, check_no_given
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.plugins.laboratory.tuner import Figures, TriedRanking, Tuned, Tuner
from moverank.indexer.ranking_spec import resolve
from moverank.indexer.search_options import Progress, silent
from moverank.rerank.evaluation.measures import Judgments, randomisation
from moverank.rerank.words.tokenizer import stemmer_named

_NO_BETTER = "the result is no better than the ranking before, on these queries or on others: nothing is stored"

TUNED_QUERIES = 200
"""Number of judged queries, drawn at random, that the search of `tune` takes into account."""


def tune_ranking(
    index: Path,
    grades: Mapping[str, Mapping[str, int]],
    *,
    queries: str | None = None,
    candidates: str | None = None,
    measure_name: str = "map",
    without_self: bool = False,
    folds: int = 5,
    cutoff: int = CUTOFF,
    language: str | None = None,
    prefix: str | None = None,
    save: bool = False,
    progress: Progress = silent,
) -> Table:
    """Find the sum that ranks best by judged queries; with `save`, store it as the collection's if it is better.

    `index`: the collection. `grades`: grades of documents by query. `queries`, `candidates`, `without_self`, `cutoff`,
    `prefix`: as in `evaluate_retrieval`. `measure_name`: the measure to maximise. `folds`: number of folds of the
    cross-validation. `language`: the language of the stems to try, a code or a stemmer, None for the collection's,
    "none" for whole words. `progress`: called after each step.

    Raises ReadError, UsageError, EvaluationError, CollectionError.
    """
    check_measures([measure_name])
    stem = None if language is None else stemmer_named(language)
    given = QueryFiles.read(queries, candidates, without_self=without_self, prefix=prefix)
    judgments = given.judgments(grades)
    with Collection.open(index) as collection:
        settings = collection.settings
        check_no_given(settings.ranking, settings, has_scores=given.scores is not None)
        trial = given.trial(collection, [judgments], [settings.ranking], progress)
    own, stem = resolve(None, None, settings.ranking), settings.stem if language is None else stem
    has_phrases = bool(settings.phrases)
    start = TriedRanking(settings.gamma, settings.title_weight, rule=stem, phrases=has_phrases)
    cache = results_directory(index)
    tuner = Tuner(trial, judgments, measure_name, own, cache=cache, cutoff=cutoff, limit=TUNED_QUERIES)
    if len(tuner.queries) < max(2, folds):
        raise UsageError(f"{len(tuner.queries)} judged queries are too few for {folds} folds: judge more")
    tuned = tuner.run(start, folds, stem)
    if save and tuned.is_better:
        with Collection.open(index) as collection:
            chosen = tuned.setting
            collection.change_settings(rank=chosen.rank, gamma=chosen.gamma, title_weight=chosen.title_weight)
    notes = (*_notes(tuned, trial, judgments),)
    return _tuning_table(tuned, str(own), measure_name, notes, saved=save and tuned.is_better)


def _notes(tuned: Tuned, trial: Trial, judgments: Judgments) -> Iterator[str]:
    """Yield notes on the result."""
    yield from missing_notes(judgments, trial)
    if not tuned.is_better:
        yield _NO_BETTER
    name, figures = list(tuned.baselines.items())[-1]
    if tuned.held_out.mean() <= figures.mean():
        yield f"on queries that did not choose it, the result is no better than {name}"
    if tuned.setting.vector:
        yield (
            "the term vector stands for the scores of the candidates, as in `rerank`; in `search` it compares the "
            "vectors of the first stage"
        )


def _tuning_table(tuned: Tuned, before: str, measure_name: str, notes: tuple[str, ...], *, saved: bool) -> Table:
    """Return the figures of BM25, and of the rankings before and after; settings chosen on other queries are tested.

    `p` tests these against the ranking before, and `p_bm25` against BM25 with stems.
    """
    setting = tuned.setting
    (*_, strongest) = tuned.baselines.values()

    def row(ranking: str, kind: str, figures: Figures, p: float | None = None) -> dict[str, Figure]:
        compared = None if figures is strongest else randomisation(figures, strongest)
        return {"ranking": ranking, "figures": kind, measure_name: float(figures.mean()), "p": p, "p_bm25": compared}

    rows = (
        *(row(name, "baseline", figures) for name, figures in tuned.baselines.items()),
        row(before, "before", tuned.before),
        row("chosen for each fold", "cross-validated", tuned.held_out, randomisation(tuned.held_out, tuned.before)),
        row(setting.rank, "on the same queries", tuned.after) | {"p_bm25": None},
    )
    facts = {
        "queries": len(tuned.queries),
        "rank": setting.rank,
        "gamma": setting.gamma,
        "title_weight": setting.title_weight,
        "saved": saved,
    }
    return Table("tune", rows, facts, notes, higher=(measure_name,))
