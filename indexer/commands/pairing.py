"""The commands `pairs` and `dedupe`: near duplicates of a collection, and their removal."""

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from moverank.indexer import formatters, operations
from moverank.indexer.commands.failures import committing, interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.output_files import ResultFile, check_result_file, format_of, write_results
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json, TableFormat, Wait
from moverank.indexer.errors import UsageError
from moverank.indexer.values.pair_options import DedupeOptions, PairOptions

app = typer.Typer()

_CONTINUES = "the same command continues an unfinished comparison by wmd or pwmd after the last document done"


@app.command(epilog="Examples: `moverank pairs --within 0.3`  `moverank pairs -k 100 --format csv`  `... --clusters`")
@with_records
def pairs(
    index: Index = DEFAULT_INDEX,
    *,
    search: PairOptions,
    clusters: Annotated[
        bool,
        typer.Option(
            "--clusters",
            help="Print groups of documents that are connected by such pairs, also by chains of them, so that two "
            "documents of a group may be far from each other; `dedupe` makes no chains.",
        ),
    ] = False,
    output: ResultFile = None,
    format: TableFormat = "text",  # noqa: A002 - the option's name
    as_json: Json = False,
) -> None:
    """Find the documents that are near each other: all pairs within a distance, or the nearest ones; exact."""
    from moverank.indexer.opening import open_index

    if format == "csv" and as_json:
        raise UsageError("--format csv goes without --json")
    check_result_file(output, printed=as_json or format == "csv")
    resumed = interruptible(_CONTINUES)
    with open_index(index) as collection, formatters.Bars() as bars, resumed:
        found = collection.run(operations.FindPairs(search=search), progress=bars)
    objects = formatters.cluster_objects(found) if clusters else formatters.pair_objects(found)
    cells = formatters.pair_cells(found, clusters=clusters)
    if as_json:
        for each in objects:
            formatters.print_object(each)
        if found.why_empty:
            formatters.note(found.why_empty)
        return
    if output is not None:
        write_results(output, objects, cells)
    elif format == "csv":
        formatters.print_lines(map(formatters.csv_line, cells))
    else:
        for line in formatters.pair_lines(found, clusters=clusters, aligned=sys.stdout.isatty()):
            typer.echo(line)
    formatters.note(formatters.summary_line(found))


@app.command(
    epilog="Examples: `moverank dedupe --within 0.3`  `moverank dedupe --within 0.3 --keep newest --remove`  "
    "`... --keep-where label=answered --json --flows`"
)
@with_records
def dedupe(
    index: Index = DEFAULT_INDEX,
    *,
    search: DedupeOptions,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the documents that are not kept.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nothing, even with --remove; report what would be removed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove also more than half of the documents.")] = False,
    wait: Wait = 0.0,
    output: ResultFile = None,
    format: TableFormat = "text",  # noqa: A002 - the option's name
    as_json: Json = False,
) -> None:
    """Keep documents of which no two are near; remove the others, each of which is near a kept one; exact.

    The text output shows the ten farthest of the others; --json, --format csv and --output list all.
    """
    from moverank.indexer.opening import open_index

    if format == "csv" and (as_json or search.explained):
        raise UsageError("--format csv goes without --json and --flows")
    check_result_file(output, printed=as_json or format == "csv")
    if search.explained and format_of(output) not in (None, "jsonl"):
        raise UsageError(f"{output}: a table has no --flows: write .jsonl")
    unchanged = f"nothing was removed; {_CONTINUES}"
    with (
        open_index(index, wait=wait) as collection,
        interruptible(unchanged),
        committing(collection, unchanged) if remove else nullcontext(),
        formatters.Bars() as bars,
    ):
        found = operations.deduplicated(collection, search, bars, remove=remove, confirmed=yes, dry_run=dry_run)
    objects, cells = formatters.duplicate_objects(found, flows=search.explained), formatters.duplicate_cells(found)
    if output is not None:
        write_results(output, objects, cells)
    elif as_json:
        for each in objects:
            formatters.print_object(each)
    elif format == "csv":
        formatters.print_lines(map(formatters.csv_line, cells))
    elif found.removed or found.differing:
        formatters.print_view(formatters.duplicates_view(found, flows=search.explained))
    formatters.note(formatters.duplicates_summary(found, remove=remove))
