"""The command `pairs`: near duplicates of a collection."""

import sys
from typing import Annotated

import typer

from moverank.indexer.commands.completion import complete_rank
from moverank.indexer.commands.failures import interruptible
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Gamma, Index, Json, TableFormat, WhereOption

app = typer.Typer()


@app.command(epilog="Examples: `moverank pairs --within 0.3`  `moverank pairs -k 100 --format csv`  `... --clusters`")
def pairs(
    index: Index = DEFAULT_INDEX,
    within: Annotated[
        float | None, typer.Option(metavar="D", help="All pairs whose distance is at most D.", show_default=False)
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Only so many pairs, the nearest. [default: all within D]")
    ] = None,
    clusters: Annotated[
        bool, typer.Option("--clusters", help="Print groups of documents that are connected by such pairs.")
    ] = False,
    rank: Annotated[
        str | None,
        typer.Option(
            "--rank",
            metavar="SPEC",
            help="wmd or pwmd with options, or a sum, which is slower. [default: wmd with the collection's weights]",
            autocompletion=complete_rank,
        ),
    ] = None,
    gamma: Gamma = None,
    where: WhereOption = None,
    unknown: Annotated[
        str,
        typer.Option(
            "--unknown",
            metavar="HOW",
            help="Words without a vector are ignored, or far from all other words: ignored or far.",
        ),
    ] = "ignored",
    format: TableFormat = "text",  # noqa: A002 - the option's name
    as_json: Json = False,
) -> None:
    """Find the documents that are near each other: all pairs within a distance, or the nearest ones; exact."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.formatters.lines import cluster_objects, csv_lines, lines, pair_objects, summary_line
    from moverank.indexer.formatters.progress import Bars
    from moverank.indexer.formatters.terminal import note, print_lines, print_object
    from moverank.indexer.opening import open_index

    if format == "csv" and as_json:
        raise UsageError("--format csv goes without --json")
    resumed = interruptible("the same command continues where it stopped")
    with open_index(index) as collection, Bars() as bars, resumed:
        found = collection.pairs(within, k, rank=rank, gamma=gamma, where=where, unknown=unknown, progress=bars)
    if as_json:
        for each in cluster_objects(found) if clusters else pair_objects(found):
            print_object(each)
        if found.why_empty:
            note(found.why_empty)
        return
    if format == "csv":
        print_lines(csv_lines(found, clusters=clusters))
    else:
        for line in lines(found, clusters=clusters, aligned=sys.stdout.isatty()):
            typer.echo(line)
    note(summary_line(found))
