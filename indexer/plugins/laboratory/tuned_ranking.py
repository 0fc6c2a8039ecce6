"""The experiment of `moverank tune`: from judgments and options to a table, and to the collection's ranking."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.laboratory.corpus import QueryFiles, missing_notes
from moverank.indexer.plugins.laboratory.distances import results_directory
from moverank.indexer.plugins.laboratory.experiments import check_measures
from moverank.indexer.plugins.laboratory.method import Figure, Table, check_no_given
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.plugins.laboratory.tuner import Figures, TriedRanking, Tuned, Tuner, TuningGoal
from moverank.indexer.plugins.laboratory.tuning import TuningExperiment
from moverank.indexer.reading.inputs.judgments import read_pairs, read_post_links, read_qrels
from moverank.indexer.values.ranking_spec import resolve
from moverank.indexer.values.search_options import Progress
from moverank.rerank.evaluation.measures import Judgments, randomisation
from moverank.rerank.words.tokenizer import stemmer_named

_NO_BETTER = "the result is no better than the ranking before, on these queries or on others: nothing is stored"

TUNED_QUERIES = 200
"""Number of judged queries, drawn at random, that the search of `tune` takes into account."""


def tune_ranking(index: Path, experiment: TuningExperiment, progress: Progress) -> Table:
    """Find the sum that ranks best by judged queries; to `save` it stores it as the collection's if it is better."""
    grades, language = _grades(experiment), experiment.language
    check_measures([experiment.measure])
    stem = None if language is None else stemmer_named(language)
    given = QueryFiles.of(experiment)
    judgments = given.judgments(grades)
    with Collection.open(index) as collection:
        settings = collection.settings
        check_no_given(settings.ranking, settings, has_scores=given.scores is not None)
        trial = given.trial(collection, [judgments], [settings.ranking], progress)
    own, stem = resolve(None, None, settings.ranking), settings.stem if language is None else stem
    has_phrases = bool(settings.phrases)
    start = TriedRanking(settings.gamma, settings.title_weight, rule=stem, phrases=has_phrases)
    goal = TuningGoal(judgments, experiment.measure, experiment.cutoff, TUNED_QUERIES)
    tuner = Tuner(trial, goal, own, cache=results_directory(index))
    if len(tuner.queries) < max(2, experiment.folds):
        raise UsageError(f"{len(tuner.queries)} judged queries are too few for {experiment.folds} folds: judge more")
    tuned = tuner.run(start, experiment.folds, stem)
    saved = experiment.save and tuned.is_better
    if saved:
        with Collection.open(index) as collection:
            chosen = tuned.setting
            collection.change_settings(rank=chosen.rank, gamma=chosen.gamma, title_weight=chosen.title_weight)
    notes = (*_notes(tuned, trial, judgments),)
    return _tuning_table(tuned, str(own), experiment.measure, notes, saved=saved)


def _grades(experiment: TuningExperiment) -> Mapping[str, Mapping[str, int]]:
    """Return grades of documents by query; UsageError unless they are in one file."""
    readers = ((read_qrels, experiment.qrels), (read_pairs, experiment.pairs), (read_post_links, experiment.links))
    given = [(read, path) for read, path in readers if path]
    if len(given) != 1:
        raise UsageError("give one of --qrels, --pairs and --links")
    ((read, path),) = given
    return read(path)


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
