"""The commands `pairs` and `dedupe`: near duplicates of a collection, and their removal."""

import sys
from typing import Annotated

import typer

from moverank.indexer.commands.completion import complete_field, complete_rank
from moverank.indexer.commands.failures import committing, interruptible
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Gamma, Index, Json, TableFormat, Wait, WhereOption

app = typer.Typer()

_CONTINUES = "the same command continues an unfinished comparison by wmd or pwmd after the last document done"
_PairRank = Annotated[
    str | None,
    typer.Option(
        "--rank",
        metavar="SPEC",
        help="wmd or pwmd with options, or a sum, which is slower. [default: wmd with the weights of the `ranking` in "
        "`info`]",
        autocompletion=complete_rank,
    ),
]
_Unknown = Annotated[
    str,
    typer.Option(
        "--unknown",
        metavar="HOW",
        help="Words without a vector are ignored, or far from all other words: ignored or far.",
    ),
]


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
        bool,
        typer.Option(
            "--clusters",
            help="Print groups of documents that are connected by such pairs, also by chains of them, so that two "
            "documents of a group may be far from each other; `dedupe` makes no chains.",
        ),
    ] = False,
    rank: _PairRank = None,
    gamma: Gamma = None,
    where: WhereOption = None,
    unknown: _Unknown = "ignored",
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
    resumed = interruptible(_CONTINUES)
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


@app.command(
    epilog="Examples: `moverank dedupe --within 0.3`  `moverank dedupe --within 0.3 --keep newest --remove`  "
    "`... --keep-where label=answered --json --flows`"
)
def dedupe(
    within: Annotated[
        str,
        typer.Option(
            metavar="D|P%",
            help="The largest distance of a removed document from a kept one; or, as in 0.01%, that of so many of all "
            "pairs.",
        ),
    ],
    index: Index = DEFAULT_INDEX,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="first|longest|oldest[:FIELD]|newest[:FIELD]",
            help="Which of near documents to keep: the one indexed first, the one with the most words, or the oldest "
            "or newest by a date or number in a field, `date` if none is named.",
        ),
    ] = "first",
    keep_where: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-where",
            metavar="CONDITION",
            help="Prefer documents that pass this filter to all others; repeatable, as --where.",
            autocompletion=complete_field,
        ),
    ] = None,
    rank: _PairRank = None,
    gamma: Gamma = None,
    where: WhereOption = None,
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            metavar="HOW",
            help="Words without a vector are far from all other words, or ignored: far or ignored. [default: far, but "
            "ignored with --flows and by sums]",
            show_default=False,
        ),
    ] = None,
    differing: Annotated[
        bool,
        typer.Option(
            "--differing",
            help="Also remove documents that differ from the kept one in a negation, a number, a unit or a limiting "
            "word.",
        ),
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the documents that are not kept.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nothing, even with --remove; report what would be removed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove also more than half of the documents.")] = False,
    flows: Annotated[
        bool, typer.Option("--flows", help="Show the flows from each removed document to the kept one.")
    ] = False,
    wait: Wait = 0.0,
    format: TableFormat = "text",  # noqa: A002 - the option's name
    as_json: Json = False,
) -> None:
    """Keep documents of which no two are near; remove the others, each of which is near a kept one; exact.

    The text output shows the ten farthest of the others; --json and --format csv list all.
    """
    from moverank.indexer.errors import UsageError
    from moverank.indexer.formatters.duplicate_tables import (
        duplicate_csv_lines,
        duplicate_objects,
        duplicates_summary,
        duplicates_view,
    )
    from moverank.indexer.formatters.progress import Bars
    from moverank.indexer.formatters.terminal import note, print_lines, print_object, print_view
    from moverank.indexer.limit_or_share import typed_limit
    from moverank.indexer.opening import open_index

    if format == "csv" and (as_json or flows):
        raise UsageError("--format csv goes without --json and --flows")
    unchanged = f"nothing was removed; {_CONTINUES}"
    opened = open_index(index, wait=wait)
    with opened as collection, interruptible(unchanged), committing(collection, unchanged), Bars() as bars:
        found = collection.dedupe(
            typed_limit(within),
            keep=keep,
            keep_where=keep_where,
            rank=rank,
            gamma=gamma,
            where=where,
            unknown=unknown,
            differing=differing,
            explained=flows,
            remove=remove,
            confirmed=yes,
            dry_run=dry_run,
            progress=bars,
        )
    if as_json:
        for each in duplicate_objects(found, flows=flows):
            print_object(each)
    elif format == "csv":
        print_lines(duplicate_csv_lines(found))
    elif found.removed or found.differing:
        print_view(duplicates_view(found, flows=flows))
    note(duplicates_summary(found, remove=remove))
