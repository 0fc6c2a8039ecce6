"""Commands that measure methods on a collection: the group `evaluate`."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moverank.indexer.commands.failures import interruptible
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    Candidates,
    Clean,
    Csv,
    Cutoff,
    Folds,
    Gamma,
    Index,
    Json,
    KeyPrefix,
    Measures,
    Methods,
    PerQuery,
    Plot,
    Proximity,
    Qrels,
    QueryTexts,
    Reference,
    RunFile,
    Train,
    WithoutSelf,
)

if TYPE_CHECKING:
    from moverank.indexer.evaluation.result_table import Table

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure which method is best for your texts.\n\nA method is a ranking as `search` has it, such as `wmd`, "
    "`pwmd:gamma=0.5,weights=tfidf`, `bm25:stem=english`, `lsi:dim=100` or `pwmd+0.4*bm25`, or `random`; see "
    "`moverank help ranking`.",
)

Seed = Annotated[int, typer.Option(min=0, help="Seed of the random draw; the same seed draws the same.")]


@app.command(
    epilog="Examples: `moverank evaluate retrieval --qrels qrels.tsv --queries queries.jsonl`  "
    "`... --method bm25 --method pwmd:gamma=0.5,weights=tfidf --method '0.3*bm25+pwmd' --json`"
)
def retrieval(  # over 40 lines: most of them are its options
    qrels: Qrels,
    index: Index = DEFAULT_INDEX,
    queries: QueryTexts = None,
    candidates: Candidates = None,
    method: Methods = None,
    measure: Measures = None,
    reference: Reference = None,
    without_self: WithoutSelf = False,
    folds: Folds = None,
    train: Train = None,
    proximity: Proximity = None,
    clean: Clean = False,
    cutoff: Cutoff = "100",
    prefix: KeyPrefix = None,
    run: RunFile = None,
    per_query: PerQuery = None,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how well each method ranks the documents that were judged relevant."""
    from moverank.indexer.evaluation.experiments import evaluate_retrieval
    from moverank.indexer.evaluation.run_files import RunFiles
    from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, RECALLS

    if plot is not None and not measure:
        measure = list(dict.fromkeys([*DEFAULT_MEASURES, *RECALLS]))
    experiment = partial(
        evaluate_retrieval,
        index,
        qrels,
        queries=queries,
        candidates=candidates,
        methods=method or (),
        measures=measure or (),
        reference=reference,
        without_self=without_self,
        clean=clean,
        proximity=proximity,
        folds=folds,
        train=train,
        cutoff=_cutoff(cutoff),
        prefix=prefix,
        files=RunFiles(run, per_query),
    )
    run_experiment(experiment, csv, plot, measure, as_json=as_json)


@app.command(
    epilog="Examples: `moverank evaluate knn -i news`  `... --split random --times 5 --method wmd --method lsi:dim=100`"
)
def knn(
    index: Index = DEFAULT_INDEX,
    method: Methods = None,
    split: Annotated[
        Literal["predefined", "random"] | None,
        typer.Option(
            help="predefined: by the documents' field `split`; random: 70/30. [default: predefined if there is one]"
        ),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 5,
    seed: Seed = 0,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Number of neighbours that vote. [default: the best of 1 to 19]")
    ] = None,
    proximity: Proximity = None,
    clean: Clean = False,
    reference: Reference = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the label that each method predicts for each document, as CSV."),
    ] = None,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how often each method's nearest neighbours predict the wrong label."""
    from moverank.indexer.evaluation.experiments import evaluate_knn

    experiment = partial(
        evaluate_knn,
        index,
        methods=method or (),
        split=split,
        times=times,
        seed=seed,
        k=k,
        clean=clean,
        proximity=proximity,
        reference=reference,
        predictions=predictions,
    )
    run_experiment(experiment, csv, plot, as_json=as_json)


@app.command(epilog="Example: `moverank evaluate gamma -i forum --qrels duplicates.tsv --grid 0,0.5,1 --measure rprec`")
def gamma(
    qrels: Qrels,
    index: Index = DEFAULT_INDEX,
    queries: QueryTexts = None,
    candidates: Candidates = None,
    grid: Annotated[str, typer.Option(metavar="G,G,...", help="The gammas to try.")] = "0,0.25,0.5,0.75,1,1.5,2",
    measure: Measures = None,
    without_self: WithoutSelf = False,
    folds: Folds = 0,
    prefix: KeyPrefix = None,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Find the best gamma and word weights of P-WMD, by judged queries."""
    from moverank.indexer.evaluation.experiments import evaluate_gamma
    from moverank.indexer.evaluation.method import parse_numbers

    experiment = partial(
        evaluate_gamma,
        index,
        qrels,
        queries=queries,
        candidates=candidates,
        grid=parse_numbers("--grid", grid),
        measures=measure or (),
        without_self=without_self,
        folds=folds or 0,
        prefix=prefix,
    )
    run_experiment(experiment, csv, plot, as_json=as_json)


@app.command(epilog="Example: `moverank evaluate multilabel -i films --labels u.item -k 2 -k 5`")
def multilabel(
    labels: Annotated[
        str, typer.Option(metavar="FILE", help="One a line: `key<TAB>label,label`; or MovieLens 100k's u.item.")
    ],
    index: Index = DEFAULT_INDEX,
    method: Methods = None,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", min=1, help="Number of neighbours that vote; repeatable. [default: 2 5]"),
    ] = None,
    proximity: Proximity = None,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Measure how well neighbours predict several labels per document, leave-one-out; the first row is the baseline."""
    from moverank.indexer.evaluation.experiments import evaluate_multilabel

    experiment = partial(evaluate_multilabel, index, labels, methods=method or (), ks=k or (2, 5), proximity=proximity)
    run_experiment(experiment, csv, as_json=as_json)


@app.command(epilog="Example: `moverank evaluate bounds -i news --sample 50`")
def bounds(
    index: Index = DEFAULT_INDEX,
    sample: Annotated[int, typer.Option(min=1, help="Number of documents compared with all others.")] = 20,
    seed: Seed = 0,
    gamma: Gamma = None,
    depths: Annotated[
        bool,
        typer.Option("--depths", help="Instead, measure the recall of the first N documents by WCD, for several N."),
    ] = False,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how tight each lower bound is, and what is lost by ranking with it instead of the distance."""
    from moverank.indexer.evaluation.experiments import evaluate_bounds

    run_experiment(
        lambda progress: evaluate_bounds(index, queries=sample, gamma=gamma, seed=seed, progress=progress)[depths],
        csv,
        plot,
        as_json=as_json,
    )


def _cutoff(text: str) -> int | None:
    """Return the number, None for `all`; UsageError for other text."""
    from moverank.indexer.errors import UsageError

    if text == "all":
        return None
    if not (text.isdecimal() and int(text) > 0):
        raise UsageError(f"--cutoff is a whole number above 0, or all, not {text!r}")
    return int(text)


def run_experiment(
    experiment: "Callable[..., Table]",
    csv: Path | None,
    plot: Path | None = None,
    measures: Sequence[str] | None = None,
    *,
    as_json: bool,
) -> None:
    """Run an experiment, print its table, and write it to the files `csv` and `plot` if they are named.

    `measures` are those of the table, if the user chose them. Files that cannot be written are reported first.
    """
    from moverank.indexer.files.atomic_write import check_writable, write_text
    from moverank.indexer.formatters.figures import check_figure, draw
    from moverank.indexer.formatters.output import print_object
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.formatters.table_views import table_csv, table_object, table_view
    from moverank.indexer.formatters.terminal import print_view

    if csv is not None:
        check_writable(csv)
    if plot is not None:
        check_figure(plot, measures)
    with interruptible("cached distances are kept, and not computed again"), Bars() as bars:
        table = experiment(progress=bars)
    if as_json:
        print_object(table_object(table))
    else:
        print_view(table_view(table))
    if csv is not None:
        write_text(csv, table_csv(table))
    if plot is not None:
        draw(table, plot)
