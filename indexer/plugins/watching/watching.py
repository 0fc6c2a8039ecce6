"""The commands `watch ...`: stored queries, and the events of new and changed documents that are near them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moverank.indexer import formatters, reading
from moverank.indexer.commands.completion import complete_rank
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Gamma, Index, Json, Wait, WhereOption
from moverank.indexer.errors import UsageError

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection

app = typer.Typer(help="Stored queries, and events of new documents near them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The name of the watch.")]
_POLL = 1.0  # seconds between two reads of the events
_TRIED = 20  # documents that a dry run shows
_SOME = 1000  # events that are read together


@app.command(
    epilog='Examples: `moverank watch add plugs "mains plug gets hot" --within 0.8`  '
    "`moverank watch add asked --thread new.jsonl --within 0.5 --where label=travel`"
)
def add(
    name: Name,
    query: Annotated[str | None, typer.Argument(help="The text that documents are compared with.")] = None,
    *,
    within: Annotated[
        str,
        typer.Option(
            metavar="D|P%",
            help="The largest distance of a document that yields an event; or, as in 1%, that of so many of the "
            "documents that are there.",
        ),
    ],
    index: Index = DEFAULT_INDEX,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The query is this whole file; - is standard input.")
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The query is the thread in this file, with its ranks; - is standard input."),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(
            "--rank",
            metavar="SPEC",
            help="A distance with options: wmd, pwmd, rwmd, chamfer, cover or wcd. "
            "[default: wmd with the collection's gamma and weights]",
            autocompletion=complete_rank,
        ),
    ] = None,
    gamma: Gamma = None,
    where: WhereOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Add no watch; show which of the documents that are there are so near.")
    ] = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add a watch, or replace the one of the same name: later documents within D of its query yield events."""
    from moverank.indexer.plugins.watching.watch_lines import tried_lines, watch_line
    from moverank.indexer.values.limit_or_share import typed_limit

    if sum(one is not None for one in (query, file, thread)) != 1:
        raise UsageError("give one of these: a query, --file FILE, or --thread FILE")
    text = reading.single_query(file, thread) if query is None else query
    with _opened(index, wait) as collection:
        if dry_run:
            limit, ranked = collection.watched_distance(text or "", typed_limit(within), rank=rank, gamma=gamma)
            how: dict[str, Any] = {"max_distance": limit, "where": where, "exact": True, "spelling": False}
            tried = collection.search(text or "", k=_TRIED, rank=str(ranked), **how)
            _print(tried.to_dict(), *tried_lines(tried, limit, _TRIED), as_json=as_json)
            return
        made = collection.watch(name, text or "", typed_limit(within), rank=rank, gamma=gamma, where=where)
    _print(made.to_dict(), watch_line(made), as_json=as_json)


@app.command("list", epilog="Examples: `moverank watch list`  `moverank watch list --json`")
def list_watches(index: Index = DEFAULT_INDEX, as_json: Json = False) -> None:
    """List the watches: name, largest distance, ranking, filter and query."""
    from moverank.indexer.plugins.watching.watch_lines import watch_line

    with _opened(index) as collection:
        found = collection.watches()
    _print({"watches": [watch.to_dict() for watch in found]}, *map(watch_line, found), as_json=as_json)


@app.command(epilog="Example: `moverank watch remove plugs`")
def remove(name: Name, index: Index = DEFAULT_INDEX, wait: Wait = 0.0, as_json: Json = False) -> None:
    """Remove a watch; its events stay."""
    with _opened(index, wait) as collection:
        collection.unwatch(name)
    _print({"removed": name}, formatters.printable(f"removed the watch {name}"), as_json=as_json)


@app.command(epilog="Example: `moverank watch forget --before 120`")
def forget(
    *,
    before: Annotated[int, typer.Option(min=0, metavar="N", help="Events with a number below this are deleted.")],
    index: Index = DEFAULT_INDEX,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Delete old events; their numbers are not given again."""
    with _opened(index, wait) as collection:
        count = collection.forget_events(before)
    _print({"forgotten": count}, f"deleted {count:,} event{'s' * (count != 1)}", as_json=as_json)


@app.command(epilog="Examples: `moverank watch events`  `moverank watch events --after 120 --follow --json`")
def events(
    index: Index = DEFAULT_INDEX,
    after: Annotated[int, typer.Option(min=0, help="Only events with a larger number than this.")] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with new events, which are read every second, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the events in their order: number, watch, distance, document, and the revision that changed it."""
    from moverank.indexer.plugins.watching.watch_lines import event_line

    with _opened(index) as collection:
        try:
            while True:
                some = collection.events(after, _SOME)
                for event in some:
                    _print(event.to_dict(), event_line(event), as_json=as_json)
                after = some[-1].number if some else after
                if len(some) == _SOME:
                    continue
                if not follow:
                    return
                sleep(_POLL)
        except KeyboardInterrupt:
            if not follow:
                raise


@contextmanager
def _opened(index: Path, wait: float = 0.0) -> "Iterator[Collection]":
    """Open a collection that is in one place; UsageError for shards."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.opening import other_store
    from moverank.indexer.plugins.watching.watches import NO_WATCHES

    if other_store(index):
        raise UsageError(NO_WATCHES)
    with Collection.open(index, wait=wait) as collection:
        yield collection


def _print(found: dict[str, Any], *lines: str, as_json: bool) -> None:
    formatters.print_object(found) if as_json else [*map(typer.echo, lines)]
