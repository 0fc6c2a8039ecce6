"""The command line: parses, calls the library, prints.

The library is imported by the command that needs it, so that help and completion come at once.
"""

import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from moverank.indexer.collection import Options
    from moverank.indexer.documents import Document, Rejection
    from moverank.indexer.evaluation.result_table import Table
    from moverank.indexer.progress import Progress

app = typer.Typer(
    name="moverank",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Finds texts that mean the same though they share no word, and proves that it missed none.\n\n"
    'Start with `moverank demo`, or `moverank index FOLDER` and `moverank search "your words"`.',
)

evaluate = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure which method is the best for your texts.\n\nA method is a distance (`wmd`, `pwmd`, `rwmd`, `wcd`), a "
    "scorer (`bow`, `tfidf`, `bm25`, `pl2`, `translation`, `interpolation`), an encoder (`centroid`, `fisher`, `lsi`, "
    "`lda`, `msda`, `ccg`) or `random`, with options as in `pwmd:gamma=0.5,weights=tfidf`, or a blend as "
    "`0.3*bm25+0.7*pwmd`.",
)
app.add_typer(evaluate, name="evaluate")


def _tell_version(*, asked: bool) -> None:
    """Print the version and leave, if that was asked for."""
    if asked:
        from importlib.metadata import version

        typer.echo(f"moverank {version('moverank')}")
        raise typer.Exit


@app.callback()
def _program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            is_eager=True,
            callback=lambda value: _tell_version(asked=value),
        ),
    ] = False,
) -> None:
    """Take the options that belong to no command."""


_INTERRUPTED = 130  # what Typer returns after Ctrl-C

Index = Annotated[
    Path, typer.Option("--index", "-i", envvar="MOVERANK_INDEX", help="The collection's directory.", show_default=True)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Paths = Annotated[list[str], typer.Argument(help="Files, directories, patterns, or - for standard input.")]
K = Annotated[int, typer.Option("-k", min=1, help="How many hits.")]
Depth = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many candidates the first stage hands over. [default: all; 20000 beyond two million documents]",
        show_default=False,
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Compare every document, after the first stage's if --depth is given.")
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Stop then, and say how wrong the result may be. [default: never]"),
]
Distance = Annotated[
    str | None,
    typer.Option(
        metavar="wmd|pwmd|rwmd|wcd|bow|tfidf|bm25|pl2|translation|interpolation",
        help="wmd: all parts alike; pwmd: by rank; or a scorer, such as bm25 or bm25:k1=0.9,b=0.4. "
        "[default: pwmd if the collection has a gamma, else wmd]",
    ),
]
Blend = Annotated[
    str | None,
    typer.Option(
        metavar="SCORER[=SHARE]",
        help="Let a scorer have a say in the order: bm25=0.3 a share of 0.3; bm25 joins the ranks.",
    ),
]
Gamma = Annotated[
    float | None, typer.Option(min=0, help="How much a part's rank counts: 0 not at all. [default: the collection's]")
]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=VALUE", help="Only documents with that label or metadata; repeat for more."),
]
Embedding = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|gensim:NAME|train|lsi",
        help="Word vectors: a word2vec, GloVe or fastText file, one of gensim's downloader, or trained on the texts.",
    ),
]
TrainOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="For train and lsi, such as dim=100; repeat for more.")
]
Normalize = Annotated[
    bool | None, typer.Option("--normalize/--no-normalize", help="Bring word vectors to unit length.")
]
Weights = Annotated[Literal["tf", "tfidf"] | None, typer.Option(help="Word weights. [default: tf]")]
FirstStage = Annotated[
    str | None,
    typer.Option(
        metavar="centroid|fisher|lsi|lda|msda|ccg[+SCORER]",
        help="Vectors of the first stage; fisher+bm25: the best of both. [default: centroid]",
    ),
]
FirstStageOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="For the first stage, such as k=64; repeat for more.")
]
Faiss = Annotated[
    str | None, typer.Option(metavar="FACTORY", help="FAISS factory string, or auto: by size. [default: auto]")
]
StopWords = Annotated[str | None, typer.Option(metavar="FILE|none", help="Words to leave out. [default: English list]")]
TitleWeight = Annotated[
    int | None,
    typer.Option(min=1, max=100, help="How often the words of a title count: 3 suits forums. [default: 1]"),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Load gensim's own .kv and .model files: they can run any code.")
]
Prune = Annotated[bool, typer.Option("--prune", help="Remove every document that these sources do not hold.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad record, and write nothing.")]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        metavar="[SECONDS]",
        min=0,
        show_default=False,
        help="Wait while another process writes, so long or for ever. [default: fail at once]",
    ),
]
Format = Annotated[str | None, typer.Option("--format", help="Read the files as this format. [default: detected]")]

Qrels = Annotated[str, typer.Option(metavar="FILE", help="TREC judgments: `query 0 document grade` on a line.")]
QueryTexts = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="JSONL with id and text. [default: the judged queries are documents' keys]"),
]
Candidates = Annotated[
    str | None, typer.Option(metavar="FILE", help="Rank only these: `query document rank`, or a TREC run.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="NAME", help="map, rprec, mrr, p@K, recall@K, ndcg@K; repeat for more."),
]
WithoutSelf = Annotated[
    bool, typer.Option("--without-self", help="A query's id is its own document's key: leave that out.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="NAME[:KEY=VALUE,...]", help="A row; repeat for more. [default: the usual ones]"),
]
Proximity = Annotated[
    Literal["empirical", "gaussian", "gamma"] | None,
    typer.Option(help="Show every method a second time with mutual proximity, against hubs."),
]
Folds = Annotated[
    int | None,
    typer.Option(min=0, help="A row more: the best method on the other folds of queries; 0: leave one query out."),
]
Train = Annotated[
    str | None,
    typer.Option(metavar="QRELS", help="A row more: the method that is the best by these judgments of other queries."),
]
Clean = Annotated[bool, typer.Option("--clean", help="Leave out documents that are there twice, or nearly.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a figure: .svg, .pdf or .png (extra `plot`).")
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows to this file, too.")]


def run() -> None:
    """Run the program as a process of its own, and leave at once: taking down what was imported takes half a second."""
    gc.set_threshold(100_000)  # imports make no garbage, and looking for it costs a tenth of a search
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends us wants no leftovers either
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    with suppress(OSError):  # who reads our output may be gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


class _Notes(logging.Handler):
    """Says on standard error what the library has to tell."""

    def emit(self, record: logging.LogRecord) -> None:
        from moverank.indexer.formatters.output import note

        note(record.getMessage())


_NOTES = _Notes()


def main() -> None:
    """Run the program: a failure is one sentence on standard error, and exit code 1, or 2 for wrong usage."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a title that the terminal cannot spell is no failure
    logging.getLogger("moverank").addHandler(_NOTES)
    try:
        code = app(_arguments(sys.argv[1:]), standalone_mode=False)
    except Exception as error:
        sentence, code = _failure(error)
        if sentence is None:
            raise
        if sentence:
            from moverank.indexer.formatters.output import note

            note(sentence)
    if code == _INTERRUPTED:
        # Not `note`: whatever was being imported is half there, and importing it again would fail.
        typer.echo("moverank: interrupted", err=True)
        code = 1
    sys.exit(code)


def _arguments(given: list[str]) -> list[str]:
    """Return the arguments with a number after every `--wait`: the parser knows no option that may have a value."""
    written: list[str] = []
    for i, argument in enumerate(given):
        written.append(argument)
        following = given[i + 1] if i + 1 < len(given) else ""
        if argument == "--wait" and not following.replace(".", "", 1).isdecimal():
            written.append("inf")
    return written


def _failure(error: Exception) -> tuple[str | None, int]:
    """Return the sentence (None for a fault of the program itself) and the exit code for what went wrong."""
    if hasattr(error, "format_message"):  # the parser's, whose class has another home in each version of Typer
        said = str(error.format_message()).replace("Value error, ", "").rstrip(".")
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "moverank"
        # Where nothing at all was asked for, the help has been printed instead of a message.
        return said and f"{said[:1].lower()}{said[1:]} (`{command} --help` tells more)", getattr(error, "exit_code", 2)
    from moverank.indexer.errors import IndexerError, UsageError
    from moverank.rerank.errors import RerankError

    if isinstance(error, IndexerError | RerankError):
        return str(error), 2 if isinstance(error, UsageError) else 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 1
    if isinstance(error, UnicodeEncodeError) and any(error.object in argument for argument in sys.argv):
        return f"{error.object!r} is not UTF-8: no key and no field can be that", 2
    return None, 1


@app.command(
    epilog="Examples: `moverank index notes/`  `moverank index docs.jsonl.gz -i news --embedding glove.txt.gz`"
)
def index(
    paths: Paths,
    index: Index = Path("moverank.index"),
    format: Format = None,  # noqa: A002 - the option's name
    key_field: Annotated[str | None, typer.Option(help="Field with a record's key.")] = None,
    title_field: Annotated[str | None, typer.Option(help="Field with its title.")] = None,
    text_field: Annotated[str | None, typer.Option(help="Field with its text.")] = None,
    label_field: Annotated[str | None, typer.Option(help="Field with its label.")] = None,
    embedding: Embedding = None,
    train_option: TrainOption = None,
    normalize: Normalize = None,
    weights: Weights = None,
    gamma: Gamma = None,
    first_stage: FirstStage = None,
    first_stage_option: FirstStageOption = None,
    faiss: Faiss = None,
    stop_words: StopWords = None,
    title_weight: TitleWeight = None,
    trust_pickle: TrustPickle = False,
    prune: Prune = False,
    strict: Strict = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add or update documents: text files, lines, JSONL, CSV/TSV, mbox; .gz too."""
    from moverank.indexer.readers import Fields, read_documents

    fields = Fields(key_field, title_field, text_field, label_field)
    encoder = (first_stage, first_stage_option)
    choices = _choices(embedding, train_option, normalize, weights, gamma, encoder, faiss, stop_words, title_weight)
    _index(
        lambda bars: read_documents(paths, fields=fields, format=format, progress=bars),
        index,
        choices,
        trust_pickle=trust_pickle,
        prune=prune,
        strict=strict,
        wait=wait,
        as_json=as_json,
    )


@app.command(epilog="Examples: `moverank threads Posts.xml -i forum`  `moverank threads threads.jsonl.gz --gamma 0.5`")
def threads(
    paths: Paths,
    index: Index = Path("moverank.index"),
    format: Format = None,  # noqa: A002 - the option's name
    embedding: Embedding = None,
    train_option: TrainOption = None,
    normalize: Normalize = None,
    weights: Weights = None,
    gamma: Gamma = None,
    first_stage: FirstStage = None,
    first_stage_option: FirstStageOption = None,
    faiss: Faiss = None,
    stop_words: StopWords = None,
    title_weight: TitleWeight = None,
    trust_pickle: TrustPickle = False,
    prune: Prune = False,
    strict: Strict = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add or update forum threads: JSONL, Stack Exchange's Posts.xml, mbox; posts count by rank."""
    from moverank.indexer.ranking_spec import PAPER_GAMMA
    from moverank.indexer.readers import read_threads

    encoder = (first_stage, first_stage_option)
    choices = _choices(embedding, train_option, normalize, weights, gamma, encoder, faiss, stop_words, title_weight)
    _index(
        lambda bars: read_threads(paths, format=format, progress=bars),
        index,
        choices,
        trust_pickle=trust_pickle,
        prune=prune,
        strict=strict,
        wait=wait,
        as_json=as_json,
        defaults={"gamma": PAPER_GAMMA},
    )


@app.command(
    epilog='Examples: `moverank search "mains plug gets hot"`  `moverank search --queries list.txt --json -k 3`  '
    '`moverank search "late train" --where label=travel --exact`'
)
def search(
    query: Annotated[str | None, typer.Argument(help="The text to find others like.")] = None,
    index: Index = Path("moverank.index"),
    k: K = 10,
    depth: Depth = None,
    exact: Exact = False,
    distance: Distance = None,
    gamma: Gamma = None,
    where: Where = None,
    budget: Budget = None,
    blend: Blend = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every word that moved.")] = False,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Many queries: one a line, or JSONL with id and text; - is standard input."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to a text."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.readers.queries import read_queries

    if (query is None) == (queries is None):
        raise UsageError("give either a query or --queries FILE")
    options = _options(k, depth, exact, distance, gamma, where, budget, blend, explained=explain or not as_json)
    asked = [(None, query)] if query is not None else read_queries(queries or "-")
    _answer(index, "search", asked, options, flows=explain, as_json=as_json)


@app.command(epilog="Examples: `moverank similar thread-17`  `moverank similar thread-17 thread-18 --gamma 0.5 --json`")
def similar(
    keys: Annotated[list[str], typer.Argument(help="Keys of documents in the collection.")],
    index: Index = Path("moverank.index"),
    k: K = 10,
    depth: Depth = None,
    exact: Exact = False,
    distance: Distance = None,
    gamma: Gamma = None,
    where: Where = None,
    budget: Budget = None,
    blend: Blend = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every word that moved.")] = False,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to one of the collection's own, which is left out."""
    options = _options(k, depth, exact, distance, gamma, where, budget, blend, explained=explain or not as_json)
    asked = [(key if len(keys) > 1 or as_json else None, key) for key in keys]
    _answer(index, "similar", asked, options, flows=explain, as_json=as_json)


@app.command(epilog='Examples: `moverank explain "mains plug gets hot" thread-17`  `... --html why.html`')
def explain(
    query: Annotated[str, typer.Argument(help="A text.")],
    key: Annotated[str, typer.Argument(help="The key of a document.")],
    index: Index = Path("moverank.index"),
    gamma: Gamma = None,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Say where the document falls out of a search, and by what bound.")
    ] = False,
    k: Annotated[int, typer.Option("-k", min=1, help="With --why-not: how many hits the search has.")] = 10,
    depth: Annotated[
        int | None, typer.Option(min=1, help="With --why-not: its candidates. [default: all]", show_default=False)
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the flows into an HTML page.")] = None,
    as_json: Json = False,
) -> None:
    """Show the flows behind one distance: which word moved where, and at what cost."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.html_page import explanation_page
    from moverank.indexer.formatters.json_objects import explanation_object, why_not_object
    from moverank.indexer.formatters.output import print_object, tell_of_compiling, write_page
    from moverank.indexer.formatters.terminal import explanation_view, print_view, why_not_view

    with Collection.open(index) as collection:
        tell_of_compiling()
        explanation = collection.explain(query, key, gamma=gamma)
        asked: Options = {"k": k, "depth": depth, "exact": depth is None, "gamma": gamma}
        why = collection.why_not(query, key, **asked) if why_not else None
    if html is not None:
        write_page(html, explanation_page(explanation, query, key))
    if as_json:
        print_object(explanation_object(explanation) | (why_not_object(why) if why else {}))
        return
    print_view(explanation_view(explanation))
    if why:
        print_view(why_not_view(why))


@app.command(epilog="Example: `moverank remove thread-17 thread-18`")
def remove(
    keys: Annotated[list[str], typer.Argument(help="Keys of documents.")],
    index: Index = Path("moverank.index"),
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Remove documents; if one of the keys is not there, nothing is removed."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.output import print_changes
    from moverank.indexer.formatters.progress_bars import Bars

    began = time.perf_counter()
    with Collection.open(index, wait=wait) as collection, _interruptible(), Bars() as bars:
        changes = collection.remove(keys, progress=bars)
    print_changes(changes, time.perf_counter() - began, as_json=as_json)


@app.command(epilog="Example: `moverank refit -i forum`")
def refit(index: Index = Path("moverank.index"), wait: Wait = 0.0, as_json: Json = False) -> None:
    """Fit the first stage to the documents as they are now: new ones are encoded as the last fit has learned."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.output import print_object
    from moverank.indexer.formatters.progress_bars import Bars

    began = time.perf_counter()
    with Collection.open(index, wait=wait) as collection, _interruptible(), Bars() as bars:
        collection.refit(progress=bars)
        told = collection.info()
    if as_json:
        print_object(told)
    else:
        typer.echo(
            f"{told['first_stage']} fitted to {told['documents']:,} documents ({time.perf_counter() - began:.2f} s)"
        )


@app.command(epilog="Example: `moverank info -i forum --json`")
def info(index: Index = Path("moverank.index"), as_json: Json = False) -> None:
    """Show sizes, settings and revision."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.output import print_object
    from moverank.indexer.formatters.terminal import info_view, print_view

    with Collection.open(index) as collection:
        told = collection.info()
    if as_json:
        print_object(told)
    else:
        print_view(info_view(told))


@app.command(epilog="Examples: `moverank check -i forum`  `moverank check -i forum --repair`")
def check(
    index: Index = Path("moverank.index"),
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Look through everything: the database, the word vectors, and whether all derived files agree with them."""
    from moverank.indexer import maintenance
    from moverank.indexer.formatters.output import print_check
    from moverank.indexer.formatters.progress_bars import Bars

    with _interruptible(), Bars() as bars:
        found = maintenance.repair(index, wait=wait, progress=bars) if repair else maintenance.check(index)
    print_check(found.told(), as_json=as_json)
    if found.told():
        sys.exit(1)


@app.command(epilog="Example: `moverank backup /backups/forum-monday -i forum`")
def backup(
    directory: Annotated[Path, typer.Argument(help="Where the copy goes: a directory that is not there yet.")],
    index: Index = Path("moverank.index"),
    as_json: Json = False,
) -> None:
    """Copy the collection as it is at one instant, while others may write to it."""
    from moverank.indexer.formatters.output import print_object
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.maintenance.backup import backup as copy

    with _interruptible(), Bars() as bars:
        revision = copy(index, directory, progress=bars)
    if as_json:
        print_object({"directory": str(directory), "revision": revision})
    else:
        typer.echo(f"revision {revision} is in {directory}")


@evaluate.command(
    epilog="Examples: `moverank evaluate retrieval --qrels qrels.tsv --queries queries.jsonl`  "
    "`... --method bm25 --method pwmd:gamma=0.5,weights=tfidf --method '0.3*bm25+0.7*pwmd' --json`"
)
def retrieval(
    qrels: Qrels,
    index: Index = Path("moverank.index"),
    queries: QueryTexts = None,
    candidates: Candidates = None,
    method: Methods = None,
    measure: Measures = None,
    reference: Annotated[
        str | None, typer.Option(metavar="NAME", help="Test the others against this row. [default: the first]")
    ] = None,
    without_self: WithoutSelf = False,
    folds: Folds = None,
    train: Train = None,
    proximity: Proximity = None,
    clean: Clean = False,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how well each method finds what was judged to be relevant."""
    from moverank.indexer.evaluation.experiments import evaluate_retrieval

    _experiment(
        lambda bars: evaluate_retrieval(
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
            progress=bars,
        ),
        csv,
        plot,
        as_json=as_json,
    )


@evaluate.command(
    epilog="Examples: `moverank evaluate knn -i news`  `... --split random --times 5 --method wmd --method lsi:dim=100`"
)
def knn(
    index: Index = Path("moverank.index"),
    method: Methods = None,
    split: Annotated[
        Literal["predefined", "random"] | None,
        typer.Option(help="predefined: by the documents' field `split`; random: 70/30. [default: predefined if named]"),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Draws the splits: the same for the same seed.")] = 0,
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many vote. [default: the best of 1 to 19]")] = None,
    proximity: Proximity = None,
    clean: Clean = False,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how often each method's nearest neighbours tell a document's label."""
    from moverank.indexer.evaluation.experiments import evaluate_knn

    _experiment(
        lambda bars: evaluate_knn(
            index,
            methods=method or (),
            split=split,
            times=times,
            seed=seed,
            k=k,
            clean=clean,
            proximity=proximity,
            progress=bars,
        ),
        csv,
        plot,
        as_json=as_json,
    )


@evaluate.command(
    epilog="Example: `moverank evaluate gamma -i forum --qrels duplicates.tsv --grid 0,0.5,1 --measure rprec`"
)
def gamma(
    qrels: Qrels,
    index: Index = Path("moverank.index"),
    queries: QueryTexts = None,
    candidates: Candidates = None,
    grid: Annotated[str, typer.Option(metavar="G,G,...", help="The gammas to try.")] = "0,0.25,0.5,0.75,1,1.5,2",
    measure: Measures = None,
    without_self: WithoutSelf = False,
    folds: Folds = 0,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Find the gamma and the weights that P-WMD should have, by judged queries."""
    from moverank.indexer.evaluation.experiments import evaluate_gamma
    from moverank.indexer.evaluation.method import numbers

    _experiment(
        lambda bars: evaluate_gamma(
            index,
            qrels,
            queries=queries,
            candidates=candidates,
            grid=numbers("--grid", grid),
            measures=measure or (),
            without_self=without_self,
            folds=folds or 0,
            progress=bars,
        ),
        csv,
        plot,
        as_json=as_json,
    )


@evaluate.command(epilog="Example: `moverank evaluate multilabel -i films --labels u.item -k 2 -k 5`")
def multilabel(
    labels: Annotated[
        str, typer.Option(metavar="FILE", help="`key<TAB>label,label` on a line, or MovieLens 100k's u.item.")
    ],
    index: Index = Path("moverank.index"),
    method: Methods = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="How many vote; repeat for more. [default: 2 5]")
    ] = None,
    proximity: Proximity = None,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Measure how well neighbours tell several labels of a document, leaving one out; the first row is the baseline."""
    from moverank.indexer.evaluation.experiments import evaluate_multilabel

    _experiment(
        lambda bars: evaluate_multilabel(
            index, labels, methods=method or (), ks=k or (2, 5), proximity=proximity, progress=bars
        ),
        csv,
        as_json=as_json,
    )


@evaluate.command(epilog="Example: `moverank evaluate bounds -i news --sample 50`")
def bounds(
    index: Index = Path("moverank.index"),
    sample: Annotated[int, typer.Option(min=1, help="How many documents are compared with all others.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Draws the sample: the same for the same seed.")] = 0,
    gamma: Gamma = None,
    depths: Annotated[bool, typer.Option("--depths", help="Instead, what so many candidates by WCD find.")] = False,
    csv: Csv = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how tight each lower bound is, and what is lost by taking it for the distance."""
    from moverank.indexer.evaluation.experiments import evaluate_bounds

    _experiment(
        lambda bars: evaluate_bounds(index, queries=sample, gamma=gamma, seed=seed, progress=bars)[depths],
        csv,
        plot,
        as_json=as_json,
    )


@app.command(epilog="Example: `moverank demo`")
def demo(
    directory: Annotated[Path, typer.Option("--directory", help="Where the demo's files go.")] = Path("moverank-demo"),
) -> None:
    """Index the docstrings of Python's standard library and some forum threads, and search both: no network needed."""
    from moverank.indexer.demo.steps import prepare, steps

    prepare(directory)
    for said, arguments in steps(directory):
        typer.secho(f"\n{said}", bold=True)
        typer.secho(f"$ moverank {' '.join(_quoted(argument) for argument in arguments)}", fg="green")
        app(arguments, standalone_mode=False)
    typer.echo(f"\nAll of it is in {directory}: go on with the commands above, or remove the directory.")


def _quoted(argument: str) -> str:
    """Write an argument as one would type it: double quotes read better than the shell's own single ones."""
    from shlex import quote

    return f'"{argument}"' if " " in argument and not set(argument) & set('"$`\\!') else quote(argument)


def _choices(
    embedding: str | None,
    train_option: list[str] | None,
    normalize: bool | None,
    weights: str | None,
    gamma: float | None,
    encoder: tuple[str | None, list[str] | None],
    faiss: str | None,
    stop_words: str | None,
    title_weight: int | None,
) -> dict[str, Any]:
    """Return the settings that were named."""
    from moverank.indexer.readers.stop_word_file import choose_stop_words

    named = {
        "embedding": embedding,
        "train_options": tuple(train_option) if train_option else None,
        "normalize": normalize,
        "weights": weights,
        "gamma": gamma,
        "first_stage": encoder[0],
        # Options belong to their encoder: with another one they begin anew.
        "first_stage_options": tuple(encoder[1] or ()) if any(encoder) else None,
        "faiss": faiss,
        "stop_words": None if stop_words is None else choose_stop_words(stop_words),
        "title_weight": title_weight,
    }
    return {name: value for name, value in named.items() if value is not None}


def _index(
    read: "Callable[[Progress], Iterator[Document | Rejection]]",
    path: Path,
    choices: dict[str, Any],
    *,
    trust_pickle: bool,
    prune: bool,
    strict: bool,
    wait: float,
    as_json: bool,
    defaults: dict[str, Any] | None = None,
) -> None:
    """Read documents into a collection, which is made if there is none."""
    from moverank.indexer.commands.update import update
    from moverank.indexer.formatters.output import note, print_changes
    from moverank.indexer.formatters.progress_bars import Bars

    with _interruptible(), Bars() as bars:
        done = update(
            path,
            read(bars),
            choices,
            defaults=defaults or {},
            trust_pickle=trust_pickle,
            prune=prune,
            strict=strict,
            rejected=lambda bad: note(str(bad)),
            wait=wait,
            progress=bars,
        )
    for told in done.notes:
        note(told)
    print_changes(done.changes, done.seconds, as_json=as_json)
    if done.failed:
        sys.exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """End at Ctrl-C with a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("moverank: interrupted: what was committed is kept; run the same command again to go on", err=True)
        sys.exit(1)


def _answer(
    path: Path,
    how: Literal["search", "similar"],
    asked: Sequence[tuple[str | None, str]],
    options: "Options",
    *,
    flows: bool,
    as_json: bool,
) -> None:
    """Print the answers to questions (id, text or key); the only one may have no id."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.output import print_answer, print_answers, tell_of_compiling

    with Collection.open(path) as collection:
        tell_of_compiling()
        id_, text = asked[0]
        if id_ is None:
            began = time.perf_counter()
            ranking = getattr(collection, how)(text, **options)
            print_answer(ranking, time.perf_counter() - began, flows=flows, as_json=as_json)
            return
        from moverank.indexer.formatters.progress_bars import Bars
        from moverank.indexer.progress import silent

        named = [(str(id_), text) for id_, text in asked]
        rankings = getattr(collection, f"{how}_many")([text for _, text in named], **options)
        # A bar between answers on the same terminal would only be in the way.
        with Bars() if not sys.stdout.isatty() else nullcontext(silent) as bars:
            answered = print_answers(named, rankings, flows=flows, as_json=as_json, progress=bars)
    if not answered:
        sys.exit(1)


def _experiment(
    work: "Callable[[Progress], Table]", csv: Path | None, plot: Path | None = None, *, as_json: bool
) -> None:
    """Do an experiment, print its table and write what was asked for."""
    from moverank.indexer.formatters.figures import draw
    from moverank.indexer.formatters.output import print_object, tell_of_compiling, write_page
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.formatters.table_views import table_csv, table_object, table_view
    from moverank.indexer.formatters.terminal import print_view

    tell_of_compiling()
    with _interruptible(), Bars() as bars:
        table = work(bars)
    if as_json:
        print_object(table_object(table))
    else:
        print_view(table_view(table))
    if csv is not None:
        write_page(csv, table_csv(table))
    if plot is not None:
        draw([table], plot)


def _options(
    k: int,
    depth: int | None,
    exact: bool,
    distance: str | None,
    gamma: float | None,
    where: list[str] | None,
    budget: float | None,
    blend: str | None,
    *,
    explained: bool,
) -> "Options":
    """Return how to search, with `where` taken apart."""
    from moverank.indexer.errors import UsageError

    fields: dict[str, list[str]] = {}
    for condition in where or ():
        name, equals, value = condition.partition("=")
        if not (name and equals):
            raise UsageError(f"--where {condition!r} is not of the form FIELD=VALUE")
        fields.setdefault(name, []).append(value)
    return {
        "k": k,
        "depth": depth,
        "exact": exact,
        "distance": distance,
        "gamma": gamma,
        "where": fields or None,
        "explained": explained,
        "budget": budget,
        "blend": blend,
    }
