"""Commands that measure methods on a collection: the group `evaluate`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from moverank.indexer.commands.completion import complete_rank
from moverank.indexer.commands.failures import interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Gamma, Index, Json

if TYPE_CHECKING:
    from moverank.indexer.plugins.laboratory.method import Table

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure which method is best for your texts.\n\nA method is a ranking as `search` has it, such as `wmd`, "
    "`pwmd:gamma=0.5,weights=tfidf`, `bm25:stem=english`, `lsi:dim=100` or `pwmd+0.4*bm25`, or `random`; see "
    "`moverank help ranking`.",
)

Seed = Annotated[int, typer.Option(min=0, help="Seed of the random draw; the same seed draws the same.")]


Qrels = Annotated[str, typer.Option(metavar="FILE", help="TREC judgments, one a line: `query 0 document grade`.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="NAME", help="map, rprec, mrr, p@K, recall@K or ndcg@K; repeatable."),
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=0, help="Add a row: for each fold of queries, the best method on the others; 0: leave one query out."
    ),
]


@dataclass(frozen=True, slots=True)
class JudgedQueryChoices:
    """The queries that were judged, and the documents which are ranked for them."""

    PANEL: ClassVar = "Queries"

    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="JSONL with id and text. [default: query ids are keys of documents]"),
    ] = None
    candidates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rank only these: a TREC run, or one a line: `query document rank`."),
    ] = None
    without_self: Annotated[
        bool, typer.Option("--without-self", help="Exclude the document whose key is the query's id.")
    ] = False
    prefix: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Put NAME/ in front of the keys in these files, as `index --prefix` did."),
    ] = None


@dataclass(frozen=True, slots=True)
class MethodChoices:
    """The methods that are measured."""

    PANEL: ClassVar = "Methods"

    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME[:KEY=VALUE,...]",
            help="A row of the table; repeatable. [default: the usual methods]",
            autocompletion=complete_rank,
        ),
    ] = None
    proximity: Annotated[
        Literal["empirical", "gaussian", "gamma"] | None,
        typer.Option(help="Add a row for each method with mutual proximity, which reduces hubness."),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the choices as options of an experiment."""
        return asdict(self) | {"methods": self.methods or ()}


@dataclass(frozen=True, slots=True)
class ComparisonChoices(MethodChoices):
    """The methods, the reference they are tested against, and the documents."""

    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Test the other rows against this one. [default: bm25 with stems, or else the first]"
        ),
    ] = None
    clean: Annotated[bool, typer.Option("--clean", help="Exclude documents with the words of an earlier one.")] = False


@dataclass(frozen=True, slots=True)
class ResultChoices:
    """Where the table goes."""

    PANEL: ClassVar = "Output"

    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the rows to this file.")] = None
    as_json: Json = False


@dataclass(frozen=True, slots=True)
class FigureChoices(ResultChoices):
    """Where the table goes, and a figure of it."""

    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a figure: .svg, .pdf or .png (extra `plot`).")
    ] = None


@app.command(
    epilog="Examples: `moverank evaluate retrieval --qrels qrels.tsv --queries queries.jsonl`  "
    "`... --method bm25 --method pwmd:gamma=0.5,weights=tfidf --method '0.3*bm25+pwmd' --json`"
)
@with_records
def retrieval(
    *,
    index: Index = DEFAULT_INDEX,
    qrels: Qrels,
    judged: JudgedQueryChoices,
    compared: ComparisonChoices,
    measure: Measures = None,
    folds: Folds = None,
    train: Annotated[
        str | None,
        typer.Option(metavar="QRELS", help="Add a row: the best method by these judgments of other queries."),
    ] = None,
    cutoff: Annotated[
        str, typer.Option(metavar="N|all", help="Number of documents that are ranked for a query, or all of them.")
    ] = "100",
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the ranking as a TREC run; of several methods a file for each, as run.bm25.trec for run.trec.",
            rich_help_panel=ResultChoices.PANEL,
        ),
    ] = None,
    per_query: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the measures of each query to this file, as CSV.",
            rich_help_panel=ResultChoices.PANEL,
        ),
    ] = None,
    result: FigureChoices,
) -> None:
    """Measure how well each method ranks the documents that were judged relevant."""
    from moverank.indexer.plugins.laboratory.experiments import evaluate_retrieval
    from moverank.indexer.plugins.laboratory.retrieval import RunFiles
    from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, RECALLS

    if result.plot is not None and not measure:
        measure = list(dict.fromkeys([*DEFAULT_MEASURES, *RECALLS]))
    experiment = partial(
        evaluate_retrieval,
        index,
        qrels,
        measures=measure or (),
        folds=folds,
        train=train,
        cutoff=_cutoff(cutoff),
        files=RunFiles(run, per_query),
        **asdict(judged),
        **compared.options(),
    )
    run_experiment(experiment, result, measure)


@app.command(
    epilog="Examples: `moverank evaluate knn -i news`  `... --split random --times 5 --method wmd --method lsi:dim=100`"
)
@with_records
def knn(
    *,
    index: Index = DEFAULT_INDEX,
    compared: ComparisonChoices,
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
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the label that each method predicts for each document, as CSV.",
            rich_help_panel=ResultChoices.PANEL,
        ),
    ] = None,
    result: FigureChoices,
) -> None:
    """Measure how often each method's nearest neighbours predict the wrong label."""
    from moverank.indexer.plugins.laboratory.experiments import evaluate_knn

    how: dict[str, Any] = {"split": split, "times": times, "seed": seed, "k": k, "predictions": predictions}
    run_experiment(partial(evaluate_knn, index, **how, **compared.options()), result)


@app.command(epilog="Example: `moverank evaluate gamma -i forum --qrels duplicates.tsv --grid 0,0.5,1 --measure rprec`")
@with_records
def gamma(
    *,
    index: Index = DEFAULT_INDEX,
    qrels: Qrels,
    judged: JudgedQueryChoices,
    grid: Annotated[str, typer.Option(metavar="G,G,...", help="The gammas to try.")] = "0,0.25,0.5,0.75,1,1.5,2",
    measure: Measures = None,
    folds: Folds = 0,
    result: FigureChoices,
) -> None:
    """Find the best gamma and word weights of P-WMD, by judged queries."""
    from moverank.indexer.plugins.laboratory.experiments import evaluate_gamma
    from moverank.indexer.plugins.laboratory.method import parse_numbers

    how: dict[str, Any] = {"grid": parse_numbers("--grid", grid), "measures": measure or (), "folds": folds or 0}
    run_experiment(partial(evaluate_gamma, index, qrels, **how, **asdict(judged)), result)


@app.command(epilog="Example: `moverank evaluate multilabel -i films --labels u.item -k 2 -k 5`")
@with_records
def multilabel(
    *,
    index: Index = DEFAULT_INDEX,
    labels: Annotated[
        str, typer.Option(metavar="FILE", help="One a line: `key<TAB>label,label`; or MovieLens 100k's u.item.")
    ],
    measured: MethodChoices,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", min=1, help="Number of neighbours that vote; repeatable. [default: 2 5]"),
    ] = None,
    result: ResultChoices,
) -> None:
    """Measure how well neighbours predict several labels per document, leave-one-out; the first row is the baseline."""
    from moverank.indexer.plugins.laboratory.experiments import evaluate_multilabel

    run_experiment(partial(evaluate_multilabel, index, labels, ks=k or (2, 5), **measured.options()), result)


@app.command(epilog="Example: `moverank evaluate bounds -i news --sample 50`")
@with_records
def bounds(
    *,
    index: Index = DEFAULT_INDEX,
    sample: Annotated[int, typer.Option(min=1, help="Number of documents compared with all others.")] = 20,
    seed: Seed = 0,
    gamma: Gamma = None,
    depths: Annotated[
        bool,
        typer.Option("--depths", help="Instead, measure the recall of the first N documents by WCD, for several N."),
    ] = False,
    result: FigureChoices,
) -> None:
    """Measure how tight each lower bound is, and the loss from ranking by it instead of the distance."""
    from moverank.indexer.plugins.laboratory.experiments import evaluate_bounds

    run_experiment(
        lambda progress: evaluate_bounds(index, queries=sample, gamma=gamma, seed=seed, progress=progress)[depths],
        result,
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
    experiment: "Callable[..., Table]", result: ResultChoices, measures: Sequence[str] | None = None
) -> None:
    """Run an experiment, print its table, and write it to the files that are named.

    `measures` are the columns of the table, if the user chose them. Files that cannot be written are reported first.
    """
    from moverank.indexer.files.atomic_write import check_writable, write_text
    from moverank.indexer.formatters.progress import Bars
    from moverank.indexer.formatters.terminal import print_object, print_view
    from moverank.indexer.plugins.laboratory.tables import check_figure, draw, table_csv, table_object, table_view

    csv, plot = result.csv, result.plot if isinstance(result, FigureChoices) else None
    if csv is not None:
        check_writable(csv)
    if plot is not None:
        check_figure(plot, measures)
    with interruptible("cached distances are kept, and not computed again"), Bars() as bars:
        table = experiment(progress=bars)
    if result.as_json:
        print_object(table_object(table))
    else:
        print_view(table_view(table))
    if csv is not None:
        write_text(csv, table_csv(table))
    if plot is not None:
        draw(table, plot)
