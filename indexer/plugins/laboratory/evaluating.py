"""Commands that measure methods on a collection: the group `evaluate`, and the experiments, records of its options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from moverank.indexer import formatters
from moverank.indexer.commands.failures import interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json
from moverank.indexer.errors import UsageError
from moverank.indexer.values.option import Option
from moverank.indexer.values.search_options import Gamma, Progress, silent

if TYPE_CHECKING:
    from moverank.indexer.plugins.laboratory.method import Table

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure which method is best for your texts.\n\nA method is a ranking as `search` has it, such as `wmd`, "
    "`pwmd:gamma=0.5,weights=tfidf`, `bm25:stem=english`, `lsi:dim=100` or `pwmd+0.4*bm25`, or `random`; see "
    "`moverank help ranking`.",
)

_QUERIES, _METHODS, _OUTPUT = "Queries", "Methods", "Output"

QRELS = Option("TREC judgments, one a line: `query 0 document grade`.", metavar="FILE")
_Qrels = Annotated[str, QRELS]
_Measures = Annotated[
    Sequence[str] | None,
    Option("map, rprec, mrr, p@K, recall@K or ndcg@K; repeatable.", flags=("--measure",), metavar="NAME"),
]
_Folds = Annotated[
    int | None,
    Option("Add a row: for each fold of queries, the best method on the others; 0: leave one query out.", least=0),
]
_Seed = Annotated[int, Option("Seed of the random draw; the same seed draws the same.", least=0)]


class Experiment:
    """What is measured on a collection; the docstring of a subclass describes it, an `Option` each of its fields."""

    PANEL: ClassVar = "Options"
    NAME: ClassVar[str]
    """The name of its command."""
    EXAMPLES: ClassVar[str]
    """The end of its `--help`."""
    DRAWN: ClassVar[bool] = True
    """Whether there is a figure of its table."""

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return the figures of a collection; `progress` is called after each step.

        Raises ReadError, UsageError, EvaluationError, CollectionError.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class JudgedQueries(Experiment):
    """The queries that were judged, and the documents which are ranked for them."""

    queries: Annotated[
        str | None,
        Option("JSONL with id and text.", "query ids are keys of documents", metavar="FILE", panel=_QUERIES),
    ] = None
    candidates: Annotated[
        str | None,
        Option("Rank only these: a TREC run, or one a line: `query document rank`.", metavar="FILE", panel=_QUERIES),
    ] = None
    """If it is a run, the term `vector` stands for its scores."""
    without_self: Annotated[bool, Option("Exclude the document whose key is the query's id.", panel=_QUERIES)] = False
    """Always so if documents are the queries."""
    prefix: Annotated[
        str | None,
        Option(
            "Put NAME/ in front of the keys in these files, as `index --prefix` did.", metavar="NAME", panel=_QUERIES
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Methods(Experiment):
    """The methods that are measured."""

    methods: Annotated[
        Sequence[str] | None,
        Option(
            "A row of the table; repeatable.",
            "the usual methods",
            flags=("--method",),
            metavar="NAME[:KEY=VALUE,...]",
            panel=_METHODS,
        ),
    ] = None
    proximity: Annotated[
        Literal["empirical", "gaussian", "gamma"] | None,
        Option("Add a row for each method with mutual proximity, which reduces hubness.", panel=_METHODS),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ComparedMethods(Methods):
    """The methods, the reference they are tested against, and the documents."""

    reference: Annotated[
        str | None,
        Option(
            "Test the other rows against this one.",
            "bm25 with stems, or else the first",
            metavar="NAME",
            panel=_METHODS,
        ),
    ] = None
    clean: Annotated[bool, Option("Exclude documents with the words of an earlier one.", panel=_METHODS)] = False


@dataclass(frozen=True, kw_only=True)
class RetrievalExperiment(ComparedMethods, JudgedQueries):
    """Measure how well each method ranks the documents that were judged relevant."""

    NAME: ClassVar = "retrieval"
    EXAMPLES: ClassVar = (
        "Examples: `moverank evaluate retrieval --qrels qrels.tsv --queries queries.jsonl`  "
        "`... --method bm25 --method pwmd:gamma=0.5,weights=tfidf --method '0.3*bm25+pwmd' --json`"
    )

    qrels: _Qrels
    measures: _Measures = None
    folds: _Folds = None
    train: Annotated[
        str | None, Option("Add a row: the best method by these judgments of other queries.", metavar="QRELS")
    ] = None
    cutoff: Annotated[
        int | str, Option("Number of documents that are ranked for a query, or all of them.", metavar="N|all")
    ] = 100
    run_file: Annotated[
        Path | None,
        Option(
            "Write the ranking as a TREC run; of several methods a file for each, as run.bm25.trec for run.trec.",
            flags=("--run",),
            metavar="FILE",
            panel=_OUTPUT,
        ),
    ] = None
    per_query: Annotated[
        Path | None,
        Option("Write the measures of each query to this file, as CSV.", metavar="FILE", panel=_OUTPUT),
    ] = None

    @property
    def longest(self) -> int | None:
        """Return the cutoff, None for `all`; UsageError for anything else but a number above 0."""
        text = str(self.cutoff)
        if text == "all":
            return None
        if not (text.isdecimal() and int(text) > 0):
            raise UsageError(f"--cutoff is a whole number above 0, or all, not {text!r}")
        return int(text)

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return a row for each method."""
        from moverank.indexer.plugins.laboratory.experiments import evaluate_retrieval

        return evaluate_retrieval(index, self, progress)

    def drawn(self) -> "RetrievalExperiment":
        """Return the experiment with recalls, which a figure shows, unless measures are chosen."""
        from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, RECALLS

        return self if self.measures else replace(self, measures=list(dict.fromkeys([*DEFAULT_MEASURES, *RECALLS])))


@dataclass(frozen=True, kw_only=True)
class KnnExperiment(ComparedMethods):
    """Measure how often each method's nearest neighbours predict the wrong label."""

    NAME: ClassVar = "knn"
    EXAMPLES: ClassVar = (
        "Examples: `moverank evaluate knn -i news`  `... --split random --times 5 --method wmd --method lsi:dim=100`"
    )

    split: Annotated[
        Literal["predefined", "random"] | None,
        Option("predefined: by the documents' field `split`; random: 70/30.", "predefined if there is one"),
    ] = None
    times: Annotated[int, Option("Number of random splits.", least=1)] = 5
    seed: _Seed = 0
    k: Annotated[
        int | None, Option("Number of neighbours that vote.", "the best of 1 to 19", flags=("-k",), least=1)
    ] = None
    predictions: Annotated[
        Path | None,
        Option("Write the label that each method predicts for each document, as CSV.", metavar="FILE", panel=_OUTPUT),
    ] = None

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return a row for each method."""
        from moverank.indexer.plugins.laboratory.experiments import evaluate_knn

        return evaluate_knn(index, self, progress)


@dataclass(frozen=True, kw_only=True)
class GammaExperiment(JudgedQueries):
    """Find the best gamma and word weights of P-WMD, by judged queries."""

    NAME: ClassVar = "gamma"
    EXAMPLES: ClassVar = (
        "Example: `moverank evaluate gamma -i forum --qrels duplicates.tsv --grid 0,0.5,1 --measure rprec`"
    )

    qrels: _Qrels
    grid: Annotated[str, Option("The gammas to try.", metavar="G,G,...")] = "0,0.25,0.5,0.75,1,1.5,2"
    measures: _Measures = None
    folds: _Folds = 0

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return a row for each gamma and each kind of weights, in order, and the best choice on other queries."""
        from moverank.indexer.plugins.laboratory.experiments import evaluate_gamma

        return evaluate_gamma(index, self, progress)


@dataclass(frozen=True, kw_only=True)
class MultilabelExperiment(Methods):
    """Measure how well neighbours predict several labels per document, leave-one-out; the first row is the baseline."""

    NAME: ClassVar = "multilabel"
    EXAMPLES: ClassVar = "Example: `moverank evaluate multilabel -i films --labels u.item -k 2 -k 5`"
    DRAWN: ClassVar = False

    labels: Annotated[str, Option("One a line: `key<TAB>label,label`; or MovieLens 100k's u.item.", metavar="FILE")]
    ks: Annotated[
        list[int] | None, Option("Number of neighbours that vote; repeatable.", "2 5", flags=("-k",), least=1)
    ] = None

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return a row for each method."""
        from moverank.indexer.plugins.laboratory.experiments import evaluate_multilabel

        return evaluate_multilabel(index, self, progress)


@dataclass(frozen=True, kw_only=True)
class BoundsExperiment(Experiment):
    """Measure how tight each lower bound is, and the loss from ranking by it instead of the distance."""

    NAME: ClassVar = "bounds"
    EXAMPLES: ClassVar = "Example: `moverank evaluate bounds -i news --sample 50`"

    sample: Annotated[int, Option("Number of documents compared with all others.", least=1)] = 20
    seed: _Seed = 0
    gamma: Gamma = None
    depths: Annotated[bool, Option("Instead, measure the recall of the first N documents by WCD, for several N.")] = (
        False
    )

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return a row for each bound, or for each N."""
        from moverank.indexer.plugins.laboratory.experiments import evaluate_bounds

        return evaluate_bounds(index, self, progress)


@dataclass(frozen=True, slots=True)
class ResultChoices:
    """Where the table goes."""

    PANEL: ClassVar = _OUTPUT

    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the rows to this file.")] = None
    as_json: Json = False


@dataclass(frozen=True, slots=True)
class FigureChoices(ResultChoices):
    """Where the table goes, and a figure of it."""

    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a figure: .svg, .pdf or .png (extra `plot`).")
    ] = None


def add_command(parent: typer.Typer, kind: type[Experiment]) -> None:
    """Add the command of an experiment."""

    def command(*, index: Index = DEFAULT_INDEX, experiment: Any, result: Any) -> None:
        _print(index, experiment, result)

    command.__annotations__ |= {"experiment": kind, "result": FigureChoices if kind.DRAWN else ResultChoices}
    parent.command(kind.NAME, help=kind.__doc__, epilog=kind.EXAMPLES)(with_records(command))


def _print(index: Path, experiment: Experiment, result: ResultChoices) -> None:
    """Run an experiment, print its table, and write it to the files that are named.

    Files that cannot be written are reported first.
    """
    from moverank.indexer.files.atomic_write import check_writable, write_text
    from moverank.indexer.plugins.laboratory.tables import check_figure, draw, table_csv, table_object, table_view

    csv, plot = result.csv, result.plot if isinstance(result, FigureChoices) else None
    if csv is not None:
        check_writable(csv)
    if plot is not None:
        measures = None
        if isinstance(experiment, RetrievalExperiment):
            experiment = experiment.drawn()
            measures = experiment.measures
        check_figure(plot, measures)
    with interruptible("cached distances are kept, and not computed again"), formatters.Bars() as bars:
        table = experiment.run(index, bars)
    if result.as_json:
        formatters.print_object(table_object(table))
    else:
        formatters.print_view(table_view(table))
    if csv is not None:
        write_text(csv, table_csv(table))
    if plot is not None:
        draw(table, plot)


for _kind in (RetrievalExperiment, KnnExperiment, GammaExperiment, MultilabelExperiment, BoundsExperiment):
    add_command(app, _kind)
